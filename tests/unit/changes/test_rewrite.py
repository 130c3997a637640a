"""Other bounds are written where the bound is, and nowhere else."""

from __future__ import annotations

import pytest

from dovetail.changes.rewrite import Bounds, with_bounds
from dovetail.errors import PlanError
from dovetail.plan.physical import Plan
from dovetail.plan.statements import Program
from dovetail.pql.compile import compile_program
from dovetail.pql.parser import parse

QUERY = """CREATE APPLICATION app;  -- ours
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("b");
CREATE VIEW v AS
    SELECT a.k AS k, b.t + INTERVAL '10 minutes' AS later   -- INTERVAL '10 minutes', as agreed
    FROM a LEFT JOIN b ON a.k = b.k AND {}
  WITH (history = INTERVAL '10 minutes');
CREATE TABLE o AS SELECT k, later FROM v STORAGE NOOP;
"""
MINUTE = 60_000_000


def compiled(text: str) -> tuple[Program, Plan]:
    program = parse(text)
    return program, compile_program(program)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (
            "b.t BETWEEN a.t - INTERVAL '10 minutes' AND a.t + INTERVAL '5 minutes'",
            "b.t BETWEEN a.t - INTERVAL '36 minutes' AND a.t + INTERVAL '5 minutes'",
        ),
        (
            "b.t >= a.t - interval 10 minutes AND b.t <= a.t + INTERVAL '5' MINUTES",
            "b.t >= a.t - interval '36 minutes' AND b.t <= a.t + INTERVAL '5' MINUTES",
        ),
        (
            "a.t BETWEEN b.t - INTERVAL '5 minutes' AND b.t\n      + INTERVAL '600' SECOND /* ten */",
            "a.t BETWEEN b.t - INTERVAL '5 minutes' AND b.t\n      + INTERVAL '36 minutes' /* ten */",
        ),
        (
            "b.t BETWEEN a.t AND a.t + INTERVAL '5 minutes'",
            "b.t BETWEEN a.t - INTERVAL '36 minutes' AND a.t + INTERVAL '5 minutes'",
        ),
    ],
)
def test_one_literal_changes(was: str, now: str) -> None:
    text = QUERY.format(was)
    made = with_bounds(text, Bounds("v", 36 * MINUTE, 5 * MINUTE), compiled)
    assert made == QUERY.format(now)
    spec = compiled(made)[1].joins[0].spec
    assert (spec.before_us, spec.after_us) == (36 * MINUTE, 5 * MINUTE)
    assert with_bounds(made, Bounds("v", 36 * MINUTE, 5 * MINUTE), compiled) == made


def test_both_bounds() -> None:
    text = QUERY.format("b.t BETWEEN a.t - INTERVAL '10 minutes' AND a.t + INTERVAL '10 minutes'")
    made = with_bounds(text, Bounds("v", 20 * MINUTE, 90_000_000), compiled)
    expected = "b.t BETWEEN a.t - INTERVAL '20 minutes' AND a.t + INTERVAL '1 minute 30 seconds'"
    assert made == QUERY.format(expected)


def test_a_bound_that_is_no_single_interval_is_left_to_people() -> None:
    text = QUERY.format("b.t BETWEEN a.t - INTERVAL '10 minutes' AND a.t + INTERVAL '10 minutes'")
    with pytest.raises(PlanError, match="no join w") as error:
        with_bounds(text, Bounds("w", MINUTE, 0), compiled)
    assert "by hand" in (error.value.hint or "")
