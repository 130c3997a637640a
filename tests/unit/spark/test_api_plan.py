"""What a call of `dovetail.join` plans: bounds or windows, the columns of the result, and what is refused."""

from __future__ import annotations

import datetime
from typing import Any, get_args

import pytest

import dovetail
from dovetail.errors import PlanError, PqlError
from dovetail.model.interval import JoinType
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.theta import Operand, Operation
from dovetail.model.window_join import WindowJoin
from dovetail.plan.dataframes.build import asked, join_plan
from dovetail.plan.dataframes.picks import picked_by
from dovetail.plan.physical import JoinStage, Plan
from dovetail.plan.projection import plain_projection
from dovetail.pql.compile import compile_pql
from dovetail.pql.picks import pick_in

SECOND = 1_000_000
LEFT, RIGHT = ("at", "k", "x"), ("at", "k", "y")


def plan_of(
    how: JoinType = "inner",
    left: tuple[str, ...] = LEFT,
    right: tuple[str, ...] = RIGHT,
    on: tuple[str, str] = ("k", "k"),
    suffix: str = "_right",
    before: Any = None,
    after: Any = None,
    within: Any = None,
    **options: Any,
) -> Plan:
    picked = picked_by(pick_in(options.get("pick")), left, right)
    wanted = asked(before, after, within, how, options, picked)  # type: ignore[arg-type]
    return join_plan("j", left, right, [on], ("at", "at"), wanted, suffix)


def stage_of(**given: Any) -> JoinStage:
    (stage,) = plan_of(**given).joins
    return stage


def refused(**given: Any) -> PlanError:
    with pytest.raises(PlanError) as error:
        plan_of(**given)
    assert error.value.where is not None
    assert error.value.where.startswith("dovetail.")
    assert error.value.expected or error.value.hint
    return error.value


def names(stage: JoinStage) -> list[str]:
    picked = plain_projection(stage)
    assert picked is not None
    return list(picked)


WINDOWS = [
    (dovetail.Tumbling("10 seconds"), {}, ("tumbling", 10, 10, 10, "eager")),
    (dovetail.Tumbling(datetime.timedelta(minutes=1)), {"how": "left"}, ("tumbling", 60, 60, 60, "lazy")),
    (dovetail.Tumbling("10 seconds"), {"emit": "lazy"}, ("tumbling", 10, 10, 10, "lazy")),
    (dovetail.Hopping("10 seconds", every="2 seconds"), {}, ("hopping", 10, 2, 10, "eager")),
    (dovetail.Hopping("10 seconds", every="4 seconds"), {"how": "semi"}, ("hopping", 10, 4, 10, "lazy")),
    (dovetail.Session("30 seconds"), {}, ("session", 30, 30, 86_400, "lazy")),
    (
        dovetail.Session("30 seconds"),
        {"how": "full", "max_session": "1 minute"},
        ("session", 30, 30, 60, "lazy"),
    ),
]


@pytest.mark.parametrize(("within", "given", "window"), WINDOWS)
def test_windows(within: object, given: dict[str, Any], window: tuple) -> None:
    shape, *lengths, emit = window
    plan = plan_of(within=within, **given)
    assert plan.joins[0].join_kind.window == WindowJoin(shape, *(length * SECOND for length in lengths), emit)
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("how", get_args(JoinType))
def test_the_join_is_that_of_pql(how: JoinType) -> None:
    """Windows, bounds and settings, for every type of join."""
    kind = {"semi": "LEFT SEMI", "anti": "LEFT ANTI"}.get(how, how.upper())
    (pql,) = compile_pql(f"""
        CREATE APPLICATION j;
        CREATE INPUT TABLE l (at TIMESTAMP, k BIGINT) FROM SCRIBE("l");
        CREATE INPUT TABLE r (at TIMESTAMP, k BIGINT) FROM SCRIBE("r");
        CREATE VIEW j AS SELECT window_start, window_end FROM l {kind} JOIN r ON l.k = r.k
            WITHIN HOPPING '9 seconds' EVERY '2 seconds' WITH (max_delay = INTERVAL '3 seconds');
        CREATE TABLE o AS SELECT * FROM j STORAGE NOOP;
    """).joins
    stage = stage_of(how=how, within=dovetail.Hopping("9 seconds", every="2 seconds"), max_delay="3 seconds")
    assert (stage.join_kind, stage.settings) == (pql.join_kind, pql.settings)
    bounds = [(column.side, column.source) for column in pql.columns]
    assert [(column.side, column.source) for column in stage.columns[-2:]] == bounds


