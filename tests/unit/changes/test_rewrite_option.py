"""An option is written where the join's options are, and nowhere else."""

from __future__ import annotations

import pytest

from dovetail.changes.rewrite_option import with_option
from dovetail.errors import PlanError
from dovetail.plan.physical import Plan
from dovetail.plan.statements import Program
from dovetail.pql.compile import compile_program
from dovetail.pql.parser import parse

QUERY = """CREATE APPLICATION app;  -- left_cap = 7 is too little
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("b");
CREATE VIEW v AS SELECT a.k AS k, a.t AS t FROM a LEFT JOIN b
  ON a.k = b.k AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t{first};
CREATE VIEW w AS SELECT a.k AS k FROM a LEFT JOIN b
  ON a.k = b.k AND b.t BETWEEN a.t - INTERVAL '3 minutes' AND a.t WITH (max_delay = INTERVAL '5 seconds');
CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;
CREATE TABLE p AS SELECT k FROM w STORAGE NOOP;
"""


def compiled(text: str) -> tuple[Program, Plan]:
    program = parse(text)
    return program, compile_program(program)


@pytest.mark.parametrize(
    ("was", "option", "value", "literal", "now"),
    [
        ("", "tasks", 2, "2", " WITH (tasks = 2)"),
        (" WITH (left_cap = 7)", "left_cap", 20, "20", " WITH (left_cap = 20)"),
        (
            " WITH (max_delay = INTERVAL '5 seconds')",
            "left_max_delay",
            9_000_000,
            "INTERVAL '9 seconds'",
            " WITH (left_max_delay = INTERVAL '9 seconds', max_delay = INTERVAL '5 seconds')",
        ),
        (
            " with (left_max_delay=interval '5 seconds', tasks = 2)",
            "left_max_delay",
            9_000_000,
            "INTERVAL '9 seconds'",
            " with (left_max_delay = INTERVAL '9 seconds', tasks = 2)",
        ),
    ],
)
def test_only_the_option_is_changed(was: str, option: str, value: int, literal: str, now: str) -> None:
    new = with_option(QUERY.format(first=was), "v", option, value, literal, compiled)
    assert new == QUERY.format(first=now)


def test_a_join_that_is_not_there() -> None:
    with pytest.raises(PlanError, match="tasks of join x cannot be written"):
        with_option(QUERY.format(first=""), "x", "tasks", 2, "2", compiled)
