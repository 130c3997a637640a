"""Every fate that a left row can have, each on a join driven by hand; and all of them against what came out.

The window is 30 before to 40 after, in microseconds; streams have no delay unless a test says so.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from dovetail.engine import step_log
from dovetail.errors import InputError
from dovetail.joins.interval.fate import Fate
from dovetail.joins.known import At
from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.theta import Constant, Operand, Operation
from dovetail.service.words.why_words import fate_lines, preface, to_json
from dovetail.why.why import Answer, why
from unit.engine.stepping import Driven, ids

SPEC = IntervalSpec(30, 40, "left")


@pytest.fixture
def join(tmp_path: Path) -> Driven:
    return Driven.make(tmp_path, SPEC)


def only(answer: Answer) -> Fate:
    (fate,) = answer.fates
    assert to_json(answer, "app")["rows"]
    return fate


def said(answer: Answer, row: int | None = None) -> str:
    fate = only(answer) if row is None else answer.fates[row]
    return "\n".join(fate_lines(fate, answer.known))


def test_matched_with_whom_and_in_which_step(join: Driven) -> None:
    join.append("left", ("a", 100), ("b", 100))
    join.step()
    join.append("right", ("a", 120), ("b", 900))
    join.now_us = 5_000_000
    join.step()
    fate = only(join.why("a"))
    assert (fate.status, fate.doubts) == ("matched", ())
    (match,) = fate.matches
    assert match.right.values["id"] == 0
    assert match.at == At(2, 5_000_000)
    assert fate.taken is not None
    assert fate.taken.step == 1
    assert "with 1970-01-01T00:00:00.000120Z  id=0  in step 2 (planned 1970-01-01 00:00:05)" in said(
        join.why("a")
    )


def test_open_until_the_right_stream_has_passed(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("right", ("b", 140))
    join.step()
    fate = only(join.why("a"))
    assert (fate.status, fate.closed, fate.miss) == ("open", None, None)
    assert "passes 1970-01-01T00:00:00.000140Z; it is at 1970-01-01T00:00:00.000140Z" in said(join.why("a"))
    join.append("right", ("b", 141))
    join.step()
    assert only(join.why("a")).status == "unmatched"


def test_matched_and_still_open(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("right", ("a", 100))
    join.step()
    assert only(join.why("a")).closed is None
    assert "more may match" in said(join.why("a"))


def test_a_deferred_pick_is_open_until_it_is_made(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, replace(SPEC, match="one", pick="nearest"))
    join.append("left", ("a", 100))
    join.append("right", ("a", 110), ("a", 101))
    join.step()
    fate = only(join.why("a"))
    assert (fate.status, fate.in_window) == ("open", 2)
    assert "one of 2 right rows" in said(join.why("a"))
    join.append("right", ("b", 500))
    join.step()
    (match,) = only(join.why("a")).matches
    assert (match.right.time_us, match.at.step) == (101, 2)


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


def test_no_right_row_has_the_key(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("right", ("b", 500))
    join.step()
    fate = only(join.why("a"))
    assert fate.miss is not None
    assert (fate.status, fate.miss.reason) == ("unmatched", "no_right_row")
    assert "no right row has this key" in said(join.why("a"))
    assert "it came and closed in step 1" in said(join.why("a"))
    assert "came out alone" in said(join.why("a"))


@pytest.mark.parametrize(
    ("times", "nearest", "by_us", "words"),
    [
        ((10, 60, 500), 60, -10, "10 µs outside the window, before it"),
        ((145, 10), 145, 5, "5 µs outside the window, after it"),
    ],
)
def test_outside_the_window(
    join: Driven, times: tuple[int, ...], nearest: int, by_us: int, words: str
) -> None:
    join.append("left", ("a", 100))
    join.append("right", *(("a", time) for time in times))
    join.step(final=True)
    miss = only(join.why("a")).miss
    assert miss is not None
    assert miss.right is not None
    assert (miss.reason, miss.right.time_us, miss.by_us) == ("outside_window", nearest, by_us)
    assert words in said(join.why("a"))


def test_the_right_row_came_after_closing(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("right", ("b", 500))
    late = join.append("right", ("a", 120)).written_at_us
    join.now_us = late - 40_000_000
    join.step(max_step_rows=2)
    assert only(join.why("a")).status == "unmatched"
    assert "after it was closed" in said(join.why("a"))  # it is in the log, and not taken yet
    join.step()
    miss = only(join.why("a")).miss
    assert miss is not None
    assert (miss.reason, miss.by_us) == ("right_late", 40_000_000)
    assert miss.at is not None
    assert miss.at.step == 2
    assert "came 40 s after it was closed" in said(join.why("a"))


def test_the_right_row_was_written_in_time_but_taken_late(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("right", ("b", 500))
    join.now_us = join.append("right", ("a", 120)).written_at_us + 3_000_000
    join.step(max_step_rows=2)
    join.step()
    assert "was written 3 s before it was closed, but was not taken until step 2" in said(join.why("a"))


def test_the_left_row_came_after_the_right_row_was_let_go(join: Driven) -> None:
    join.append("left", ("b", 500))
    join.append("right", ("a", 120))
    join.step()
    join.append("left", ("a", 100))
    join.append("right", ("b", 600))
    join.step()
    miss = only(join.why("a")).miss
    assert miss is not None
    assert (miss.reason, miss.by_us, miss.at) == ("left_late", 400, At(1, 0))
    assert "it came 400 µs late" in said(join.why("a"))


def test_the_left_row_came_after_the_streams_had_ended(join: Driven) -> None:
    join.append("left", ("b", 100))
    join.append("right", ("a", 120))
    join.step(final=True)
    join.append("left", ("a", 100))
    join.step(final=True)
    assert "after the streams had ended" in said(join.why("a"))


def test_a_left_row_without_a_time(join: Driven) -> None:
    join.append("left", ("a", None))
    join.append("right", ("a", 100))
    join.step()
    fate = only(join.why("a"))
    assert fate.miss is not None
    assert (fate.status, fate.miss.reason) == ("unmatched", "invalid_time")
    assert "it can match nothing: the time is null" in said(join.why("a"))


def test_right_rows_without_a_time(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("right", ("a", None), ("b", 500))
    join.step()
    miss = only(join.why("a")).miss
    assert miss is not None
    assert miss.reason == "right_invalid_time"
    assert "can match nothing" in said(join.why("a"))


def test_a_right_row_that_had_to_make_room(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, replace(SPEC, right_cap=1))
    join.append("right", ("a", 120), ("a", 130))
    join.step()
    join.append("left", ("a", 85))
    join.append("right", ("b", 500))
    join.step()
    miss = only(join.why("a")).miss
    assert miss is not None
    assert miss.right is not None
    assert (miss.reason, miss.right.time_us) == ("right_capped", 120)
    assert "had made room for newer right rows: the cap per key" in said(join.why("a"))


def test_a_left_row_that_had_to_make_room(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, replace(SPEC, left_cap=1))
    join.append("left", ("a", 100), ("a", 105))
    join.step()
    join.append("right", ("a", 120))
    join.step()
    first, second = join.why("a").fates
    assert first.miss is not None
    assert (first.miss.reason, first.closed, second.status) == ("left_capped", At(1, 0), "matched")
    assert "before its window was over: the cap per key" in said(join.why("a", 100), 0)


def test_not_taken_yet(join: Driven) -> None:
    join.append("left", ("a", 100))
    assert only(join.why("a")).status == "not_taken"
    assert "no step of the join is on record" in said(join.why("a"))
    join.step()
    join.append("left", ("b", 100))
    assert "has not come to it" in said(join.why("b"))


def test_no_such_left_row(join: Driven) -> None:
    join.append("left", ("apple", 100), ("pear", 100), (None, 7))
    join.append("right", ("aple", 120))
    join.step()
    answer = join.why("aple")
    assert answer.fates == ()
    assert answer.similar == (("apple",), ("pear",))
    text = "\n".join(preface(answer))
    assert "no left row with this key" in text
    assert "right rows with this key: 1" in text
    assert "apple | pear" in text
    assert "no right row has it either" in "\n".join(preface(join.why("plum")))


def test_a_left_row_that_retention_has_removed(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("left", ("b", 100))
    join.step(final=True)
    join.retain("left", 1)
    text = "\n".join(preface(join.why("a")))
    assert "it may have been there: retention has removed commits below 1" in text


def test_a_partner_that_retention_may_have_removed(join: Driven) -> None:
    join.append("right", ("b", 75))
    join.append("left", ("a", 100), ("c", 110), ("d", 106))
    join.append("right", ("b", 500))
    join.step(final=True)
    join.retain("right", 1)
    assert only(join.why("a")).doubts == ("right_rows_gone",)
    assert "not certain: retention has removed commits below 1 of the right stream" in said(join.why("a"))
    assert only(join.why("c")).doubts == ()  # the newest row of the commit was before its window
    assert only(join.why("d")).doubts == ()


def test_where_records_are_gone_the_answer_says_so(join: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK_STEPS", 1)
    monkeypatch.setattr(step_log, "KEPT_CHUNKS", 2)
    for time in (100, 200, 300, 400):
        join.append("left", ("a", time))
        join.append("right", ("a", time + 10))
        join.step()
    fates = join.why("a").fates
    assert [fate.doubts for fate in fates] == [("steps_gone",)] * 3 + [()]
    assert [fate.status for fate in fates] == ["matched"] * 4
    assert fates[-1].taken is not None
    assert fates[-1].taken.step == 4
    text = "\n".join(fate_lines(fates[0], join.why("a").known))
    assert "in step 3 or before" in text
    assert "not certain: the step in which it came is no longer on record" in text
    assert next(preface(join.why("a"))).startswith("certain for rows that came after step 3 (planned")


def test_a_time_narrows_to_what_is_near_or_nearest(join: Driven) -> None:
    second = 1_000_000
    join.append("left", ("a", 10 * second), ("a", 10 * second + 5), ("a", 14 * second), ("a", 20 * second))
    join.step()
    assert ids([fate.left for fate in join.why("a", 10 * second + 700_000).fates]) == [0, 1]
    assert ids([fate.left for fate in join.why("a", 16 * second).fates]) == [2]
    assert len(join.why("a").fates) == 4
    some = why(join.config, ["a"], limit=1)
    assert ids([fate.left for fate in some.fates]) == [3]
    assert list(preface(some)) == ["the newest 1 of 4 left rows; --time asks for others"]


def test_the_wrong_number_of_key_values(join: Driven) -> None:
    with pytest.raises(InputError, match="2 key values for a key of 1") as raised:
        why(join.config, ["a", "b"])
    assert "string" in (raised.value.expected or "")


@pytest.mark.parametrize("how", get_args(JoinType))
@pytest.mark.parametrize(("match", "pick"), [("all", "first"), ("one", "first"), ("one", "latest")])
@pytest.mark.parametrize("cap", [None, 2])
def test_what_is_said_is_what_came_out(
    tmp_path: Path, how: JoinType, match: str, pick: str, cap: int | None
) -> None:
    """Caps, late rows, null times, two runs with an end: for every key the answer is the join's output."""
    rng = random.Random(f"{how} {match} {pick} {cap}")
    right_cap = None if pick == "latest" and how in ("right", "full") else cap
    spec = IntervalSpec(30, 40, how, match, pick, cap, right_cap)  # type: ignore[arg-type]
    join = Driven.make(tmp_path, spec, max_delay=20)
    for number in range(30):
        made = [
            (
                rng.choice("abcdef"),
                None if rng.random() < 0.05 else number * 12 + rng.randrange(-90, 20),
            )
            for _ in range(rng.randrange(1, 6))
        ]
        join.append(rng.choice(["left", "right"]), *made)
        if rng.random() < 0.6 or number == 15:
            join.step(final=number == 15, max_step_rows=rng.choice([4, 1000]))
    statuses = set()
    pairs, unmatched = set(), set()
    for key in "abcdef":
        for fate in join.why(key).fates:
            statuses.add(fate.status)
            assert fate.doubts == ()
            assert (fate.miss is not None) == (fate.status == "unmatched")
            assert cap or fate.miss is None or "capped" not in fate.miss.reason
            pairs |= {(fate.left.values["id"], match_.right.values["id"]) for match_ in fate.matches}
            unmatched |= {fate.left.values["id"]} if fate.status == "unmatched" else set()
    assert {"matched", "unmatched"} <= statuses
    if spec.emits_pairs:
        assert pairs == join.pairs
        assert join.alone == (unmatched if spec.keeps_left else set())
    else:
        assert join.alone == (unmatched if how == "anti" else {left for left, _ in pairs})
