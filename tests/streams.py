"""Hypothesis strategies for pairs of streams and for every way of feeding them to a join.

Numbers are small on purpose: few keys, a short time line and narrow windows make rows match, tie and sit
exactly on a bound often. A stream arrives behind a clock that never goes back; the event time of a row is the
clock less the row's delay. Delays of at most `max_delay` are disorder that the stream time allows for; longer
ones make late rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from oracle import ENDED, NEVER

Time = int | float  # an int, NEVER or ENDED


class Row(NamedTuple):
    key: int | None
    time: int | None
    id: int


class Streams(NamedTuple):
    """Two streams in the order in which they arrive, and how far a stream's time stays behind its maximum."""

    left: tuple[Row, ...]
    right: tuple[Row, ...]
    max_delay: int


class Step(NamedTuple):
    """What one step takes in, and the stream times (left, right) that hold after it."""

    left: tuple[Row, ...]
    right: tuple[Row, ...]
    until: tuple[Time, Time]


class Mode(NamedTuple):
    how: str
    match: str
    pick: str


class Window(NamedTuple):
    before: int
    after: int


PAIRS = ("inner", "left", "right", "full")
MODES = (
    *(Mode(how, "all", "first") for how in (*PAIRS, "semi", "anti")),
    *(Mode(how, "one", pick) for how in PAIRS for pick in ("first", "nearest", "earliest", "latest")),
    *(Mode(how, "one", "nearest") for how in ("semi", "anti")),
)
DETERMINED = tuple(mode for mode in MODES if not (mode.match == "one" and mode.pick == "first"))
"""The modes whose result batch determines; `first` also depends on which partner arrives first."""

KEYS = st.sampled_from((0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 4, None))
GAPS = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 8))
SIZES = st.sampled_from((0, 1, 6, 14, 14))  # at least: short streams are easy to read, long ones match
FIRST_IDS = st.sampled_from((0, 7, 2**40))  # row numbers are dense, but a join may start anywhere in the log


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Bounds of both signs, never empty; the narrowest is one point."""
    before = draw(st.sampled_from((0, 1, 3, 5, 8, -2, -9)))
    return Window(before, draw(st.sampled_from((0, 1, 3, 5, 9, 14))) - before)


@st.composite
def stream(draw: st.DrawFn, max_delay: int, max_rows: int) -> tuple[Row, ...]:
    clock, first_id = draw(st.sampled_from((0, 0, 0, -4, 10))), draw(FIRST_IDS)
    delays = st.sampled_from((0, 0, 0, 0, 1, 2, 3, 5, 8, 12, 16, 20, max_delay, None))
    rows = []
    new = st.lists(st.tuples(KEYS, GAPS, delays), min_size=min(draw(SIZES), max_rows), max_size=max_rows)
    for n, (key, gap, delay) in enumerate(draw(new)):
        clock += gap
        rows.append(Row(key, None if delay is None else clock - min(delay, max_delay), first_id + n))
    return tuple(rows)


@st.composite
def streams(draw: st.DrawFn, *, late: bool = False, max_rows: int = 20) -> Streams:
    """Two streams; with `late`, disorder may exceed what the stream time allows for."""
    max_delay = draw(st.sampled_from((0, 1, 2, 3, 8)))
    delay = draw(st.sampled_from((10, 20, 40))) if late else max_delay
    return Streams(draw(stream(delay, max_rows)), draw(stream(delay, max_rows)), max_delay)


def stream_time(rows: Sequence[Row], max_delay: int) -> Time:
    """The fixed delay behind the maximum: the rule by which rows become late."""
    return max((row.time for row in rows if row.time is not None), default=NEVER) - max_delay


@st.composite
def commits(draw: st.DrawFn, rows: tuple[Row, ...]) -> list[tuple[Row, ...]]:
    """A split of a stream into commits of any sizes."""
    cuts = sorted(
        draw(st.lists(st.integers(0, len(rows)), min_size=draw(st.sampled_from((0, 5))), max_size=9))
    )
    return [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


@st.composite
def schedules(draw: st.DrawFn, pair: Streams) -> list[Step]:
    """A split and an interleaving: every step takes some commits (or none) of each side, the last takes the
    rest. A side may be known to have ended as soon as it is used up; both have ended at the end."""
    queues = [draw(commits(pair.left)), draw(commits(pair.right))]
    take = st.sampled_from((0, 1, 1, 1, 2, 3))
    takes = draw(st.lists(st.tuples(take, take), min_size=draw(st.sampled_from((0, 6, 6))), max_size=9))
    ends_at_once = draw(st.tuples(st.booleans(), st.booleans()))
    seen: list[list[Row]] = [[], []]
    steps = []
    for take in [*takes, tuple(map(len, queues))]:
        new = [
            tuple(row for commit in queue[:n] for row in commit)
            for queue, n in zip(queues, take, strict=True)
        ]
        times = []
        for side in (0, 1):
            del queues[side][: take[side]]
            seen[side] += new[side]
            done = ends_at_once[side] and not queues[side]
            times.append(ENDED if done else stream_time(seen[side], pair.max_delay))
        steps.append(Step(new[0], new[1], (times[0], times[1])))
    return [*steps, Step((), (), (ENDED, ENDED))]


@st.composite
def wild_schedules(draw: st.DrawFn, max_rows: int = 20) -> list[Step]:
    """Stream times that have nothing to do with the rows, except that they never go back: whatever estimates
    them, the join must do what its definition says."""
    pair = draw(streams(late=draw(st.booleans()), max_rows=max_rows))
    times: list[Time] = [NEVER, NEVER]
    steps = []
    for step in draw(schedules(pair)):
        for side in (0, 1):
            move = draw(st.sampled_from(("hold", "follow", "follow", "jump")))
            if move == "follow":
                times[side] = max(times[side], min(step.until[side], 50))
            elif move == "jump":
                times[side] = max(times[side], draw(st.integers(-20, 40)))
        steps.append(Step(step.left, step.right, (times[0], times[1])))
    return steps
