"""Bands are recognised in any spelling, and what is none is left alone."""

from __future__ import annotations

import pytest

from dovetail.errors import DovetailError
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.theta import Theta
from dovetail.plan.physical import Plan
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql

PROGRAM = """CREATE APPLICATION app;
CREATE INPUT TABLE l (t TIMESTAMP, x INT, y DOUBLE, s STRING) FROM SCRIBE("l");
CREATE INPUT TABLE r (t TIMESTAMP, a INT, b DOUBLE, c STRING) FROM SCRIBE("r");
CREATE VIEW v AS SELECT l.x AS x FROM l {how} JOIN r ON {on} {options};
CREATE TABLE o AS SELECT x FROM v STORAGE NOOP;"""
WINDOW = "r.t BETWEEN l.t - INTERVAL 1 MINUTE AND l.t + INTERVAL 1 MINUTE"


def text(on: str, how: str = "", options: str = "", window: str = f" AND {WINDOW}") -> str:
    return PROGRAM.format(on=on + window, how=how, options=options)


def theta(on: str) -> Theta:
    (join,) = compile_pql(text(on)).joins
    assert isinstance(join.join_kind, ThetaJoin)
    return join.join_kind.theta


def said(on: str) -> list[str]:
    """What `dovetail check` says of how pairs are found, without the line on event time."""
    report = check(text(on))
    assert report.summary is not None, report.errors
    return [line for line in report.summary.joins[0].finds if "event time" not in line]


@pytest.mark.parametrize(
    "on",
    [
        "abs(l.x - r.a) <= 10",
        "abs(r.a - l.x) <= 10",
        "10 >= abs((l.x - r.a))",
        "abs(l.x - r.a) < 11",
        "abs(l.x - r.a) <= 2 * 5",
        "l.x BETWEEN r.a - 10 AND r.a + 10",
        "r.a BETWEEN l.x - 10 AND l.x + 10",
        "l.x - r.a BETWEEN -10 AND 10",
        "l.x - r.a <= 10 AND r.a - l.x <= 10",
        "l.x - r.a < 11 AND r.a - l.x < 11",
        "l.x <= r.a + 10 AND l.x >= r.a - 10",
        "r.a + 20 >= l.x + 10 AND -l.x + 5 <= 15 - r.a",
        "l.x - r.a <= 10.5 AND l.x - r.a >= -10.5",
    ],
)
def test_one_band_in_many_spellings(on: str) -> None:
    from dovetail.predicates.bands import whole_bound

    (band,) = theta(on).bands
    low, high = whole_bound(band.low, up=True), whole_bound(band.high, up=False)
    if band.left[0].sign < 0:
        low, high = -high, -low
    assert (low, high) == (-10, 10)


@pytest.mark.parametrize(
    ("on", "lines"),
    [
        ("abs(l.x - r.a) <= 10", ["band index on l.x - r.a from -10 to 10"]),
        ("l.x > r.a", ["band index on l.x - r.a above 0"]),
        ("l.x + r.a = 3", ["band index on l.x - (-r.a) is 3"]),
        ("l.x - l.y - r.a < 1", ["band index on l.x - l.y - r.a below 1"]),
        ("l.x * r.a > 5", ["on the candidates, compiled: l.x * r.a > 5"]),
        ("l.x <> r.a", ["on the candidates, compiled: l.x <> r.a"]),
        ("l.s <> r.c", ["on the candidates, by columns: l.s <> r.c"]),
        ("sqrt(l.y * r.b) > 0.5", ["on the candidates, compiled: sqrt(l.y * r.b) > 0.5"]),
        ("power(l.y, r.b) > 2", ["on the candidates, by columns: power(l.y, r.b) > 2"]),
        (
            "length(l.s) * r.a > 5 AND (l.s < r.c OR l.x = r.a)",
            [
                "on the candidates, compiled: length(l.s) * r.a > 5",
                "on the candidates, by columns: l.s < r.c OR l.x = r.a",
            ],
        ),
        (
            "levenshtein(l.s, r.c) < 3 AND l.x < r.a",
            ["band index on l.x - r.a below 0", "after the join, by Spark: levenshtein(l.s, r.c) < 3"],
        ),
    ],
)
def test_check_says_how_pairs_are_found(on: str, lines: list[str]) -> None:
    assert said(on) == lines


def test_two_dimensions_and_more() -> None:
    found = theta("abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 0.5 AND (l.s < r.c OR l.s IS NULL)")
    assert [(band.low.value, band.high.value) for band in found.bands] == [("-10", "10"), ("-1/2", "1/2")]
    assert len(found.rest) == 1


def test_a_plan_is_read_back() -> None:
    plan = compile_pql(text("abs(l.x - r.a) <= 10 AND l.s <> r.c", options='WITH (order = "task")'))
    assert Plan.from_json(plan.to_json()) == plan


TIMED = "r.t BETWEEN l.t - INTERVAL 1 MINUTE AND l.t + INTERVAL 7 MINUTE"


@pytest.mark.parametrize(
    ("on", "options", "changed"),
    [
        (f"l.x - r.a BETWEEN -3 AND 10 AND l.s <> r.c AND l.x > 0 AND {TIMED}", "", ""),
        (f"l.x * r.a > 5 AND {TIMED}", 'WITH (order = "task")', 'WITH (order = "task")'),
        (
            "l.x <= r.a",
            "WITH (left_window = ROWS 5, right_window = ROWS 9)",
            "WITH (left_window = ROWS 9, right_window = ROWS 5)",
        ),
    ],
)
def test_a_right_join_is_a_left_join_with_its_sides_changed_over(on: str, options: str, changed: str) -> None:
    right = text(on, "RIGHT", options, window="")
    left = text(on, "LEFT", changed, window="").replace("FROM l LEFT JOIN r", "FROM r LEFT JOIN l")
    assert right != left
    assert compile_pql(right) == compile_pql(left)
    assert check(right).summary == check(left).summary


ROWS = "WITH (window = ROWS 10)"


@pytest.mark.parametrize(
    ("on", "how", "options", "says"),
    [
        ("levenshtein(l.s, r.c) < 3 AND " + WINDOW, "LEFT", "", "the join cannot evaluate it"),
        ("l.x < r.a AND " + WINDOW, "", "WITH (buckets = 3)", "only to joins with an equality"),
        ("l.x * r.a > 1", "", "", "no time window"),
        ("l.x < r.a", "", "WITH (window = 10)", "such as ROWS 1000000"),
        ("l.x < r.a", "", "WITH (window = ROWS 0)", "cannot be 0"),
        ("l.x < r.a", "", "WITH (left_window = ROWS 10)", "the other side has no window"),
        ("l.x < r.a", "", 'WITH (window = ROWS 9, pacing = "on")', "only to joins with a window of time"),
        ("l.x < r.a", "", 'WITH (window = ROWS 9, match = "one", pick = "latest")', "chooses by event time"),
        ("l.x = r.a", "", ROWS, "applies only to joins without an equality"),
        ("l.x = r.a AND " + WINDOW, "", 'WITH (order = "task")', "applies only to joins without an equality"),
        ("l.x < r.a AND " + WINDOW, "", 'WITH (order = "all")', '"none" | "task" | "step"'),
    ],
)
def test_what_is_refused(on: str, how: str, options: str, says: str) -> None:
    with pytest.raises(DovetailError) as caught:
        compile_pql(text(on, how, options, window=""))
    assert says in str(caught.value)
