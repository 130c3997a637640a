"""A join under a load, with the scaler in charge: to try it on a day in milliseconds.

    load(t) ──► two backlogs ──► tasks take what they can ──► samples twice a minute ──► decide

The join takes rows of both sides in proportion. After a change it stands still for a while. What a row
costs is measured with noise, and tasks may help less the more there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from dovetail.service.scaler.decide import decide
from dovetail.service.scaler.sample import LoadSample, TaskChange, TaskLimits, Verdict

Load = Callable[[float], tuple[float, float]]
"""Rows per second of left and right at a second of the simulation."""
EVERY_S = 30.0
KEPT_S = 90_000.0


@dataclass(frozen=True)
class System:
    """`task_rows_per_s`: of a task alone. `serial`: the share of the work that more tasks do not speed up.
    `hot_share`: of one key that cannot be split. `stalls_s`: how long a change stops the join. `lags`: rows
    of the left side that wait for the right side, whatever the tasks do: a stream that is behind in time."""

    task_rows_per_s: float = 10_000.0
    serial: float = 0.0
    hot_share: float = 0.0
    stalls_s: float = 15.0
    lags: int = 0
    noise: float = 0.1

    def capacity(self, tasks: int) -> float:
        spread = 1 / (self.serial + (1 - self.serial) / tasks)
        return self.task_rows_per_s * (min(spread, 1 / self.hot_share) if self.hot_share else spread)


@dataclass
class Simulated:
    samples: list[LoadSample] = field(default_factory=list)
    changes: list[TaskChange] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    most_behind_s: float = 0.0
    """The backlog at its longest, in seconds of the capacity that all tasks together have."""


def simulate(
    load: Load, system: System, limits: TaskLimits, seconds: float, seed: int, tasks: int = 1
) -> Simulated:
    random, found = Random(seed), Simulated()
    left = right = 0.0
    at_s, stalled_until_s = 0.0, 0.0
    while at_s < seconds:
        at_s += EVERY_S
        rates = load(at_s)
        left, right = left + rates[0] * EVERY_S, right + rates[1] * EVERY_S
        stalled = at_s <= stalled_until_s
        if not stalled:
            left, right = _taken(left, right, system.capacity(tasks) * EVERY_S)
        best = system.capacity(limits.most)
        found.most_behind_s = max(found.most_behind_s, (left + right) / best)
        cost = 1e6 / system.capacity(tasks) * (1 + system.noise * (2 * random.random() - 1))
        found.samples.append(
            LoadSample(
                at_s,
                tasks,
                *rates,
                int(left) + system.lags,
                int(right),
                None if stalled or not sum(rates) else cost,
                hot_key="k" if system.hot_share else None,
                hot_share=system.hot_share,
            )
        )
        window = found.samples[-int(4000 / EVERY_S) :]
        verdict = decide(window, [one for one in found.changes if one.at_s > at_s - KEPT_S], limits)
        found.verdicts.append(verdict)
        if verdict.tasks != tasks:
            found.changes.append(TaskChange(at_s, tasks, verdict.tasks, system.capacity(tasks)))
            tasks, stalled_until_s = verdict.tasks, at_s + system.stalls_s
    return found


def _taken(left: float, right: float, room: float) -> tuple[float, float]:
    share = min(1.0, room / (left + right)) if left + right else 0.0
    return left * (1 - share), right * (1 - share)
