"""The scaler at work: once a minute it decides about every join of the service, acts or advises, and says so.

The figures it decides by are those that the daemon remembers, so a decision can be repeated later: `replay`
asks the same function about every moment of yesterday.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from dovetail.errors import DovetailError
from dovetail.service.scaler.decide import DAY_S, DOWN_AFTER_S, decide
from dovetail.service.scaler.decisions import Decided, changes_of, record
from dovetail.service.scaler.figures import samples_of
from dovetail.service.scaler.sample import LoadSample, Mode, TaskChange, TaskLimits, Verdict
from dovetail.service.scaler.slicers import decide_slicers
from dovetail.service.scaling import joins_of, scale_application

EVERY_S = 60.0
JOINS = "joins"
"""Among the figures that are remembered: a sample of each join."""
History = Sequence[tuple[float, Mapping[str, Any]]]


def remembered(figures: dict[str, Any] | None, at_s: float) -> dict[str, Any]:
    """What to remember of an application for the scaler."""
    return {name: asdict(sample) for name, sample in samples_of(figures, at_s).items()}


class Scaler:
    """`stuck`: applications that need more tasks than they can have, and why."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.stuck: dict[str, str] = {}
        self._said: dict[tuple[str, str], str] = {}

    def look(
        self,
        application: str,
        mode: Mode,
        pooled: bool,
        most: tuple[int, str],
        history: History,
        now_s: float,
    ) -> list[Decided]:
        """Decide about the joins of an application. Gives what is new."""
        self.stuck.pop(application, None)
        found = []
        for name, samples in histories(history).items():
            limits = self._limits(application, name, most)
            changes = changes_of(self.home, application, name, now_s - 2 * DAY_S, now_s)
            verdict = decide(samples, changes, limits)
            if verdict.stuck:
                self.stuck[application] = verdict.reason
            found += self._decided(application, name, mode, samples, verdict, now_s)
            slicers = decide_slicers(samples, pooled)
            if slicers.direction != "hold" or slicers.stuck:
                found += self._decided(application, f"slicers of {name}", "advise", samples, slicers, now_s)
        return found

    def _decided(
        self,
        application: str,
        join: str,
        mode: Mode,
        samples: list[LoadSample],
        verdict: Verdict,
        now_s: float,
    ) -> list[Decided]:
        """Act, and record what is new: a change, or that one is needed and not possible."""
        news = verdict.direction if verdict.direction != "hold" else "stuck" if verdict.stuck else "enough"
        before, self._said[application, join] = self._said.get((application, join), "enough"), news
        now = samples[-1]
        if news == "enough" or (news == before and (mode != "act" or news == "stuck")):
            return []
        capacity = now.capacity * now.tasks if now.capacity is not None else None
        decided = Decided(round(now_s * 1e6), application, join, mode, now.tasks, verdict, capacity)
        if decided.made:
            scale_application(self.home, application, str(verdict.tasks), join)
        record(self.home, decided)
        return [decided]

    def _limits(self, application: str, join: str, most: tuple[int, str]) -> TaskLimits:
        try:
            (config,) = joins_of(self.home, application, join)
        except (DovetailError, ValueError):  # it has just been changed
            return TaskLimits(1, *most)
        if config.most_tasks < most[0]:
            return TaskLimits(1, config.most_tasks, "its buckets")
        return TaskLimits(1, *most)


def histories(history: History) -> dict[str, list[LoadSample]]:
    """Samples by join, from figures that were remembered, in the order of time."""
    found: dict[str, list[LoadSample]] = {}
    for _, figures in history:
        for name, said in (figures.get(JOINS) or {}).items():
            found.setdefault(name, []).append(LoadSample.from_json(said))
    return found


def replay(samples: Sequence[LoadSample], limits: TaskLimits) -> Iterator[tuple[float, Verdict]]:
    """What would have been decided at every minute, had each decision been obeyed. What a task takes is
    assumed to stay what it was."""
    changes: list[TaskChange] = []
    tasks, due_s = None, 0.0
    seen: list[LoadSample] = []
    for sample in samples:
        tasks = sample.tasks if tasks is None else tasks
        cost = None if sample.row_us is None else sample.row_us * sample.tasks / tasks
        seen.append(replace(sample, tasks=tasks, row_us=cost))
        if sample.at_s < due_s:
            continue
        due_s = sample.at_s + EVERY_S
        seen = [one for one in seen if one.at_s > sample.at_s - DOWN_AFTER_S - 2 * EVERY_S]
        verdict = decide(seen, changes, limits)
        if verdict.direction != "hold":
            capacity = seen[-1].capacity
            whole = None if capacity is None else capacity * tasks
            changes.append(TaskChange(sample.at_s, tasks, verdict.tasks, whole))
            tasks = verdict.tasks
            yield sample.at_s, verdict