def test_bounds_make_no_windows() -> None:
    stage = stage_of(before="1 minute", after=datetime.timedelta(seconds=2))
    assert isinstance(stage.join_kind, IntervalJoin)
    assert (stage.spec.before_us, stage.spec.after_us) == (60 * SECOND, 2 * SECOND)
    assert names(stage) == ["k", "at", "x", "at_right", "y"]


def test_the_bounds_of_a_window_come_last() -> None:
    within = dovetail.Tumbling("10 seconds")
    pairs = ["k", "at", "x", "at_right", "y", "window_start", "window_end"]
    assert names(stage_of(within=within)) == pairs
    for how in ("semi", "anti"):
        assert names(stage_of(within=within, how=how)) == ["k", "at", "x", "window_start", "window_end"]
    full = stage_of(within=within, how="full")
    items = ", ".join(f"`{name}`" for name in pairs[1:])
    assert full.select == f"SELECT coalesce(`_l_key_0`, `_r_key_0`) AS `k`, {items} FROM `joined`"


def test_a_right_column_gives_way() -> None:
    within = dovetail.Tumbling("10 seconds")
    stage = stage_of(within=within, right=("k", "window_start", "X"))
    assert names(stage) == ["k", "at", "x", "window_start_right", "X_right", "window_start", "window_end"]
    assert "window_start" in names(stage_of(before="1 second", after="1 second", right=("k", "window_start")))


def test_names_that_differ_in_case_are_the_same_to_spark() -> None:
    """The left `id` once held the values of the right `ID`."""
    stage = stage_of(before="1 second", after="1 second", left=("k", "id"), right=("k", "ID"))
    picked = plain_projection(stage)
    assert picked == {"k": "k", "id": "id", "ID_right": "ID_right"}
    sides = {column.name: (column.side, column.source) for column in stage.columns}
    assert sides == {"k": ("left", "_key_0"), "id": ("left", "id"), "ID_right": ("right", "ID")}


@pytest.mark.parametrize("name", ["window_start", "Window_End"])
def test_a_left_column_called_as_a_bound_is_refused(name: str) -> None:
    error = refused(within=dovetail.Tumbling("10 seconds"), left=("k", "at", name))
    assert f"has a column {name}" in error.what
    assert f"withColumnRenamed('{name}'" in str(error.hint)
    error = refused(within=dovetail.Tumbling("10 seconds"), left=("at", name), on=(name, "k"))
    assert f"has a column {name}" in error.what


def test_two_columns_of_one_name_are_refused() -> None:
    error = refused(before="1 second", after="1 second", left=("k", "id", "id_right"), right=("k", "id"))
    assert "would be called id_right" in error.what
    assert "suffix=" in str(error.hint)
    assert stage_of(
        before="1 second", after="1 second", left=("k", "id", "id_right"), right=("k", "id"), suffix="_2"
    )


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({}, "before= and after= are missing"),
        ({"before": "1 minute"}, "after= is missing"),
        ({"after": "1 minute"}, "before= is missing"),
        (
            {"before": "1 minute", "within": dovetail.Session("1 second")},
            "before= is given together with within=",
        ),
        (
            {"before": "1 second", "after": "1 second", "within": dovetail.Session("1 second")},
            "before= and after= are given",
        ),
        ({"within": "tumbling 10 seconds"}, "within='tumbling 10 seconds' is not a window"),
        ({"within": dovetail.Tumbling}, "is not a window"),
        (
            {"within": dovetail.Session("2 days")},
            "the session's gap of 2 days is longer than `max_session`",
        ),
        (
            {"within": dovetail.Session("2 minutes"), "max_session": "1 minute"},
            "the session's gap of 2 minutes is longer than `max_session`, 1 minute",
        ),
        (
            {"within": dovetail.Session("1 second"), "max_session": "0 second"},
            "is longer than `max_session`, 0 seconds",
        ),
        ({"within": dovetail.Session("1 second"), "emit": "eager"}, 'emit = "eager" is not available'),
        (
            {"within": dovetail.Tumbling("1 second"), "emit": "eager", "how": "left"},
            "unmatched rows are known at its",
        ),
        (
            {"within": dovetail.Tumbling("1 second"), "match": "one", "emit": "eager"},
            "partners are picked at its end",
        ),
        (
            {"before": "1 second", "after": "1 second", "emit": "lazy"},
            "`emit` applies only to joins with WITHIN",
        ),
    ],
)
def test_refused(given: dict[str, Any], what: str) -> None:
    assert what in refused(**given).what


