"""A second, wider look at a sample of the keys: what the join misses, and what another window would find.

Law: while the sample holds all rows, every pair inside the window whose rows have both come was found by the
join or is counted as missed. After that, so is every pair of sampled keys whose rows come no later than rows
have lately come; times `weight`, that estimates the whole stream, and `missed_variance` says how far off it
may be.

Idea. Some keys, chosen by bits of their hash that nothing else uses, are joined once more beside the join,
with bounds that reach twice the window's length further on either side, and only to be counted: where the
right row was, from the left one's point of view (a histogram, for advice on the bounds), and whether the join
itself could see the pair. A pair inside the window that it could not see is **missed**: one of its rows came
after stream time had closed or evicted the other.

Stream time must not decide what the sample keeps, for it may be what is wrong: one row dated far ahead, or an
idle stream that was only slow, carries it past rows that are still to come. So a row stays until the other
side's rows themselves have moved on: until the earliest of its recent arrivals (`left_low`, `right_low`, all
but the lowest hundredth) are past the row's reach. Nor does a row leave while there is room (`ROOMY_ROWS`).
Before the sample grows past a limit, half of its keys are dropped and the weight doubles; when it has become
small, keys are let in again. So small joins are looked at as a whole, and large ones cost little more.

Published relative: section 6.5 of the Facebook paper exports how near matches are to the bounds. That tells
whether to widen a window or to narrow it, but not what a wider one would gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Allocate, Buffer, Held, in_memory
from dovetail.joins.state import open_bound, probe_bound
from dovetail.joins.streams import ENDED, NEVER, Arrivals, Times, minus
from dovetail.kernels.ring import tag_of
from dovetail.model.interval import IntervalSpec
from dovetail.model.match_offsets import MatchOffsets
from dovetail.model.time_codes import FIRST_TIME

Int64s = NDArray[np.int64]
MOST_ROWS = 1 << 16
FEW_ROWS = MOST_ROWS // 16
ROOMY_ROWS = 2_000
"""For a side: while it has no more, none has to leave."""
_FIRST_BIT = 16
"""Bits of the hash below this choose the bucket, those from 32 on are the tag."""


class SampleCounts(NamedTuple):
    """What one step has shown, already multiplied by the weight."""

    offsets: Int64s
    missed: int
    missed_variance: int  # of `missed`; 0 while all keys are sampled


@dataclass
class Sample:
    """Rows of the sampled keys on both sides; `halvings` of them were dropped to keep it small."""

    left: Buffer
    right: Buffer
    halvings: int = 0
    left_low: int = NEVER  # how far back rows of each side still come, as event times
    right_low: int = NEVER

    @classmethod
    def empty(cls, allocate: Allocate = in_memory) -> Sample:
        return cls(
            Buffer.empty("sampled_left", False, allocate), Buffer.empty("sampled_right", False, allocate)
        )

    @property
    def weight(self) -> int:
        return 1 << self.halvings


def look(
    sample: Sample, spec: IntervalSpec, left: Arrivals, right: Arrivals, before: Times, until: Times
) -> SampleCounts:
    """Take in the sampled ones of a step's new rows; the stream times go from `before` to `until`."""
    scale = MatchOffsets.of(spec)
    while _expected(sample, len(left.row) + len(right.row)) > MOST_ROWS:
        _halve(sample)
    new_left, new_right = _sampled(sample, left), _sampled(sample, right)
    new_slots = sample.right.insert(new_right)
    mine, found = sample.right.probe(new_left, -scale.before_us, scale.after_us)
    _, found_times, _ = sample.right.at(found)
    came, waiting = sample.left.probe(new_right, -scale.after_us, scale.before_us)
    _, waiting_times, _ = sample.left.at(waiting)
    offsets = np.concatenate([found_times - new_left.time[mine], new_right.time[came] - waiting_times])
    seen = np.concatenate(
        [
            np.isin(found, new_slots) | (found_times >= probe_bound(spec, before)),
            waiting_times >= open_bound(spec, before),
        ]
    )
    inside = (offsets >= -spec.before_us) & (offsets <= spec.after_us)
    # What a join with the wider bounds would have seen: pairs lost to lateness are no gain of a wider window.
    wider = np.concatenate(
        [
            np.isin(found, new_slots) | (found_times >= minus(before.left, scale.before_us)),
            waiting_times >= minus(before.right, scale.after_us),
        ]
    )
    weight, missed = sample.weight, inside & ~seen
    by_key = np.unique(np.concatenate([new_left.tag[mine], new_right.tag[came]])[missed], return_counts=True)[
        1
    ]
    seen_now = SampleCounts(
        weight * scale.counted(offsets[wider]),
        weight * int(by_key.sum()),
        weight * (weight - 1) * int((by_key * by_key).sum()),
    )
    sample.left.insert(new_left)
    sample.left_low = _low(sample.left_low, new_left.time)
    sample.right_low = _low(sample.right_low, new_right.time)
    for buffer, bound in (
        (sample.left, _passed(until.right, sample.right_low, scale.after_us)),
        (sample.right, _passed(until.left, sample.left_low, scale.before_us)),
    ):
        if buffer.rows > ROOMY_ROWS:
            buffer.expire(bound)
    if sample.halvings and _expected(sample, len(left.row) + len(right.row)) < FEW_ROWS:
        sample.halvings -= 1
    return seen_now


def _low(low: int, times: Int64s) -> int:
    """How far back rows come, after some more of them: down at once, up by halves, and never for the lowest
    hundredth, among which may be a row of any date."""
    if not len(times):
        return low
    recent = int(np.partition(times, len(times) // 100)[len(times) // 100])
    return recent if low == NEVER or recent < low else low + (recent - low) // 2


def _passed(time: int, low: int, reach_us: int) -> int:
    """No row that is still expected can reach one before this."""
    return ENDED if time == ENDED else minus(min(time, low), reach_us)


def _expected(sample: Sample, new_rows: int) -> int:
    """Rows in the sample after `new_rows` more of the stream."""
    return sample.left.rows + sample.right.rows + new_rows // sample.weight


def _sampled(sample: Sample, rows: Arrivals) -> Held:
    """The new rows of sampled keys; the lower half of the hash takes the row number's place."""
    chosen = np.flatnonzero(_kept(rows.hash, sample.halvings))
    chosen = chosen[rows.time[chosen] >= FIRST_TIME]
    hashes = rows.hash[chosen]
    return Held.fresh(tag_of(hashes), rows.time[chosen], hashes & 0xFFFFFFFF)


def _kept(hashes: Int64s, halvings: int) -> NDArray[np.bool_]:
    kept: NDArray[np.bool_] = hashes & (((1 << halvings) - 1) << _FIRST_BIT) == 0
    return kept


def _halve(sample: Sample) -> None:
    sample.halvings += 1
    for buffer in (sample.left, sample.right):
        slots = buffer.slots()
        buffer.kill(slots[~_kept(buffer.held_at(slots).row, sample.halvings)])
