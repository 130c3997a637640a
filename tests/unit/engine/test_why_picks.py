"""Why a partner was picked by value, and why others lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dovetail.joins.interval.fate import Fate
from dovetail.joins.theta.fate import ThetaFate
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.theta import Constant, Operand, Operation, Theta
from dovetail.service.words.fate_words import fate_lines
from dovetail.service.words.why_words import to_json
from dovetail.why.why import Answer
from laws.theta import band
from unit.engine.stepping import Driven, ids

SPEC = IntervalSpec(30, 40, "left")


def only(answer: Answer) -> Fate | ThetaFate:
    (fate,) = answer.fates
    assert isinstance(fate, Fate | ThetaFate)
    return fate


def said(answer: Answer) -> str:
    return "\n".join(fate_lines(only(answer), answer.known))


BY_ID = Operation("%", (Operand("right", "id"), Constant("int", "3")))


def test_a_pick_by_value_and_why_others_lost(tmp_path: Path) -> None:
    spec = replace(SPEC, match="one", pick="max", picked_by=BY_ID)
    join = Driven.make(tmp_path, spec)
    join.append("left", ("a", 100))
    join.append("right", ("a", 110), ("a", 101), ("a", 120), ("b", 100))
    join.step()
    assert only(join.why("a")).status == "open"
    assert (
        "so far the largest right.id % 3 is 2, of 3 right rows that it met: "
        "1970-01-01T00:00:00.000120Z  id=2\n" in said(join.why("a"))
    )
    join.append("right", ("a", 130), ("a", 105), ("a", 90), ("a", 90), ("a", 90))
    join.append("right", ("b", 500))
    join.step()
    answer = join.why("a")
    fate = only(answer)
    (match,) = fate.matches
    assert (match.right.values["id"], match.at.step) == (8, 2)
    assert join.pairs == {(0, 8)}
    assert fate.comparison is not None
    assert [row.right.values["id"] for row in fate.comparison.compared] == [8, 5, 2, 7, 1, 4, 6, 0]
    lines = said(answer).splitlines()[1:]
    assert lines == [
        "picked for the largest right.id % 3: 2, of 8 right rows that it met",
        "not picked: the same, with a later time: 1970-01-01T00:00:00.000105Z  id=5",
        "not picked: the same, with a later time: 1970-01-01T00:00:00.000120Z  id=2",
        "not picked: 1: 1970-01-01T00:00:00.000090Z  id=7",
        "not picked: 1: 1970-01-01T00:00:00.000101Z  id=1",
        "not picked: 1: 1970-01-01T00:00:00.000130Z  id=4",
        "and 2 more",
    ]
    (row,) = to_json(answer, "app")["rows"]
    assert (row["pick"]["of"], row["pick"]["largest"]) == ("right.id % 3", True)
    assert [one["value"] for one in row["pick"]["compared"]] == [2, 2, 2, 1, 1, 1, 0, 0]


def test_a_row_that_came_too_late_is_not_among_those_compared(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, replace(SPEC, match="one", pick="max", picked_by=Operand("right", "id")))
    join.append("left", ("a", 100))
    join.append("right", ("a", 110), ("b", 500))
    join.step()
    join.append("right", ("a", 120))
    join.step()
    fate = only(join.why("a"))
    assert fate.comparison is not None
    assert ids([row.right for row in fate.comparison.compared]) == [0]
    assert "picked for the largest right.id: 0, the only right row that it met" in said(join.why("a"))


def test_a_pick_of_a_join_without_a_key(tmp_path: Path) -> None:
    by_distance = Operation("abs", (Operation("-", (Operand("right", "_on_0"), Operand("left", "_on_0"))),))
    spec = IntervalSpec(30, 40, "left", "one", "min", picked_by=by_distance)
    join = Driven.make(tmp_path, ThetaJoin(spec, Theta((band(-2, 2),))))
    join.append("left", (10, 100))
    join.append("right", (12, 110), (11, 120), (9, 101), (50, 100))
    join.step()
    assert "so far the smallest abs(" in said(join.why_row(0))
    join.append("right", (0, 500))
    join.step()
    fate = only(join.why_row(0))
    (match,) = fate.matches
    assert (match.right.time_us, match.at.step) == (101, 2)
    lines = said(join.why_row(0)).splitlines()[1:]
    assert lines[0].startswith("picked for the smallest abs(")
    assert lines[0].endswith("): 1, of 3 right rows that it met")
    assert lines[1:] == [
        "not picked: the same, with a later time: 1970-01-01T00:00:00.000120Z  id=1",
        "not picked: 2: 1970-01-01T00:00:00.000110Z  id=0",
    ]
