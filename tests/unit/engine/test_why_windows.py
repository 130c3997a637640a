"""Every fate that a left row can have within windows, each on a join driven by hand; and all of them against
what came out.

Windows are of microseconds; streams have no delay unless a test says so: their time is that of the newest
row.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from dovetail.engine import step_log
from dovetail.joins.known import At
from dovetail.joins.windowed.fate import InWindow, WindowFate, WindowMiss
from dovetail.model.interval import JoinType
from dovetail.model.join_kind import WindowedJoin
from dovetail.model.window_join import WindowJoin, hopping, session, tumbling
from dovetail.service.words.why_words import fate_lines, to_json, verdict
from dovetail.why.why import Answer
from unit.engine.stepping import Driven

TUMBLING = tumbling(100)


def driven(folder: Path, window: WindowJoin, how: JoinType = "left", max_delay: int = 0) -> Driven:
    return Driven.make(folder, WindowedJoin(how, window), max_delay)


@pytest.fixture
def join(tmp_path: Path) -> Driven:
    return driven(tmp_path, TUMBLING)


def only(answer: Answer) -> WindowFate:
    (fate,) = answer.fates
    assert isinstance(fate, WindowFate)
    assert to_json(answer, "app")["rows"]
    return fate


def the_window(answer: Answer) -> InWindow:
    (window,) = only(answer).windows
    return window


def missed(answer: Answer) -> WindowMiss:
    miss = the_window(answer).miss
    assert miss is not None
    assert only(answer).status == "unmatched"
    return miss


def said(answer: Answer) -> str:
    return "\n".join(fate_lines(only(answer), answer.known))


def test_matched_with_whom_in_which_window_and_when(join: Driven) -> None:
    join.append("left", ("a", 110), ("b", 300))
    join.step()
    join.append("right", ("a", 150), ("b", 300))
    join.now_us = 5_000_000
    join.step()
    window = the_window(join.why("a"))
    assert (window.start_us, window.end_us, window.status, window.over) == (
        100,
        200,
        "matched",
        At(2, 5_000_000),
    )
    (match,) = window.matches
    assert (match.right.values["id"], match.at) == (0, At(2, 5_000_000))
    text = said(join.why("a"))
    assert "window 1970-01-01T00:00:00.000100Z to 1970-01-01T00:00:00.000200Z: over in step 2" in text
    assert "with 1970-01-01T00:00:00.000150Z  id=0  in step 2 (planned 1970-01-01 00:00:05)" in text


def test_open_until_both_streams_have_come_to_the_end(join: Driven) -> None:
    join.append("left", ("a", 110), ("b", 250))
    join.append("right", ("a", 150), ("b", 199))
    join.step()
    fate = only(join.why("a"))
    assert (fate.status, the_window(join.why("a")).over) == ("open", None)
    text = said(join.why("a"))
    assert "open until both stream times have come to 1970-01-01T00:00:00.000200Z" in text
    assert "left is at 1970-01-01T00:00:00.000250Z, right is at 1970-01-01T00:00:00.000199Z" in text
    join.append("right", ("b", 200))
    join.step()
    assert only(join.why("a")).status == "matched"


def test_eager_a_match_comes_before_the_end(tmp_path: Path) -> None:
    join = driven(tmp_path, tumbling(100, "eager"), "inner")
    join.append("left", ("a", 110))
    join.step()
    join.append("right", ("a", 150))
    join.step()
    window = the_window(join.why("a"))
    assert (window.status, window.over, window.matches[0].at.step) == ("matched", None, 2)
    assert "more may match" in said(join.why("a"))
    join.step(final=True)
    over = the_window(join.why("a")).over
    assert over is not None
    assert (over.step, the_window(join.why("a")).matches[0].at.step) == (3, 2)


def test_a_row_is_in_several_windows(tmp_path: Path) -> None:
    join = driven(tmp_path, hopping(100, 50))
    join.append("left", ("a", 110), ("b", 151))
    join.append("right", ("a", 70), ("b", 151))
    join.step()
    first, second = only(join.why("a")).windows
    assert (first.start_us, first.status, second.start_us, second.status) == (50, "matched", 100, "open")
    assert only(join.why("a")).status == "matched"
    join.step(final=True)
    _, second = only(join.why("a")).windows
    assert second.miss is not None
    assert (second.status, second.miss.reason, second.miss.by_us) == ("unmatched", "outside_window", -30)


def test_no_right_row_has_the_key(join: Driven) -> None:
    join.append("left", ("a", 110))
    join.append("right", ("b", 110))
    join.step(final=True)
    assert missed(join.why("a")) == WindowMiss("no_right_row")
    assert "no right row has this key" in said(join.why("a"))
    assert "it came out alone" in said(join.why("a"))


@pytest.mark.parametrize(
    ("times", "nearest", "by_us", "words"),
    [
        ((10, 90, 500), 90, -10, "the nearest is 10 µs outside the window, before it"),
        ((10, 200), 200, 1, "the nearest is 1 µs outside the window, after it"),
    ],
)
def test_in_a_neighbouring_window(
    join: Driven, times: tuple[int, ...], nearest: int, by_us: int, words: str
) -> None:
    join.append("left", ("a", 199))
    join.append("right", *(("a", time) for time in times))
    join.step(final=True)
    miss = missed(join.why("a"))
    assert miss.right is not None
    assert (miss.reason, miss.right.time_us, miss.by_us) == ("outside_window", nearest, by_us)
    assert words in said(join.why("a"))


def test_the_right_row_came_when_the_window_was_over(join: Driven) -> None:
    join.append("left", ("a", 110), ("b", 300))
    join.append("right", ("b", 300))
    join.now_us = join.append("right", ("a", 120)).written_at_us - 40_000_000
    join.step(max_step_rows=3)
    assert "after it was over" in said(join.why("a"))  # it is in the log, and not taken yet
    join.step()
    miss = missed(join.why("a"))
    assert (miss.reason, miss.by_us, miss.at) == ("right_late", 40_000_000, At(2, join.now_us))
    assert "a right row in its window came 40 s after it was over" in said(join.why("a"))
    assert "too late: 1970-01-01T00:00:00.000120Z  id=1" in said(join.why("a"))


@pytest.mark.parametrize(
    ("right", "words"), [(("a", 150), "missed: "), (("b", 150), "no right row with this key")]
)
def test_the_left_row_came_when_the_window_was_over(join: Driven, right: tuple, words: str) -> None:
    join.append("left", ("b", 300))
    join.append("right", right, ("b", 260))
    join.step()
    join.append("left", ("a", 110))
    join.step()
    miss = missed(join.why("a"))
    assert (miss.reason, miss.by_us) == ("left_late", 60)
    assert "it came 60 µs late: the window was over" in said(join.why("a"))
    assert words in said(join.why("a"))


def test_after_an_end_a_row_is_not_late_but_its_partner_is_gone(join: Driven) -> None:
    join.append("left", ("b", 110))
    join.append("right", ("a", 120))
    join.step(final=True)
    join.append("left", ("a", 110))
    join.step(final=True)
    miss = missed(join.why("a"))
    assert (miss.reason, miss.by_us, miss.at) == ("right_let_go", None, At(1, 0))
    assert "it came after the streams had ended: a right row in its window had been let go" in said(
        join.why("a")
    )


def test_rows_without_a_time_are_in_no_window(join: Driven) -> None:
    join.append("left", ("a", None), ("b", 110))
    join.append("right", ("b", None))
    join.step(final=True)
    fate = only(join.why("a"))
    assert (fate.status, fate.windows, fate.invalid) == ("unmatched", (), "the time is null")
    assert "it can match nothing, and is in no window: the time is null" in said(join.why("a"))
    assert missed(join.why("b")).reason == "right_invalid_time"
    assert "the right rows with this key can match nothing: the time is null" in said(join.why("b"))


def test_a_null_key_is_asked_for_by_its_row(join: Driven) -> None:
    join.append("left", (None, 110))
    join.append("right", (None, 110), ("b", 110))
    join.step(final=True)
    answer = join.why_row(0)
    assert (only(answer).status, only(answer).windows, answer.key) == ("unmatched", (), (None,))
    assert "it can match nothing" in said(answer)


def test_not_taken_yet(join: Driven) -> None:
    join.append("left", ("a", 110))
    assert only(join.why("a")).status == "not_taken"
    assert verdict(only(join.why("a"))) == "not taken yet"
    assert "no step of the join is on record" in said(join.why("a"))


# Sessions: a gap of 10, at most 40.


@pytest.fixture
def visits(tmp_path: Path) -> Driven:
    return driven(tmp_path, session(10, 40))


def test_the_session_a_row_belongs_to(visits: Driven) -> None:
    visits.append("left", ("a", 100), ("a", 130))
    visits.append("right", ("a", 108), ("a", 117))
    visits.step()
    (open_,) = visits.why("a", 100).fates[0].windows  # type: ignore[union-attr]
    assert (open_.start_us, open_.end_us, open_.over) == (100, 127, None)
    visits.append("left", ("b", 160))
    visits.append("right", ("b", 160))
    visits.step()
    first, second = visits.why("a").fates
    assert isinstance(first, WindowFate)
    assert isinstance(second, WindowFate)
    (window,) = first.windows
    assert (window.start_us, window.end_us, window.status, len(window.matches)) == (100, 127, "matched", 2)
    (window,) = second.windows
    assert window.miss is not None
    assert (window.start_us, window.end_us, window.miss.reason, window.miss.by_us) == (
        130,
        140,
        "outside_window",
        -3,
    )
    text = "\n".join(fate_lines(second, visits.why("a").known))
    assert "session 1970-01-01T00:00:00.000130Z to 1970-01-01T00:00:00.000140Z: over in step 2" in text
    assert "the nearest is 3 µs too far before the session for its gap" in text


def test_an_open_session_may_grow(visits: Driven) -> None:
    visits.append("left", ("a", 100))
    visits.step()
    assert "have passed 1970-01-01T00:00:00.000110Z, or longer if rows come" in said(visits.why("a"))
    assert "right is not known yet" in said(visits.why("a"))


def test_a_session_that_was_cut(visits: Driven) -> None:
    visits.append("left", *(("a", time) for time in (100, 109, 118, 127, 136)))
    visits.append("right", ("a", 141))
    visits.step(final=True)
    fate = visits.why("a", 136).fates[-1]
    assert isinstance(fate, WindowFate)
    (window,) = fate.windows
    assert window.miss is not None
    assert (window.start_us, window.end_us, window.miss.reason) == (100, 146, "session_cut")
    text = "\n".join(fate_lines(fate, visits.why("a").known))
    assert "the session was cut where it would last longer than 40 µs: a right row began another" in text


def test_the_right_row_was_late_for_any_session(visits: Driven) -> None:
    visits.append("left", ("a", 100), ("b", 110))
    visits.append("right", ("b", 110))
    visits.step()
    visits.append("right", ("a", 95))
    visits.step()
    visits.step(final=True)
    miss = missed(visits.why("a"))
    assert (miss.reason, miss.by_us) == ("right_late_for_any", 5)
    assert "came 5 µs late: any session of its own was over" in said(visits.why("a"))


def test_the_right_row_had_left_with_its_own_session(visits: Driven) -> None:
    visits.append("left", ("b", 110))
    visits.append("right", ("a", 95), ("b", 110))
    visits.step()
    visits.append("left", ("a", 102))
    visits.step(final=True)
    miss = missed(visits.why("a"))
    assert (miss.reason, miss.by_us, miss.at) == ("right_let_go", 8, At(1, 0))
    assert "it came 8 µs late: a right row that is near enough had left with its own session" in said(
        visits.why("a")
    )


def test_a_left_row_late_for_any_session(visits: Driven) -> None:
    visits.append("left", ("b", 130))
    visits.append("right", ("a", 101), ("b", 130))
    visits.step()
    visits.append("left", ("a", 100))
    visits.step()
    miss = missed(visits.why("a"))
    assert (miss.reason, miss.by_us) == ("left_late", 20)
    assert "it came 20 µs late: the session was over" in said(visits.why("a"))


def test_a_partner_that_retention_may_have_removed(join: Driven) -> None:
    join.append("right", ("b", 110))
    join.append("left", ("a", 120), ("c", 210))
    join.append("right", ("b", 500))
    join.step(final=True)
    join.retain("right", 1)
    assert only(join.why("a")).doubts == ("right_rows_gone",)
    assert "not certain: retention has removed commits below 1 of the right stream" in said(join.why("a"))
    assert only(join.why("c")).doubts == ()


def test_where_records_are_gone_the_answer_says_so(join: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK_STEPS", 1)
    monkeypatch.setattr(step_log, "KEPT_CHUNKS", 2)
    for time in (100, 200, 300, 400):
        join.append("left", ("a", time))
        join.append("right", ("a", time + 10))
        join.step()
    fates = join.why("a").fates
    assert [fate.doubts for fate in fates] == [("steps_gone",)] * 3 + [()]
    assert [fate.status for fate in fates] == ["matched"] * 3 + ["open"]


JOINS = [
    *((tumbling(50), how) for how in get_args(JoinType)),
    (tumbling(50, "eager"), "inner"),
    (hopping(60, 25), "left"),
    (hopping(60, 25, "eager"), "inner"),
    *((session(9, 60), how) for how in ("inner", "full", "anti")),
]


@pytest.mark.parametrize(("window", "how"), JOINS)
def test_what_is_said_is_what_came_out(tmp_path: Path, window: WindowJoin, how: JoinType) -> None:
    """Late rows, null times, two runs with an end: for every key, window and step the answer is the join's
    output."""
    rng = random.Random(f"{window} {how}")
    join = driven(tmp_path, window, how, max_delay=10)
    for number in range(30):
        made = [
            (rng.choice("abcdef"), None if rng.random() < 0.05 else number * 12 + rng.randrange(-60, 20))
            for _ in range(rng.randrange(1, 6))
        ]
        join.append(rng.choice(["left", "right"]), *made)
        if rng.random() < 0.6 or number == 15:
            join.step(final=number == 15, max_step_rows=rng.choice([4, 1000]))
    explained: Counter[tuple[int | None, ...]] = Counter()
    seen = set()
    for key in "abcdef":
        answer = join.why(key)
        for fate in answer.fates:
            assert isinstance(fate, WindowFate)
            assert fate.doubts == ()
            assert fate_lines(fate, answer.known)
            id_ = fate.left.values["id"]
            seen.add(fate.status)
            if fate.invalid and fate.taken and how in ("left", "full", "anti"):
                explained[fate.taken.step, id_, None, None, None] += 1
            for one in fate.windows:
                assert (one.miss is not None) == (one.status == "unmatched")
                bounds = one.start_us, one.end_us
                if how not in ("semi", "anti"):
                    explained.update((m.at.step, id_, m.right.values["id"], *bounds) for m in one.matches)
                alone = one.status == ("matched" if how == "semi" else "unmatched")
                if alone and how in ("left", "full", "semi", "anti") and one.over:
                    explained[one.over.step, id_, None, *bounds] += 1
    assert {"matched", "unmatched"} <= seen
    assert explained == Counter(row for row in join.out if row[1] is not None)
