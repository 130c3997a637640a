"""Chains in which a join slices its rows for the next one itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.changes.takeover import consider, take_over
from dovetail.errors import StateError
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.configure import join_config
from dovetail.plan.delays import delays
from dovetail.plan.fuse_chains import fuse_chains
from dovetail.plan.joins.operand_words import operand_words
from dovetail.plan.physical import CategoryOutput, Plan
from dovetail.plan.projection import plain_projection
from dovetail.pql.compile import compile_pql, plans_of, trace

INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("b");
CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("c");
CREATE VIEW v AS SELECT a.t AS t, a.k AS k, b.x AS x FROM a LEFT JOIN b
    ON a.k = b.k AND b.t BETWEEN a.t AND a.t + INTERVAL '5 minutes' {options};
"""
CHAIN = """
CREATE VIEW w AS SELECT v.k AS k, c.x AS x FROM v JOIN c
    ON v.k = c.k AND c.t BETWEEN v.t AND v.t + INTERVAL '1 minute' {options};
CREATE TABLE o AS SELECT * FROM w STORAGE NOOP;
"""
COUNTED = """
CREATE TABLE n AS SELECT window.start AS s, count(*) AS n FROM v GROUP BY window(t, '1 hour')
    STORAGE SCRIBE(category = "n");
"""


def plans(text: str, options: str = "") -> list[Plan]:
    return plans_of(trace((INPUTS + text).format(options=options)))


def test_a_chain_has_a_category_and_a_stage_less() -> None:
    fused, before = plans(CHAIN)
    assert [stage.name for stage in before.stages if stage not in fused.stages] == ["v", "w.left"]
    lower, upper = fused.joins
    assert isinstance(lower.output, CategoryOutput)
    assert (lower.name, lower.output.category) == ("v", upper.left)
    assert plain_projection(lower) == {"_key_0": "k", "_time": "t", "k": "k"}


def test_it_promises_and_inherits_as_through_a_category() -> None:
    fused, before = plans(CHAIN)
    sides = [
        next(s.output for s in plan.stages if s.name == name)
        for plan, name in ((fused, "v"), (before, "w.left"))
    ]
    promised = [[one.name for one in side.promises] for side in sides if isinstance(side, CategoryOutput)]
    assert promised[0] == promised[1] == ["_time"]
    assert fused.joins[1].settings == before.joins[1].settings
    assert fused.joins[1].settings.left_inherits
    assert delays(fused) == delays(before)


@pytest.mark.parametrize("also", ["CREATE TABLE p AS SELECT * FROM v STORAGE NOOP;", COUNTED])
def test_a_join_with_two_readers_keeps_its_category(also: str) -> None:
    plan = compile_pql((INPUTS + CHAIN + also).format(options=""))
    output = plan.joins[0].output
    assert isinstance(output, CategoryOutput)
    assert (output.category, output.time) == ("app.v", None)
    assert fuse_chains(plan) == plan


def test_the_next_join_is_waited_for() -> None:
    fused, before = plans(CHAIN, "WITH (pacing = 'on')")
    (direct,), (sliced,) = (
        join_config(plan, plan.joins[0], "/home", tasks=1).feeds for plan in (fused, before)
    )
    assert (direct.output, direct.slicer) == (None, None)
    assert (sliced.output, sliced.slicer) == ("app.v", "app.w.left")
    assert (direct.side_category, direct.side, direct.state_path) == (
        sliced.side_category,
        sliced.side,
        sliced.state_path,
    )


def test_operands_of_the_next_join_keep_their_names() -> None:
    text = CHAIN.replace("v.k = c.k AND", "v.x < c.x AND")
    words = [operand_words(plan, plan.joins[1]) for plan in plans(text)]
    assert words[0] == words[1]
    assert "v.x" in words[0].values()


def test_an_application_that_was_started_with_the_category_keeps_it(tmp_path: Path) -> None:
    home, (fused, before) = str(tmp_path), plans(CHAIN)
    take_over(consider(home, [before]))
    open_store(home).make_folder("apps/app/checkpoints/v")
    found = consider(home, [fused, before])
    assert (found.plan, found.changes) == (before, ())
    take_over(found)
    with pytest.raises(StateError, match="cannot go on with this query"):
        take_over(consider(home, [fused]))