@pytest.mark.parametrize(
    ("make", "what", "where"),
    [
        (lambda: dovetail.Tumbling("0 seconds"), "the window cannot be 0 seconds", "dovetail.Tumbling("),
        (lambda: dovetail.Tumbling("-3 seconds"), "the window cannot be -3 seconds", "dovetail.Tumbling("),
        (lambda: dovetail.Tumbling("1 month"), "a month has no fixed length", "dovetail.Tumbling("),
        (lambda: dovetail.Tumbling(10), "length=10 is not a duration", "dovetail.Tumbling("),
        (
            lambda: dovetail.Session(datetime.timedelta()),
            "the gap of a session cannot be 0 seconds",
            "dovetail.Session(",
        ),
        (lambda: dovetail.Session(None), "gap=None is not a duration", "dovetail.Session("),
        (lambda: dovetail.Hopping("2 second", every="3 second"), "begin every 3 seconds", "every='3 second'"),
        (lambda: dovetail.Hopping("2 second", every="0 second"), "begin every 0 seconds", "every='0 second'"),
        (lambda: dovetail.Hopping("1 hour", every="1 second"), "in 3,600 windows", "every='1 second'"),
        (lambda: dovetail.Hopping("1 hour", every="x"), "every='x' is not a duration", "every='x'"),
    ],
)
def test_windows_that_cannot_be(make: Any, what: str, where: str) -> None:
    with pytest.raises(PlanError) as error:
        make()
    assert what in error.value.what
    assert where in str(error.value.where)
    assert error.value.expected or error.value.hint


PICKED = {"before": "1 minute", "after": "1 minute", "match": "one"}


@pytest.mark.parametrize("window", [PICKED, {"within": dovetail.Tumbling("1 second"), "match": "one"}])
def test_a_pick_by_value(window: dict[str, Any]) -> None:
    plan = plan_of(**window, pick="MIN(abs(y - left.X))")
    (stage,) = plan.joins
    left, right = Operand("left", "_on_0"), Operand("right", "_on_0")
    assert stage.spec.pick == "min"
    assert stage.spec.picked_by == Operation("abs", (Operation("-", (right, left)),))
    assert [view.sql for slicer in plan.slicers for view in slicer.views] == [
        "SELECT `k` AS `_key_0`, `at` AS `_time`, `left`.`x` AS `_on_0` FROM `left`",
        "SELECT `k` AS `_key_0`, `at` AS `_time`, `right`.`y` AS `_on_0` FROM `right`",
    ]
    assert Plan.from_json(plan.to_json()) == plan


def test_a_pick_by_value_of_one_side_is_all_evaluated_before_the_join() -> None:
    plan = plan_of(**PICKED, pick="max(upper(right.y) || '1')")
    assert plan.joins[0].spec.picked_by == Operand("right", "_on_0")
    assert [view.sql for view in plan.slicers[1].views] == [
        "SELECT `k` AS `_key_0`, `at` AS `_time`, upper(`right`.`y`) || '1' AS `_on_0` FROM `right`"
    ]
    assert "_on_" not in str(plan.slicers[0].views)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"pick": "max(at)"}, "both sides have a at"),
        ({"pick": "max(why)"}, "the DataFrames have no column why"),
        ({"pick": "max(right.x)"}, "the right DataFrame has no column x"),
        ({"pick": "max(left.x)"}, "reads only the left side"),
        ({"pick": "max(sum(y))"}, "is an aggregate"),
        ({"pick": "max(levenshtein(left.x, right.y))"}, "the join cannot evaluate it"),
        ({"pick": "max(x, y)"}, "does not compare one value"),
        ({"pick": "max"}, "does not say what it compares"),
        ({"pick": "max(y)", "how": "anti"}, "returns no partners"),
    ],
)
def test_picks_by_value_that_are_refused(given: dict[str, Any], says: str) -> None:
    assert says in refused(**{**PICKED, **given}).what


def test_a_pick_by_value_that_cannot_be_read() -> None:
    with pytest.raises(PqlError, match="missing or out of place") as error:
        plan_of(**PICKED, pick="max(y")
    assert "dovetail.join, pick=:1:5" in str(error.value)
