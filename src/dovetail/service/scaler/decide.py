"""How many tasks a join should have: a pure function of recorded figures.

    rows/s wanted = rate / 0.7                    busy 70 % of the time: room for what varies
                  + backlog / catch-up time       if both sides have one: else it is pacing
                  + rate x restart / catch-up     what comes in while a change takes place

    tasks wanted  = rows/s wanted / rows/s of one task, as measured

Laws. Up only if every figure of the last minutes wants more, by more than what a row costs is known to vary;
down only to the maximum of an hour. Never while the join is rebuilt or just after a change. If a step up
gained less than a tenth of what was expected, more tasks do not help: none are added until something else has
changed. A day has a budget of changes: a step down is paid together with the steps back up, and after half of
it steps up are larger, so a daily wave does not use it up.

Paper: section 6.2. It gives slicers the smallest number of tasks that keeps pace, as is done here for joins;
joins it scales by the memory they use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median, stdev

from dovetail.service.scaler.sample import LoadSample, TaskChange, TaskLimits, Verdict

TARGET_USE = 0.7
CATCH_UP_S = 600.0
RESTART_S = 15.0
UP_AFTER_S = 180.0
DOWN_AFTER_S = 3600.0
QUIET_S = 300.0
DAY_S = 86_400.0
CHANGES_A_DAY = 6
LEAST_GAIN = 0.1
DOWN_ROOM = 1.25
"""What a row costs is measured with noise: a step down leaves room for it, or the next look would go up
again."""
UP_ERRORS = 3.0
"""For the same reason a step up waits until more tasks are needed even if a row costs this many standard
errors less than it seems. The error shrinks with every figure; a true need grows a backlog."""
FEW_SAMPLES = 3
MEMORY_ROOM = 1.25


def decide(samples: Sequence[LoadSample], changes: Sequence[TaskChange], limits: TaskLimits) -> Verdict:
    """`samples` and `changes` in the order of time, of a day or more; the last sample is now."""
    if not samples:
        return Verdict("hold", limits.least, "nothing was measured yet")
    now = samples[-1]
    memory = _memory(samples)
    verdict = _tasks(samples, changes, limits, now)
    return Verdict(verdict.direction, verdict.tasks, verdict.reason, verdict.stuck, memory)


def wanted_rate(sample: LoadSample) -> float:
    """Rows per second that a join should be able to take."""
    return sample.rate / TARGET_USE + sample.backlog / CATCH_UP_S + sample.rate * RESTART_S / CATCH_UP_S


def _tasks(
    samples: Sequence[LoadSample], changes: Sequence[TaskChange], limits: TaskLimits, now: LoadSample
) -> Verdict:
    last = changes[-1] if changes else None
    recent = _since(samples, now.at_s - UP_AFTER_S)
    if any(sample.replaying for sample in recent):
        return _hold(now, "it rebuilds its state: figures of that time say nothing")
    if last is not None and now.at_s - last.at_s < QUIET_S:
        return _hold(now, f"it was changed {now.at_s - last.at_s:.0f} s ago")
    settled = [sample for sample in recent if sample.tasks == now.tasks]
    if len(settled) < FEW_SAMPLES or now.at_s - settled[0].at_s < UP_AFTER_S * 0.8:
        return _hold(now, "too little was seen of it with this number of tasks")
    measured = _capacity(samples, now)
    if measured is None:
        return _hold(now, "what a row costs is not known yet: no step had to wait for the one before")
    capacity, error = measured
    at_best = capacity + UP_ERRORS * error
    if min(_needed(wanted_rate(sample), at_best) for sample in settled) > now.tasks:
        needed = [_needed(wanted_rate(sample), capacity) for sample in settled]
        return _up(now, changes, limits, round(median(needed)), capacity)
    return _down(samples, changes, limits, now, capacity)


def _up(
    now: LoadSample, changes: Sequence[TaskChange], limits: TaskLimits, needed: int, capacity: float
) -> Verdict:
    wanted, why = max(needed, now.tasks * _stride(now, changes)), _words(now, needed, capacity)
    if (gain := _disappointing(now, changes, capacity)) is not None:
        words = f"the last step up gained {gain:.0%} of what was expected: more tasks do not help ({why})"
        return Verdict("hold", now.tasks, words, stuck=True)
    most = limits.most
    bound = limits.bound_by
    if now.hot_key is not None and now.hot_share * wanted > 1:
        most = min(most, max(1, math.floor(1 / now.hot_share)))
        if most < limits.most:
            bound = f"the key {now.hot_key}, which has {now.hot_share:.0%} of the rows and cannot be split"
    target = min(wanted, most)
    if target <= now.tasks:
        return Verdict("hold", now.tasks, f"it is at its limit by {bound}: {why}", stuck=True)
    stuck = target < needed
    return Verdict("up", target, why + (f"; more is not possible by {bound}" if stuck else ""), stuck)


def _down(
    samples: Sequence[LoadSample],
    changes: Sequence[TaskChange],
    limits: TaskLimits,
    now: LoadSample,
    capacity: float,
) -> Verdict:
    hour = _since(samples, now.at_s - DOWN_AFTER_S)
    since_s = changes[-1].at_s if changes else samples[0].at_s
    if now.at_s - max(since_s, hour[0].at_s) < DOWN_AFTER_S * 0.95 or any(one.backlog for one in hour[-6:]):
        return _hold(now, f"{now.tasks} tasks are enough")
    highest = max(wanted_rate(sample) for sample in hour)
    target = max(limits.least, _needed(highest * DOWN_ROOM, capacity))
    if target * 2 > now.tasks:
        return _hold(now, f"{now.tasks} tasks are enough, and fewer would be too close to what is needed")
    lately = _lately(now, changes)
    highest_tasks = max([now.tasks, *(max(change.before, change.after) for change in lately)])
    back = math.ceil(math.log2(highest_tasks / target))  # to where it was in the last day, doubling each time
    if len(lately) + 1 + back > CHANGES_A_DAY:
        return _hold(now, f"{target} tasks would be enough, but it was changed {len(lately)} times in a day")
    words = (
        f"at most {highest:,.0f} rows/s were wanted in the last hour: {target} tasks of {capacity:,.0f} do"
    )
    return Verdict("down", target, words)


def _stride(now: LoadSample, changes: Sequence[TaskChange]) -> int:
    """By what the number of tasks grows at least: the fewer changes are left to a day, the more."""
    return 2 if len(_lately(now, changes)) < CHANGES_A_DAY // 2 else 4


def _lately(now: LoadSample, changes: Sequence[TaskChange]) -> list[TaskChange]:
    return [change for change in changes if change.at_s > now.at_s - DAY_S]


def _capacity(samples: Sequence[LoadSample], now: LoadSample) -> tuple[float, float] | None:
    """Rows per second of a task, with the standard error: by the last hour with this number of tasks; or by
    the last minutes, if they say less than any figure before: then rows have become more expensive."""
    known = [
        (sample.at_s, sample.capacity)
        for sample in _since(samples, now.at_s - DOWN_AFTER_S)
        if sample.tasks == now.tasks and sample.capacity is not None
    ]
    if not known:
        return None
    lately = [capacity for at_s, capacity in known if at_s >= now.at_s - UP_AFTER_S]
    before = [capacity for at_s, capacity in known if at_s < now.at_s - UP_AFTER_S]
    counts = lately if lately and before and median(lately) < min(before) else [each for _, each in known]
    spread = stdev(counts) if len(counts) > 1 else 0.0
    return median(counts), spread / math.sqrt(len(counts))


def _disappointing(now: LoadSample, changes: Sequence[TaskChange], capacity: float) -> float | None:
    """The share of the expected gain that the last step up brought, if that was too little. It is forgotten
    after a day, and with the next step down."""
    last = changes[-1] if changes else None
    if last is None or last.after <= last.before or not last.capacity_before or last.after != now.tasks:
        return None
    if now.at_s - last.at_s > DAY_S:
        return None
    expected = last.capacity_before * (last.after / last.before - 1)
    gain = (capacity * now.tasks - last.capacity_before) / expected
    return max(0.0, gain) if gain < LEAST_GAIN else None


def _needed(rate: float, capacity: float) -> int:
    return max(1, math.ceil(rate / capacity - 1e-9))


def _memory(samples: Sequence[LoadSample]) -> int:
    """What to reserve: the maximum of an hour, and some room."""
    hour = _since(samples, samples[-1].at_s - DOWN_AFTER_S)
    return round(MEMORY_ROOM * max(sample.memory_bytes for sample in hour))


def _since(samples: Sequence[LoadSample], at_s: float) -> list[LoadSample]:
    return [sample for sample in samples if sample.at_s >= at_s]


def _hold(now: LoadSample, reason: str) -> Verdict:
    return Verdict("hold", now.tasks, reason)


def _words(now: LoadSample, needed: int, capacity: float) -> str:
    behind = f", {now.backlog:,} rows behind" if now.backlog else ""
    return f"{now.rate:,.0f} rows/s come in{behind}: that takes {needed} tasks of {capacity:,.0f} rows/s"
