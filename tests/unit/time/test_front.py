"""How far a stream has come: a few rows dated ahead move nothing, and an honest stream loses little."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import CorruptFile
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.model.sketch import EventTimeSketch
from dovetail.time.clock import Clock, CommitSummary
from dovetail.time.coordinator import Pace, plan
from dovetail.time.estimate import Estimate
from dovetail.time.front import GENERATION, Front

SECOND, HOUR, DAY = 1_000_000, 3_600_000_000, 86_400_000_000
DELAY = 100
BY = 4


def summary(times: Sequence[int], written_us: int = 0, segments: int = 1) -> CommitSummary:
    parts = np.array_split(np.array(times, np.int64), segments)
    return CommitSummary(len(times), max(times), tuple(map(EventTimeSketch.of, parts)), written_us)


def fixed(max_delay_us: int = DELAY) -> Clock:
    return Clock.at(NEVER, max_delay_us, None, None, BY)


def again(clock: Clock) -> Clock:
    """After a restart."""
    saved = json.loads(json.dumps(clock.saved))
    return Clock.at(clock.time_us, clock.max_delay_us, None, saved, BY)


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[list[list[int]], set[int]]:
    """Commits of an honest stream whose rows are at most `DELAY` out of order, sparse or dense, with gaps; up
    to three rows, anywhere, have other times, each ahead of all honest ones."""
    rows = draw(st.integers(1, 700))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    pace = draw(st.sampled_from([0.1, 1.0, 50.0, 5000.0]))
    steps = rng.exponential(pace, rows) + np.where(rng.random(rows) < 0.01, 20_000, 0)
    times = (np.cumsum(steps) + rng.uniform(-DELAY / 2, DELAY / 2, rows)).astype(np.int64).tolist()
    top = max(times)
    wild = draw(st.lists(st.integers(top + 1, top + 10**9), max_size=BY - 1, unique=True))
    for time in wild:
        times.insert(draw(st.integers(0, len(times))), time)
    size = draw(st.sampled_from([1, 3, 50, 400, 1000]))
    return [times[at : at + size] for at in range(0, len(times), size)], set(wild)


@given(spoiled(), st.sampled_from([1, 3]))
def test_a_few_rows_dated_ahead_make_no_row_late(
    stream: tuple[list[list[int]], set[int]], segments: int
) -> None:
    """Stream time is never ahead of where the newest honest row puts it; so with disorder below `max_delay`
    no honest row is late, as if the wild rows were not there. It never goes back, and a restart after any
    commit changes nothing."""
    commits, wild = stream
    clock, newest = fixed(), NEVER
    for commit in commits:
        honest = [time for time in commit if time not in wild]
        assert min(honest, default=0) >= clock.time_us or not honest
        newest = max(newest, *honest, NEVER)
        after = clock.after(summary(commit, segments=min(segments, len(commit))))
        assert clock.time_us <= after.time_us <= max(newest - DELAY, NEVER)
        assert again(after).after(summary(commit)) == after.after(summary(commit))
        clock = after


@given(spoiled())
def test_an_honest_stream_loses_a_few_rows_and_no_more(stream: tuple[list[list[int]], set[int]]) -> None:
    """However commits are cut: the front has passed what a 16th of the recent rows, and some, have passed."""
    commits, wild = stream
    clock, seen = fixed(), []
    for commit in commits:
        clock = clock.after(summary(commit))
        seen += commit
        honest = sorted(time for time in seen[-GENERATION:] if time not in wild)
        if len(honest) > 3 * BY + 3:
            lost = BY + len(commit) // 16 + 2 * GENERATION // 16
            assert clock.time_us >= honest[max(0, len(honest) - 1 - lost)] - DELAY


@pytest.mark.parametrize("size", [1, 5, 2000])
def test_a_stream_that_jumps_is_followed_once_enough_rows_are_there(size: int) -> None:
    clock = fixed()
    for at in range(0, 1000, 10):
        clock = clock.after(summary(list(range(at, at + 10))))
    rows = 0
    while clock.time_us < HOUR:
        clock = clock.after(summary(list(range(HOUR + DELAY + rows, HOUR + DELAY + rows + size))))
        rows += size
    assert rows <= max(size, 3 * GENERATION // 16)


def test_after_a_backlog_in_one_commit_the_next_rows_count() -> None:
    """A day in one commit leaves the front a tenth behind; the next commit of live rows moves it up."""
    clock = fixed().after(summary(list(range(0, 1_000_000, 10))))
    assert 880_000 < clock.time_us <= 999_990 - DELAY
    clock = clock.after(summary(list(range(1_000_000, 1_000_000 + GENERATION))))
    assert clock.time_us >= 1_000_000 + GENERATION * 13 // 16 - DELAY


def test_wild_rows_are_forgotten() -> None:
    """One row in a hundred, for long: never do enough of them come together."""
    rng = np.random.default_rng(1)
    clock = fixed()
    for at in range(0, 200_000, 10):
        times = np.arange(at, at + 10) + np.where(rng.random(10) < 0.01, 10**9, 0)
        clock = clock.after(summary(times.tolist()))
    assert 199_800 - DELAY < clock.time_us < 200_000 - DELAY


def test_few_rows_an_hour_are_confirmed_by_the_log_s_clock_if_they_are_live() -> None:
    """A row each hour, written ten seconds later: from the fourth on none is waited with. A row dated ahead
    of the clock counts for nothing, and one from a clock that is wrong by less than the hour for as much as
    leaves room for rows as slow as those before."""
    clock = fixed(60 * SECOND)
    for hour in range(1, 10):
        at = hour * HOUR
        clock = clock.after(summary([at], at + 10 * SECOND))
        assert clock.time_us == (at - 60 * SECOND if hour >= BY else NEVER)
    before = clock.time_us
    written = 10 * HOUR + 10 * SECOND
    assert clock.after(summary([12 * HOUR], written)).time_us == before
    assert clock.after(summary([9 * HOUR + 1800 * SECOND], written)).time_us <= written - 60 * SECOND


def test_in_a_replay_the_log_s_clock_confirms_nothing() -> None:
    """Rows of last year, one an hour, read within a second; one is dated three days ahead of its neighbours,
    and still long ago."""
    clock = fixed(60 * SECOND)
    for hour in range(1, 100):
        at = (hour + 72 if hour == 50 else hour) * HOUR
        clock = clock.after(summary([at], 10_000 * HOUR + hour))
        assert clock.time_us <= hour * HOUR
    assert clock.time_us > 80 * HOUR
    assert clock.held_back is not None
    assert clock.held_back > 0


def test_an_idle_stream_does_not_wait_for_confirmation() -> None:
    """Three rows in all: nobody confirms them, and yet windows close when the stream counts as idle. What is
    ahead of the log's clock is not believed even then."""
    pace = Pace(DELAY, DELAY, 100, 1, confirmed_by=BY)
    left = [summary([1000, 2000], 5000), summary([9000], 5001)]
    end = plan(JoinOffset(), left, [], pace, final=False, waits=True).end
    assert end.times == (NEVER, NEVER)
    end = plan(end, [], [], pace, final=False, waits=True, idle=(True, True)).end
    assert end.times == (2000 - DELAY, 2000 - DELAY)
    assert plan(end, [], [], pace, final=False, waits=True, idle=(True, True)).end is end


