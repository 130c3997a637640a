"""The window join: two streams, equal keys, and a window that holds both rows.

Idea. The join holds the rows of open windows. Once both stream times have passed a window's end, no row that
is on time can come for it. It is then joined as one piece, by an algorithm for complete windows
(`intra_window/`), chosen from a sample of its keys. That is *lazy*. In an *eager* join a new row probes the
rows that are held, so a pair comes out with its second row, and the end of a window only removes rows.

      left   ● ●   ●│ ●   ● │●      T_left        windows end where both times have passed:
      right   ▲  ▲  │▲    ▲ │       T_right       all that end in a step are joined together,
             └─ 0 ──┴── 1 ──┴─ 2                  by (window, key)

    An example with TUMBLING '10 seconds'. l = 12:00:03 and r = 12:00:08 are in. T_left passes 12:00:10, then
    T_right does: (l, r) comes out with the window 12:00:00 to 12:00:10. A left row of 12:00:09 that comes
    now is late: an outer join lets it out alone.

Paper. Parallelizing Intra-Window Join on Multicores, SIGMOD 2021, joins one window; the windows are ours.

Differs. Windows that end in one step are one join, by the pair of window and key: many small windows cost no
more than a large one. Hot keys are split over the tasks before the join, as in the interval join, and over
the threads of a task by the algorithm. Sessions need all rows of a key, and are not split.

Law. The result is that of joining (row, window) with (row, window) on equal windows and keys; a lone row
comes out once for each of its windows. With match one a left row takes at most one partner in each of its
windows, by the same rules as in the interval join. A row that comes when one of its windows is over is alone
in that window. With no late rows it is the batch join, however the streams are cut and interleaved. Eager and
lazy joins give the same rows.

Cost. Lazy: a row is buffered once if its window outlasts the step it comes in, and joined once per window.
Eager: as the interval join. Sessions: the buffered rows are sorted in every step in which time passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.intra_window.at_rest import pairs_at_rest
from dovetail.joins.buffer import Held
from dovetail.joins.emitted import NO_COPIES, NONE, Copies, Counts, Emitted, SameKey, WindowBounds, counted
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times, usable
from dovetail.joins.tactics import Worth, best_of
from dovetail.joins.windowed.kernels.copies import InWindows, in_windows, labels, mark
from dovetail.joins.windowed.kernels.sessions import sessions
from dovetail.kernels.pick import NO_ROW, RULES, prefer
from dovetail.model.interval import Pick
from dovetail.model.time_codes import NULL_KEY
from dovetail.model.window_join import ENDED, NEVER, WindowJoin

Int64s = NDArray[np.int64]
KeyNumbers = Callable[[Int64s, Int64s], Int64s]
"""`key_numbers(left_rows, right_rows)`: a number for each row, the left ones before the right ones, which are
equal where the keys are."""

_LOWEST = -(2**62)
MARKED = 1 << 24
"""If fewer windows than this are between the first and the last, those in use are marked in an array.
Otherwise they are sorted."""


class Means(NamedTuple):
    """What a step is done with: the window, how keys are compared, and how many threads it may use.
    `paired`: left and right rows with smaller numbers have come out with each other, when the join was
    eager. `pick`: the rule by which a left row takes one partner in each window; None: it takes all. `worth`
    compares partners that are picked by value."""

    window: WindowJoin
    same_key: SameKey | None = None
    key_numbers: KeyNumbers | None = None
    copies: Copies = NO_COPIES
    threads: int = 1
    paired: tuple[int, int] = (0, 0)
    pick: Pick | None = None
    worth: Worth | None = None


class Copied(NamedTuple):
    """Rows, once for each of their windows: which row, and the number of the window."""

    row: Int64s
    window: Int64s


class Closed(NamedTuple):
    """What comes out of windows: pairs and lone rows by row number, with the bounds of their windows, and
    how many left rows had a partner."""

    left: Int64s
    right: Int64s
    pair_bounds: WindowBounds
    left_alone: Int64s
    left_bounds: WindowBounds
    right_alone: Int64s
    right_bounds: WindowBounds
    matched: int
    windows: int
    algorithm: str | None
    collisions: int


NOWHERE = WindowBounds(NONE, NONE)
NOTHING = Closed(NONE, NONE, NOWHERE, NONE, NOWHERE, NONE, NOWHERE, 0, 0, None, 0)


class ClosedWindows(NamedTuple):
    """What a step put out, and how: the number of windows that were joined, and by which algorithm, if
    any."""

    emitted: Emitted
    windows: int
    algorithm: str | None


def step(state: JoinState, left: Arrivals, right: Arrivals, until: Times, means: Means) -> ClosedWindows:
    """Take in new rows, let the stream times pass to `until`, and say what comes out."""
    window, spec, before = means.window, state.spec, state.times
    until = until.after(before)
    new_left, void_left = usable(left, picks=False)
    new_right, void_right = usable(right, picks=False)
    # A window is over when both streams have passed it, so the slower one decides.
    was, now = min(before), min(until)
    state.times = until

    late_left, late_right = _late(window, new_left, was), _late(window, new_right, was)
    if window.is_session:
        behind = Copied(np.flatnonzero(late_left), NONE), Copied(np.flatnonzero(late_right), NONE)
        alone = new_left.where(late_left), new_right.where(late_right)
        late_bounds = [WindowBounds(held.time, held.time + window.length_us) for held in alone]
        closed, peak_rows = _sessions(
            state, new_left.where(~late_left), new_right.where(~late_right), was, now, means
        )
    else:
        gone = window.last_over(was)
        behind = (
            _behind(window, new_left.time, late_left, gone),
            _behind(window, new_right.time, late_right, gone),
        )
        late_bounds = [_bounds(window, copied.window) for copied in behind]
        close = _eager if window.emit == "eager" else _lazy
        closed, peak_rows = close(state, new_left, new_right, gone, window.last_over(now), means)

    lone_left, left_bounds, lone_right, right_bounds = NONE, NOWHERE, NONE, NOWHERE
    if spec.keeps_left:
        lone_left = np.concatenate([closed.left_alone, new_left.row[behind[0].row], void_left])
        left_bounds = _joined(closed.left_bounds, late_bounds[0], _no_bounds(void_left))
    elif spec.how == "semi":
        lone_left, left_bounds = closed.left_alone, closed.left_bounds
    if spec.keeps_right:
        lone_right = np.concatenate([closed.right_alone, new_right.row[behind[1].row], void_right])
        right_bounds = _joined(closed.right_bounds, late_bounds[1], _no_bounds(void_right))

    own_left = counted(new_left, means.copies.left)
    own_right = counted(new_right, means.copies.right)
    null_left, null_right = (int(np.count_nonzero(side.time == NULL_KEY)) for side in (left, right))
    counts = Counts(
        left_in=len(own_left.row) + len(void_left),
        right_in=len(own_right.row) + len(void_right),
        pairs=len(closed.left),
        left_alone=len(lone_left),
        right_alone=len(lone_right),
        left_matched=closed.matched,
        left_late=int(np.count_nonzero(late_left if own_left is new_left else _late(window, own_left, was))),
        right_late=int(
            np.count_nonzero(late_right if own_right is new_right else _late(window, own_right, was))
        ),
        left_void=null_left,
        right_void=null_right,
        left_invalid=len(void_left) - null_left,
        right_invalid=len(void_right) - null_right,
        collisions=closed.collisions,
    )
    emitted = Emitted(
        closed.left,
        closed.right,
        lone_left,
        lone_right,
        counts,
        peak_rows,
        (NONE, NONE),
        _joined(closed.pair_bounds, left_bounds, right_bounds),
    )
    return ClosedWindows(emitted, closed.windows, closed.algorithm)


def found_so_far(state: JoinState, means: Means) -> Emitted:
    """The pairs of all rows that are held, in windows that are open."""
    first, last = means.window.last_over(min(state.times)) + 1, means.window.last_over(ENDED)
    found = _joined_windows(state, state.left.held(), state.right.held(), first, last, means)
    counts = Counts(pairs=len(found.left), collisions=found.collisions)
    return nothing_emitted(state)._replace(
        left=found.left, right=found.right, counts=counts, bounds=found.pair_bounds
    )


def nothing_emitted(state: JoinState) -> Emitted:
    rows = state.left_rows + state.right_rows
    return Emitted(NONE, NONE, NONE, NONE, Counts(), rows, (NONE, NONE), NOWHERE)


def _late(window: WindowJoin, held: Held, time_us: int) -> NDArray[np.bool_]:
    """Which rows come when one of their windows is over. For sessions: when one of the row alone would be."""
    if time_us == NEVER:
        return np.zeros(len(held.row), np.bool_)
    if window.is_session:
        return held.time < time_us - window.length_us
    return _begun_by(window, held.time, window.last_over(time_us))


def _begun_by(window: WindowJoin, times: Int64s, last: int) -> NDArray[np.bool_]:
    """Which times are in a window numbered up to `last`, without a division per row."""
    return times < last * window.every_us + window.length_us


def _behind(window: WindowJoin, times: Int64s, late: NDArray[np.bool_], gone: int) -> Copied:
    """Late rows, once for each of their windows that is over."""
    if not late.any():
        return Copied(NONE, NONE)
    rows = np.flatnonzero(late)
    copied = _copies(window, times[rows], _LOWEST, gone)
    return Copied(rows[copied.row], copied.window)


def _lazy(
    state: JoinState, new_left: Held, new_right: Held, gone: int, last: int, means: Means
) -> tuple[Closed, int]:
    """Windows `gone + 1` to `last` are over: their rows are joined."""
    window = means.window
    bound = (last + 1) * window.every_us
    sides = []
    for buffer, new in ((state.left, new_left), (state.right, new_right)):
        held = new
        if last > gone and buffer.rows:
            # All buffered rows that are in a closing window. Some of them stay: hopping windows overlap.
            old = buffer.held()
            held = old.where(_begun_by(window, old.time, last)).joined(new)
        sides.append(held)
    left, right = sides
    before = state.left_rows + state.right_rows
    closed = NOTHING
    if last > gone:
        closed = _joined_windows(state, left, right, gone + 1, last, means)
    for buffer, new in ((state.left, new_left), (state.right, new_right)):
        # `bound` is where the first open window begins. Rows before it have no open window left. A late row
        # that is not before it stays for those of its windows that are open; `_behind` lets it out of the
        # others.
        buffer.expire(bound)
        buffer.insert(new.where(new.time >= bound))
    return closed, max(before, state.left_rows + state.right_rows)


def _joined_windows(state: JoinState, left: Held, right: Held, first: int, last: int, means: Means) -> Closed:
    window = means.window
    in_left, in_right = (
        in_windows(held.tag, held.time, held.row, window.length_us, window.every_us, first, last)
        for held in (left, right)
    )
    left_labels, right_labels, windows = _labelled(in_left, in_right)
    return _closed(
        state,
        Copied(in_left.row, in_left.window),
        Copied(in_right.row, in_right.window),
        lambda numbers: _bounds(window, numbers),
        _matching(left_labels, right_labels, in_left.row, in_right.row, means),
        windows,
        (left, right),
        means,
    )


def _labelled(left: InWindows, right: InWindows) -> tuple[Int64s, Int64s, int]:
    """A label for each row, equal if window and tag are equal; and how many windows there are."""
    base, high = min(left.low, right.low), max(left.high, right.high)
    if high - base >= MARKED:  # the times are far apart, but there may be few windows: sort their numbers
        found, numbers = np.unique(np.concatenate([left.window, right.window]), return_inverse=True)
        at = len(left.row)
        return labels(left.tag, numbers[:at], 0), labels(right.tag, numbers[at:], 0), len(found)
    seen = np.zeros(max(0, high - base + 1), np.bool_)
    mark(left.window, base, seen)
    mark(right.window, base, seen)
    windows = int(np.count_nonzero(seen))
    return labels(left.tag, left.window, base), labels(right.tag, right.window, base), windows


class _Met(NamedTuple):
    """Pairs of positions, of rows whose real keys are equal."""

    left: Int64s
    right: Int64s
    algorithm: str | None
    collisions: int


def _matching(
    left_labels: Int64s, right_labels: Int64s, left_rows: Int64s, right_rows: Int64s, means: Means
) -> _Met:
    if not len(left_labels) or not len(right_labels):
        return _Met(NONE, NONE, None, 0)
    at_left, at_right, algorithm = pairs_at_rest(left_labels, right_labels, means.threads)
    found = len(at_left)
    if means.same_key is not None and found:
        same = means.same_key(left_rows[at_left], right_rows[at_right])
        if not same.all():
            at_left, at_right = at_left[same], at_right[same]
    return _Met(at_left, at_right, algorithm, found - len(at_left))


def _closed(
    state: JoinState,
    left: Copied,
    right: Copied,
    bounds_of: Callable[[Int64s], WindowBounds],
    met: _Met,
    windows: int,
    held: tuple[Held, Held],
    means: Means,
) -> Closed:
    """What comes out of rows in windows that are over, by join type. `held`: the rows, each once."""
    spec = state.spec
    before = np.zeros(len(met.left), np.bool_)
    if means.paired != (0, 0):
        before = (left.row[met.left] < means.paired[0]) & (right.row[met.right] < means.paired[1])
    if means.pick is not None:
        stays = before | _picked(left, right, met, before, held, means)
        met, before = met._replace(left=met.left[stays], right=met.right[stays]), before[stays]
    partnered = np.zeros(len(left.row), np.bool_)
    partnered[met.left] = True
    alone = ~partnered
    lone = np.ones(len(right.row), np.bool_)
    lone[met.right] = False
    out = NOTHING._replace(
        matched=int(np.count_nonzero(partnered)),
        windows=windows,
        algorithm=met.algorithm,
        collisions=met.collisions,
    )
    if means.paired != (0, 0):
        partnered[met.left[before]] = False  # a semi join would let them out once more
        met = met._replace(left=met.left[~before], right=met.right[~before])
    if spec.emits_pairs:
        out = out._replace(
            left=left.row[met.left],
            right=right.row[met.right],
            pair_bounds=bounds_of(left.window[met.left]),
        )
    if spec.keeps_left or spec.how == "semi":
        chosen = partnered if spec.how == "semi" else alone
        out = out._replace(left_alone=left.row[chosen], left_bounds=bounds_of(left.window[chosen]))
    if spec.keeps_right:
        out = out._replace(right_alone=right.row[lone], right_bounds=bounds_of(right.window[lone]))
    return out


def _picked(
    left: Copied, right: Copied, met: _Met, before: NDArray[np.bool_], held: tuple[Held, Held], means: Means
) -> NDArray[np.bool_]:
    """Which of the pairs are those that left rows pick, one in each window. A left row that has come out with
    a partner of the window `before` is done there."""
    assert means.pick is not None
    done = np.zeros(len(left.row), np.bool_)
    done[met.left[before]] = True
    some = np.flatnonzero(~done[met.left])
    groups, left_rows, right_rows = met.left[some], left.row[met.left[some]], right.row[met.right[some]]
    right_times = _times(held[1], right_rows)
    picked = np.zeros(len(met.left), np.bool_)
    if means.worth is not None:
        picked[some[best_of(means.worth, groups, left_rows, right_rows, right_times)]] = True
        return picked
    best_time, best_row = (np.full(len(left.row), NO_ROW, np.int64) for _ in range(2))
    left_times = _times(held[0], left_rows)
    prefer(RULES[means.pick], groups, left_times, right_times, right_rows, best_time, best_row)
    picked[some[best_row[groups] == right_rows]] = True
    return picked


def _times(held: Held, rows: Int64s) -> Int64s:
    """The event times of some of the rows, by their numbers."""
    order = np.argsort(held.row)
    times: Int64s = held.time[order[np.searchsorted(held.row, rows, sorter=order)]]
    return times


def _eager(
    state: JoinState, new_left: Held, new_right: Held, gone: int, last: int, means: Means
) -> tuple[Closed, int]:
    """New rows against those that are held; a pair comes out once for each open window that has both rows."""
    window = means.window
    open_since, bound = ((number + 1) * window.every_us for number in (gone, last))
    left, right = (new.where(new.time >= open_since) for new in (new_left, new_right))
    reach = window.length_us - 1
    # New right rows are in the buffer when new left rows probe, and new left rows are not when new right rows
    # do: so a pair of two new rows is found once.
    state.right.insert(right)
    new, found = state.right.probe(left, -reach, reach)
    came, waiting = state.left.probe(right, -reach, reach)
    found_rows, found_times, _ = state.right.at(found)
    waiting_rows, waiting_times, _ = state.left.at(waiting)
    left_rows = np.concatenate([left.row[new], waiting_rows])
    right_rows = np.concatenate([found_rows, right.row[came]])
    left_times = np.concatenate([left.time[new], waiting_times])
    right_times = np.concatenate([found_times, right.time[came]])
    # Both rows are in the windows from the first one of the later row to the last one of the earlier row.
    # Those up to `gone` were over before this step: a row that is late for them is alone in them.
    common = _expanded(
        np.maximum(_first_window(window, np.maximum(left_times, right_times)), gone + 1),
        np.minimum(left_times, right_times) // window.every_us,
    )
    candidates = len(common.row)
    if means.same_key is not None and candidates:
        at = np.unique(common.row)
        same = np.zeros(len(left_rows), np.bool_)
        same[at] = means.same_key(left_rows[at], right_rows[at])
        common = Copied(*(column[same[common.row]] for column in common))
    peak_rows = state.left_rows + state.right_rows + len(left.row)
    state.right.expire(bound)
    state.left.expire(bound)
    state.left.insert(left.where(left.time >= bound))
    return (
        NOTHING._replace(
            left=left_rows[common.row],
            right=right_rows[common.row],
            pair_bounds=_bounds(window, common.window),
            collisions=candidates - len(common.row),
        ),
        peak_rows,
    )


def _sessions(
    state: JoinState, new_left: Held, new_right: Held, was: int, now: int, means: Means
) -> tuple[Closed, int]:
    """Cut the rows held and the new ones into sessions. Sessions that are over are joined, and their rows
    leave."""
    sides = ((state.left, new_left), (state.right, new_right))
    before = state.left_rows + state.right_rows
    if now == was:  # time has not passed, so no session can be over
        for buffer, new in sides:
            buffer.insert(new)
        return NOTHING, state.left_rows + state.right_rows
    gap, longest = means.window.length_us, means.window.longest_us
    slots = [buffer.slots() for buffer, _ in sides]
    left, right = (
        buffer.held_at(found).joined(new) for (buffer, new), found in zip(sides, slots, strict=True)
    )
    at_left = len(left.row)
    if means.key_numbers is None:
        keys = np.concatenate([left.tag, right.tag]).astype(np.int64)
    else:  # tags may collide, and there are no pairs yet whose keys could be compared
        keys = means.key_numbers(left.row, right.row)
    times = np.concatenate([left.time, right.time])
    order = np.lexsort((times, keys))
    number_in_order, first, last = sessions(keys[order], times[order], gap, longest)
    number = np.empty(len(order), np.int64)
    number[order] = number_in_order
    over = (last < now - gap) | (first < now - longest)
    leaves = over[number] if len(number) else np.zeros(0, np.bool_)
    # `left` and `right` were copied out above, so slots may be reused from here on. Kill before insert: an
    # insert may rebuild the ring, and `found` would name other rows.
    for (buffer, new), found, gone in zip(sides, slots, (leaves[:at_left], leaves[at_left:]), strict=True):
        buffer.kill(found[gone[: len(found)]])
        buffer.insert(new.where(~gone[len(found) :]))
    ended_left, ended_right = left.where(leaves[:at_left]), right.where(leaves[at_left:])
    in_left, in_right = number[:at_left][leaves[:at_left]], number[at_left:][leaves[at_left:]]
    met = _matching(in_left, in_right, ended_left.row, ended_right.row, means)
    closed = _closed(
        state,
        Copied(ended_left.row, in_left),
        Copied(ended_right.row, in_right),
        lambda numbers: WindowBounds(first[numbers], last[numbers] + gap),
        met,
        int(np.count_nonzero(over)),
        (ended_left, ended_right),
        means,
    )
    return closed, max(before, state.left_rows + state.right_rows)


def _first_window(window: WindowJoin, times: Int64s) -> Int64s:
    """The number of the first window that holds each time."""
    first: Int64s = (times - window.length_us) // window.every_us + 1
    return first


def _copies(window: WindowJoin, times: Int64s, first: int, last: int) -> Copied:
    """Each row, once for each of its windows among those numbered `first` to `last`."""
    return _expanded(
        np.maximum(_first_window(window, times), first), np.minimum(times // window.every_us, last)
    )


def _expanded(first: Int64s, last: Int64s) -> Copied:
    """Positions and numbers: position `i` with `first[i]` to `last[i]`."""
    counts = np.maximum(last - first + 1, 0)
    rows = np.repeat(np.arange(len(counts)), counts)
    begins = np.cumsum(counts) - counts
    return Copied(rows, first[rows] + np.arange(len(rows)) - begins[rows])


def _bounds(window: WindowJoin, numbers: Int64s) -> WindowBounds:
    start = numbers * window.every_us
    return WindowBounds(start, start + window.length_us)


def _no_bounds(rows: Int64s) -> WindowBounds:
    """For rows without a key or a time: they are in no window."""
    return WindowBounds(np.full(len(rows), NEVER, np.int64), np.full(len(rows), NEVER, np.int64))


def _joined(*bounds: WindowBounds) -> WindowBounds:
    return WindowBounds(*(np.concatenate(ends) for ends in zip(*bounds, strict=True)))
