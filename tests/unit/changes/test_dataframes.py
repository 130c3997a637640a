"""A join of DataFrames called once more with other arguments: what the rules of changes say.

Law: rows that are held are never joined by another key, event time or operand than they were held for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dovetail.changes.between import OTHER_NAME
from dovetail.changes.compare import closest
from dovetail.changes.verdict import Change, strictest
from dovetail.changes.words import change_lines, verdict_words
from dovetail.model.interval import JoinType
from dovetail.plan.dataframes.build import asked, join_plan
from dovetail.plan.dataframes.picks import picked_by
from dovetail.plan.dataframes.windows import Hopping, Session, Tumbling, Windows
from dovetail.plan.physical import Plan
from dovetail.pql.picks import pick_in

LEFT, RIGHT = ("k", "id", "at", "seen", "x"), ("k", "id", "at", "seen", "y")
KEY = [("k", "k")]
TIMES = ("at", "at")
ONE: dict[str, Any] = {"match": "one", "pick": "max(y)"}


def plan_of(
    keys: list[tuple[str, str]], times: tuple[str, str] = TIMES, how: JoinType = "left", **options: Any
) -> Plan:
    picked = picked_by(pick_in(options.get("pick")), LEFT, RIGHT)
    wanted = asked("1 minute", "1 minute", None, how, options, picked)  # type: ignore[arg-type]
    return join_plan("j", LEFT, RIGHT, keys, times, wanted, "_right")


def in_windows(within: Windows, **options: Any) -> Plan:
    wanted = asked(None, None, within, "inner", options)  # type: ignore[arg-type]
    return join_plan("j", LEFT, RIGHT, KEY, TIMES, wanted, "_right")


def said(old: Plan, new: Plan) -> list[Change]:
    return closest(old, [new])[1]


def of_an_earlier_release(plan: Plan) -> Plan:
    """It wrote down nothing but the operands of a pick."""

    def as_it_was(sql: str) -> str:
        items = sql.removeprefix("SELECT ").rpartition(" FROM ")[0].split(", ")
        return ", ".join(item for item in items if "`_on_" in item)

    def views(stage: Any) -> Any:
        kept = [(view, as_it_was(view.sql)) for view in stage.views]
        return tuple(replace(view, sql=f"SELECT {items} FROM `{view.name}`") for view, items in kept if items)

    joins = plan.joins
    return replace(plan, stages=(*(replace(stage, views=views(stage)) for stage in plan.slicers), *joins))


@pytest.mark.parametrize("how", ["left", "semi"])
@pytest.mark.parametrize(
    ("keys", "times", "part", "what"),
    [
        ([("k", "id")], TIMES, "right side of j", "the key: k, now id"),
        ([("id", "k")], TIMES, "left side of j", "the key: k, now id"),
        ([*KEY, ("id", "id")], TIMES, "left side of j", "the key: none, now id"),
        (KEY, ("seen", "at"), "left side of j", "the event time: at, now seen"),
        (KEY, ("at", "seen"), "right side of j", "the event time: at, now seen"),
    ],
)
def test_another_key_or_event_time_is_refused(
    how: JoinType, keys: list[tuple[str, str]], times: tuple[str, str], part: str, what: str
) -> None:
    changes = said(plan_of(KEY, how=how), plan_of(keys, times, how))
    assert strictest(changes) == "refused"
    assert (part, what) in {(one.part, one.what) for one in changes if one.verdict == "refused"}


def test_the_words_for_another_key() -> None:
    changes = said(plan_of(KEY, how="semi"), plan_of([("k", "id")], how="semi"))
    assert [verdict_words(changes), *change_lines(changes)] == [
        "refused",
        "right side of j",
        "  the key: k, now id (refused)",
        "    rows in flight: what the join has seen is stored by the old one; the join cannot begin afresh: "
        "a side of it has several inputs, or is a DataFrame",
        f"    instead: {OTHER_NAME}",
    ]


def test_the_same_arguments_change_nothing() -> None:
    assert said(plan_of(KEY, **ONE), plan_of(KEY, **ONE)) == []
    odd = [("k", "k")], ("at", "at")
    assert said(plan_of(*odd), plan_of(*odd)) == []


@pytest.mark.parametrize("pick", ["max(x - y)", "max(abs(y))"])
def test_another_operand_of_a_pick_is_refused(pick: str) -> None:
    changes = said(plan_of(KEY, **ONE), plan_of(KEY, match="one", pick=pick))
    assert strictest(changes) == "refused"
    assert any("compares" in one.what for one in changes if one.verdict == "refused")


def test_a_pick_by_value_is_not_taken_up_where_rows_have_no_operand() -> None:
    changes = said(plan_of(KEY, match="one"), plan_of(KEY, **ONE))
    assert strictest(changes) == "refused"
    assert said(plan_of(KEY), plan_of([("k", "k"), ("id", "y")], **ONE))


def test_a_pick_that_is_dropped_may_leave_its_operand_as_a_key() -> None:
    """No column of a DataFrame takes the name of another one."""
    changes = said(plan_of(KEY, **ONE), plan_of([("k", "k"), ("x", "y")]))
    assert strictest(changes) == "refused"


@pytest.mark.parametrize("options", [{}, ONE], ids=["every partner", "one by value"])
def test_what_an_earlier_release_did_not_write_down_is_no_difference(options: dict[str, Any]) -> None:
    before = of_an_earlier_release(plan_of(KEY, **options))
    assert "_key_0" not in str([stage.views for stage in before.slicers])
    assert said(before, plan_of(KEY, **options)) == []
    changes = said(before, plan_of(KEY, how="inner", **options))
    assert {one.rule for one in changes} >= {"join_type"}
    assert strictest(changes) == "kept"


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        (KEY, [*KEY, ("id", "id")], "the number of keys: 1, now 2"),
        ([*KEY, ("id", "id")], KEY, "the number of keys: 2, now 1"),
    ],
)
def test_an_earlier_release_did_write_down_how_many_keys(was: Any, now: Any, what: str) -> None:
    changes = said(of_an_earlier_release(plan_of(was)), plan_of(now))
    assert what in [one.what for one in changes if one.verdict == "refused"]


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        (
            in_windows(Hopping("10 minutes", every="5 minutes")),
            in_windows(Hopping("10 minutes", every="2 minutes")),
            "hopping of 10 minutes every 5 minutes, now hopping of 10 minutes every 2 minutes",
        ),
        (
            in_windows(Tumbling("10 minutes")),
            in_windows(Hopping("10 minutes", every="2 minutes")),
            "tumbling of 10 minutes, now hopping of 10 minutes every 2 minutes",
        ),
        (
            in_windows(Session("10 seconds"), max_session="2 hours"),
            in_windows(Session("10 seconds"), max_session="3 hours"),
            "session of 10 seconds for up to 2 hours, now session of 10 seconds for up to 3 hours",
        ),
    ],
    ids=["another slide", "another shape", "another longest session"],
)
def test_the_words_for_other_windows_show_the_difference(was: Plan, now: Plan, what: str) -> None:
    assert [one.what for one in said(was, now)] == [f"the windows of the join: {what}"]