def test_at_the_end_everything_closes() -> None:
    pace = Pace(DELAY, DELAY, 100, 1, confirmed_by=BY)
    assert plan(JoinOffset(), [summary([1])], [summary([9])], pace, final=True).end.ended


def test_one_row_is_enough_where_it_is_asked_for() -> None:
    """And an offset has nothing to save then, as ever."""
    clock = Clock.at(NEVER, DELAY, None, None, 1)
    for time in (500, 300, 9000):
        clock = clock.after(summary([time]))
    assert (clock.time_us, clock.saved, clock.held_back) == (9000 - DELAY, None, 0)


def test_another_kind_of_stream_time_keeps_the_time_and_begins_anew() -> None:
    clock = fixed()
    for at in range(20):
        clock = clock.after(summary([at * 1000]))
    spec = EstimateSpec()
    estimated = Clock.at(clock.time_us, DELAY, spec, clock.saved)
    assert (estimated.time_us, estimated.estimate) == (clock.time_us, Estimate())
    back = Clock.at(clock.time_us, DELAY, None, estimated.saved, BY)
    assert (back.time_us, back.front) == (clock.time_us, Front())
    assert Clock.at(clock.time_us, DELAY, None, None, BY).time_us == clock.time_us


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"time_us": 1.5},
        {"generations": []},
        {"generations": [[1, None, [[1, 0]]], [0, None, []]]},
        {"more": 1},
    ],
)
def test_what_is_not_a_front_is_refused(change: dict[str, object]) -> None:
    saved = fixed().after(summary([1, 2, 3, 4, 5])).saved
    assert saved is not None
    with pytest.raises(CorruptFile, match="stream time"):
        Clock.at(0, DELAY, None, {**saved, **change}, BY)


def test_what_is_saved_stays_small() -> None:
    rng = np.random.default_rng(2)
    clock, most = fixed(), 0
    for rows in rng.choice([1, 7, 100, 5000, 200_000], 60).tolist():
        times = DAY + rng.integers(0, HOUR, rows)
        clock = clock.after(summary(times.tolist(), segments=min(rows, 40)))
        most = max(most, len(json.dumps(clock.saved)))
    assert most < 4000
    assert all(one > other for one, other in pairwise(t for t, _ in clock.front.before.points))  # type: ignore[union-attr]
