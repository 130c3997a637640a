"""Every fate that a left row can have in a join without an equality, each on a join driven by hand; and all
of them against what came out.

A row is a number and a time. The window is 30 before to 40 after, in microseconds; streams have no delay.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dovetail.engine import step_log
from dovetail.engine.step_log import read_records
from dovetail.errors import InputError
from dovetail.joins.known import At
from dovetail.joins.theta.fate import ThetaFate, ThetaMiss
from dovetail.joins.theta.step import Turn
from dovetail.joins.theta.turns import turns_of
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.theta import Operand, Operation, Theta
from dovetail.service.words.why_words import fate_lines, heading, preface, to_json
from dovetail.why.why import Answer, why
from laws.theta import CONDITIONS, EVEN, band, counting
from unit.engine.stepping import Driven, ids

SPEC = IntervalSpec(30, 40, "left")
NEAR = Theta((band(-2, 2),), (EVEN,))
"""At most two apart, and both even or both odd."""


@pytest.fixture
def join(tmp_path: Path) -> Driven:
    return Driven.make(tmp_path, ThetaJoin(SPEC, NEAR))


def only(answer: Answer) -> ThetaFate:
    (fate,) = answer.fates
    assert isinstance(fate, ThetaFate)
    assert to_json(answer, "app")["rows"]
    return fate


def missed(answer: Answer) -> ThetaMiss:
    fate = only(answer)
    assert fate.status == "unmatched"
    assert fate.miss is not None
    return fate.miss


def said(answer: Answer) -> str:
    return "\n".join(fate_lines(only(answer), answer.known))


def test_matched_with_whom_and_in_which_step(join: Driven) -> None:
    join.append("left", (10, 100), (50, 100))
    join.step()
    join.append("right", (12, 120), (11, 120), (10, 900))
    join.now_us = 5_000_000
    join.step()
    fate = only(join.why_row(0))
    assert (fate.status, fate.matched, fate.in_window, fate.doubts) == ("matched", 1, 2, ())
    (match,) = fate.matches
    assert (ids([match.right]), match.at) == ([0], At(2, 5_000_000))
    assert "with 1970-01-01T00:00:00.000120Z  id=0  in step 2 (planned 1970-01-01 00:00:05)" in said(
        join.why_row(0)
    )
    assert heading(join.why_row(0), "app") == "app · join view"


def test_many_partners_are_counted(join: Driven) -> None:
    join.append("left", (10, 100))
    join.append("right", *((10, 70 + n % 40) for n in range(200)))
    join.step(final=True)
    fate = only(join.why_row(0))
    assert (fate.matched, len(fate.matches)) == (200, 100)
    assert "and 195 more" in said(join.why_row(0))


def test_open_until_the_right_stream_has_passed(join: Driven) -> None:
    join.append("left", (10, 100))
    join.append("right", (11, 140))
    join.step()
    fate = only(join.why_row(0))
    assert (fate.status, fate.closed, fate.miss) == ("open", None, None)
    assert "passes 1970-01-01T00:00:00.000140Z; it is at 1970-01-01T00:00:00.000140Z" in said(join.why_row(0))
    join.append("right", (10, 120))
    join.step()
    assert only(join.why_row(0)).status == "matched"
    assert "more may match" in said(join.why_row(0))


def test_a_deferred_pick_is_open_until_it_is_made(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, ThetaJoin(IntervalSpec(30, 40, "left", "one", "nearest"), NEAR))
    join.append("left", (10, 100))
    join.append("right", (10, 110), (12, 101), (11, 100))
    join.step()
    assert only(join.why_row(0)).status == "open"
    assert "then one of 2 right rows in its window is picked" in said(join.why_row(0))
    join.append("right", (0, 500))
    join.step()
    (match,) = only(join.why_row(0)).matches
    assert (match.right.time_us, match.at.step) == (101, 2)


def test_a_pick_by_value_and_why_others_lost(tmp_path: Path) -> None:
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


def test_in_the_window_the_condition_fails_and_where(join: Driven) -> None:
    join.append("left", (10, 100))
    join.append("right", (11, 110), (20, 110), (13, 120), (9, 90), (10, 171))
    join.step(final=True)
    fate, miss = only(join.why_row(0)), missed(join.why_row(0))
    assert (miss.reason, fate.in_window, fate.fitting) == ("condition_fails", 4, 0)
    assert [rows for _, rows in fate.failing] == [
        2,
        0,
        3,
    ]  # too far above, too far below, not both even or odd
    assert miss.right is not None
    assert miss.right.values["id"] == 0, "the first for which one part fails"
    assert miss.outside is not None
    assert (miss.outside.right.values["id"], miss.outside.by) == (4, 31)
    text = said(join.why_row(0))
    assert "of 4 right rows in its window the condition holds for none" in text
    assert "left._on_0 - right._on_0 >= -2 fails for 2" in text
    assert "left._on_0 - right._on_0 <= 2" not in text, "it holds for all"
    assert "(left._on_0 + right._on_0) % 2 = 0 fails for 3" in text
    assert "the condition holds for a right row that is 31 µs outside the window, after it" in text


def test_operands_have_the_names_of_the_query(join: Driven) -> None:
    join.append("left", (10, 100))
    join.append("right", (40, 110))
    join.step(final=True)
    names = {Operand("left", "_on_0"): "l.x", Operand("right", "_on_0"): "ascii(r.k)"}
    answer = why(join.config, row=0, names=names)
    assert "l.x - ascii(r.k) >= -2 fails for all of them" in said(answer)


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
    join.append("left", (10, 100))
    join.append("right", *((10, time) for time in times))
    join.step(final=True)
    miss = missed(join.why_row(0))
    assert miss.outside is not None
    assert (miss.reason, miss.outside.right.time_us, miss.outside.by) == ("outside_window", nearest, by_us)
    assert "no right row is in its window" in said(join.why_row(0))
    assert words in said(join.why_row(0))


def test_nothing_that_would_match(join: Driven) -> None:
    join.append("left", (10, 100))
    join.append("right", (11, 500))
    join.step(final=True)
    assert missed(join.why_row(0)) == ThetaMiss("no_right_row")
    assert "the condition holds for none that the log has" in said(join.why_row(0))
    assert "came out alone" in said(join.why_row(0))


def test_the_right_row_came_after_closing(join: Driven) -> None:
    join.append("left", (10, 100))
    join.append("right", (0, 500))
    join.now_us = join.append("right", (10, 120)).written_at_us - 40_000_000
    join.step(max_step_rows=2)
    assert "after it was closed" in said(join.why_row(0))  # it is in the log, and not taken yet
    join.step()
    miss = missed(join.why_row(0))
    assert (miss.reason, miss.by_us, miss.at) == ("right_late", 40_000_000, At(2, join.now_us))
    assert "came 40 s after it was closed" in said(join.why_row(0))


def test_the_left_row_came_after_the_right_row_was_let_go(join: Driven) -> None:
    join.append("left", (0, 500))
    join.append("right", (10, 120))
    join.step()
    join.append("left", (10, 100))
    join.append("right", (0, 600))
    join.step()
    miss = missed(join.why_row(1))
    assert (miss.reason, miss.by_us, miss.at) == ("left_late", 400, At(1, 0))
    assert "it came 400 µs late" in said(join.why_row(1))


def test_after_an_end_the_streams_begin_anew(join: Driven) -> None:
    join.append("left", (0, 500))
    join.append("right", (10, 120))
    join.step()  # the right row is let go
    join.step(final=True)
    join.append("left", (10, 100))
    join.step()
    assert only(join.why_row(1)).status == "open"
    assert join.alone == {0}


def test_a_left_row_without_a_time(join: Driven) -> None:
    join.append("left", (10, None))
    join.append("right", (10, 100))
    join.step()
    assert missed(join.why_row(0)) == ThetaMiss("invalid_time")
    assert "it can match nothing: the time is null" in said(join.why_row(0))


def test_a_null_operand_fails(join: Driven) -> None:
    join.append("left", (None, 100))
    join.append("right", (10, 100))
    join.step(final=True)
    assert missed(join.why_row(0)).reason == "condition_fails"
    assert "fails for all of them" in said(join.why_row(0))


def test_not_taken_yet(join: Driven) -> None:
    join.append("left", (10, 100))
    assert only(join.why_row(0)).status == "not_taken"
    assert "no step of the join is on record" in said(join.why_row(0))


def test_rows_are_asked_for_by_time(join: Driven) -> None:
    second = 1_000_000
    join.append("left", (1, 10 * second), (2, 10 * second + 5), (3, None))
    join.append("left", (4, 14 * second), (5, 20 * second))
    join.step()
    assert ids([fate.left for fate in join.why_at(10 * second + 700_000).fates]) == [0, 1]
    assert ids([fate.left for fate in join.why_at(16 * second).fates]) == [3]
    assert ids([fate.left for fate in join.why_at(0).fates]) == [0]
    some = why(join.config, time_us=10 * second, limit=1)
    assert ids([fate.left for fate in some.fates]) == [1]
    assert list(preface(some)) == ["the newest 1 of 2 left rows; --time asks for others"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"key": ["a"]}, "has no keys to ask for"),
        ({}, "has no keys to ask for"),
        ({"row": 7}, "there is no left row 7"),
    ],
)
def test_what_is_refused(join: Driven, asked: dict, words: str) -> None:
    join.append("left", (1, 10))
    with pytest.raises(InputError, match=words) as raised:
        why(join.config, **asked)
    assert "row" in (raised.value.expected or "") or "number" in (raised.value.expected or "")


def test_an_empty_log(join: Driven) -> None:
    answer = join.why_at(5)
    assert answer.fates == ()
    assert list(preface(answer)) == ["no left row is in the log"]


def test_a_partner_that_retention_may_have_removed(join: Driven) -> None:
    join.append("right", (0, 75))
    join.append("left", (10, 100), (10, 110))
    join.append("right", (0, 500))
    join.step(final=True)
    join.retain("right", 1)
    assert only(join.why_row(0)).doubts == ("right_rows_gone",)
    assert only(join.why_row(1)).doubts == ()


def test_where_records_are_gone_the_answer_says_so(join: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK_STEPS", 1)
    monkeypatch.setattr(step_log, "KEPT_CHUNKS", 2)
    for time in (100, 200, 300, 400):
        join.append("left", (10, time))
        join.append("right", (10, time + 10))
        join.step()
    fates = [only(join.why_row(row)) for row in range(4)]
    assert [fate.doubts for fate in fates] == [("steps_gone",)] * 3 + [()]
    assert [fate.status for fate in fates] == ["matched"] * 4


# Windows that count rows: the last two left ones, the last three right ones.


@pytest.fixture
def last(tmp_path: Path) -> Driven:
    return Driven.make(tmp_path, ThetaJoin(IntervalSpec(0, 0, "left"), counting(Theta((band(0, 0),)), 2, 3)))


def test_open_until_so_many_rows_have_entered(last: Driven) -> None:
    last.append("left", (1, 10))
    last.append("right", (2, 10))
    last.step()
    assert only(last.why_row(0)).until_rows == 2
    assert "open until 2 more left rows entered" in said(last.why_row(0))
    last.append("left", (3, 10), (4, 10))
    last.append("right", (1, 10))
    last.step()
    fate = only(last.why_row(0))
    assert fate.miss is not None
    assert fate.miss.outside is not None
    assert (fate.status, fate.miss.reason, fate.miss.outside.by) == ("unmatched", "condition_fails", 1)
    assert "a right row that is 1 row outside the window, after it" in said(last.why_row(0))


def test_a_row_that_had_entered_too_early(last: Driven) -> None:
    last.append("right", (1, 10), (2, 10), (3, 10), (4, 10))
    last.step()
    last.append("left", (1, 10), (2, 10))
    last.step(final=True)
    miss = missed(last.why_row(0))
    assert miss.outside is not None
    assert (miss.reason, miss.outside.by) == ("condition_fails", -1)
    assert "a right row that is 1 row outside the window, before it" in said(last.why_row(0))
    assert only(last.why_row(1)).status == "matched"


def test_a_row_from_before_an_end(last: Driven) -> None:
    last.append("right", (1, 10))
    last.append("left", (2, 10))
    last.step(final=True)
    last.append("left", (1, 10))
    last.step(final=True)
    miss = missed(last.why_row(1))
    assert (miss.reason, miss.by_us, miss.at) == ("left_late", None, At(1, 0))
    assert "it came after the streams had ended" in said(last.why_row(1))


def wild(join: Driven, rng: random.Random) -> list[list[Turn]]:
    """Rows, late ones and nulls among them, two runs with an end; gives the turns that the offsets have."""
    turns: list[list[Turn]] = []
    for number in range(24):
        made = [
            (
                None if rng.random() < 0.05 else rng.randrange(12),
                None if rng.random() < 0.05 else number * 12 + rng.randrange(-90, 20),
            )
            for _ in range(rng.randrange(1, 6))
        ]
        join.append(rng.choice(["left", "right"]), *made)
        if rng.random() < 0.6 or number == 12:
            before = join.offset
            join.step(final=number == 12, max_step_rows=rng.choice([4, 1000]))
            if join.offset is not before:
                turns.append(_turns(join, before.left, before.right))
    return turns


def _turns(join: Driven, left: int, right: int) -> list[Turn]:
    at, found = {"left": left, "right": right}, []
    for side, count in join.offset.turns_of():
        commits = Category.open(join.config.home, side).commits(at[side], at[side] + count)
        found.append(Turn(side, commits[0].first_row, commits[-1].first_row + commits[-1].rows))
        at[side] += count
    return found


MODES = [
    *((how, "all", "first") for how in ("inner", "left", "semi", "anti")),
    ("inner", "one", "first"),
    ("left", "one", "latest"),
]


@pytest.mark.parametrize(
    ("how", "match", "pick", "counted"),
    [*((*mode, False) for mode in MODES), *((*mode, True) for mode in MODES if mode[2] != "latest")],
)
def test_what_is_said_is_what_came_out(
    tmp_path: Path, how: str, match: str, pick: str, counted: bool
) -> None:
    rng = random.Random(f"{how} {match} {pick} {counted}")
    theta = rng.choice(
        [one.theta for one in CONDITIONS if one.name in ("band", "two bands", "a band and more")]
    )
    spec = IntervalSpec(*((0, 0) if counted else (30, 40)), how, match, pick)  # type: ignore[arg-type]
    join = Driven.make(tmp_path, ThetaJoin(spec, counting(theta, 4, 6) if counted else theta), max_delay=20)
    turns = wild(join, rng)
    if counted:
        sides = [Category.open(join.config.home, side) for side in ("left", "right")]
        assert turns_of(read_records(join.config), *sides) == turns
    statuses, pairs, unmatched = set(), set(), set()
    for row in range(join.rows("left")):
        answer = join.why_row(row)
        fate = only(answer)
        statuses.add(fate.status)
        assert fate_lines(fate, answer.known)
        assert fate.doubts == ()
        assert (fate.miss is not None) == (fate.status == "unmatched")
        pairs |= {(row, match_.right.values["id"]) for match_ in fate.matches}
        unmatched |= {row} if fate.status == "unmatched" else set()
    assert {"matched", "unmatched"} <= statuses
    if spec.emits_pairs:
        assert pairs == join.pairs
        assert join.alone == (unmatched if spec.keeps_left else set())
    else:
        assert join.alone == (unmatched if how == "anti" else {left for left, _ in pairs})


def test_conditions_are_written_as_people_write_them() -> None:
    from dovetail.model.theta import Constant
    from dovetail.model.theta_text import condition_text, conjuncts

    left, right = Operand("left", "_on_0"), Operand("right", "_on_1")
    names = {left: "l.x", right: "r.a"}
    less = Operation("<", (left, Operation("+", (right, Constant("int", "1")))))
    either = Operation("or", (less, Operation("is_null", (right,))))
    text = Operation("<>", (Operation("concat", (left, Constant("string", "a"))), Constant("null", "")))
    whole = Operation("and", (either, Operation("and", (Operation("not", (less,)), text))))
    assert [condition_text(part, names) for part in conjuncts(Theta((), (whole,)))] == [
        "l.x < r.a + 1 OR r.a IS NULL",
        "NOT (l.x < r.a + 1)",
        "concat(l.x, 'a') <> NULL",
    ]
    product = Operation("*", (Operation("-", (left, right)), Operation("neg", (left,))))
    assert condition_text(Operation(">", (product, Constant("int", "3"))), names) == "(l.x - r.a) * -l.x > 3"
