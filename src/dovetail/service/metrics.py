"""How an application is doing: the measures of its joins and aggregates, and advice from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dovetail.changes.versions import read_version
from dovetail.engine.measure import JoinMeasure, measure
from dovetail.engine.step_log import StepLog
from dovetail.engine.window_measure import WindowMeasure, measure_windows
from dovetail.errors import DovetailError
from dovetail.joins.windowed.advance import JOINED_BY
from dovetail.log.category import Category, list_categories
from dovetail.model.join_kind import JoinKind
from dovetail.model.sketch import EventTimeSketch
from dovetail.model.window_join import WindowJoin
from dovetail.plan.application_file import read_current
from dovetail.plan.build import written_category
from dovetail.plan.configure import join_config, window_config
from dovetail.plan.joins.kind_words import kind_words
from dovetail.plan.physical import JoinStage, Plan, WindowStage, rejects_category, vanished_category
from dovetail.service.advice import Advice, Bound, Distances, advise, distances
from dovetail.service.setting_advice import SettingAdvice, advise_settings
from dovetail.service.topics import IntakeMeasure, intakes, with_topics
from dovetail.service.words.status_words import age_words, waiting_words
from dovetail.slicing.placement import TIME

RECENT_COMMITS = 256


@dataclass(frozen=True)
class MeasuredJoin:
    """A join's measures, and advice from them."""

    measure: JoinMeasure
    join_kind: JoinKind
    distances: dict[Bound, Distances] | None
    advice: tuple[Advice | SettingAdvice, ...]
    stepped_at_us: int | None = None  # when its last step was planned
    newest_commit_us: tuple[int | None, int | None] = (None, None)  # when left and right last grew

    @property
    def window(self) -> WindowJoin | None:
        """For a join within windows."""
        return self.join_kind.windows

    @property
    def age(self) -> str:
        """How old its figures are."""
        return age_words(self)

    @property
    def waiting(self) -> str:
        """What it waits for, if it runs."""
        return waiting_words(self)

    @property
    def emit_because(self) -> str | None:
        """When a window join emits its pairs, and why."""
        return kind_words(self.join_kind).emits

    @property
    def algorithms(self) -> dict[str, int]:
        """Task steps that joined windows, by algorithm."""
        named = {name: count for name, count in self.measure.totals.items() if name.startswith(JOINED_BY)}
        return {name.removeprefix(JOINED_BY): count for name, count in sorted(named.items())}

    def to_json(self) -> dict[str, Any]:
        made = {**asdict(self.measure), "match_rate": self.measure.match_rate}
        made["totals"] = {
            name: count
            for name, count in self.measure.totals.items()
            if not name.startswith(("offset:", "capped:"))
        }
        made["match_distance_us"] = (
            {bound: asdict(found) for bound, found in self.distances.items()} if self.distances else None
        )
        if self.window is not None:
            said = {"emit_because": self.emit_because, "algorithms": self.algorithms}
            made["within"] = {**self.window.to_json(), **said}
        made |= {"stepped_at_us": self.stepped_at_us, "waiting": self.waiting}
        made["advice"] = [{**asdict(advice), "words": advice.words} for advice in self.advice]
        return made


@dataclass(frozen=True)
class MeasuredVersion:
    """The version that an application runs. `since_us`: when it was made; `from_step`: by join, its first
    step, for joins that ran before. None and empty where the file of the version cannot be read."""

    number: int
    since_us: int | None = None
    from_step: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A whole application at one moment. By input table: `rejected`, rows that could not be read, and
    `vanished`, files that were gone before they were read. `running`: None where it is not known. `intakes`:
    what topics and tables outside have that is not in the log yet."""

    application: str
    measured_at_us: int
    joins: tuple[MeasuredJoin, ...]
    rejected: dict[str, int]
    vanished: dict[str, int]
    running: bool | None = None
    aggregates: tuple[WindowMeasure, ...] = ()
    version: MeasuredVersion | None = None
    intakes: tuple[IntakeMeasure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "application": self.application,
            "running": self.running,
            "version": None if self.version is None else asdict(self.version),
            "measured_at_us": self.measured_at_us,
            "joins": [join.to_json() for join in self.joins],
            "aggregates": [asdict(aggregate) for aggregate in self.aggregates],
            "intakes": [asdict(intake) for intake in self.intakes],
            "rejected": self.rejected,
            "vanished": self.vanished,
        }


def measured(home: str, application: str) -> Measured:
    """For an application that was started in this home."""
    from dovetail.service.applications import is_running

    found = measured_plan(home, *read_current(home, application))
    return replace(found, running=is_running(home, application))


def measured_plan(home: str, plan: Plan, version: int) -> Measured:
    now_us = time.time_ns() // 1000
    joins = tuple(_join(home, plan, stage, now_us) for stage in plan.joins)
    rejected, vanished = (_kept_aside(home, plan, named) for named in (rejects_category, vanished_category))
    aggregates = tuple(_aggregate(home, plan, stage, now_us) for stage in plan.windows)
    made = _version(home, plan.application, version)
    return Measured(
        plan.application,
        now_us,
        joins,
        rejected,
        vanished,
        aggregates=aggregates,
        version=made,
        intakes=intakes(plan, home, now_us),
    )


def _version(home: str, application: str, number: int) -> MeasuredVersion:
    try:
        found = read_version(home, application, number)
    except DovetailError:  # damaged, or from before versions were kept: the application runs anyway
        return MeasuredVersion(number)
    return MeasuredVersion(
        number, found.made_at_us, {join: step + 1 for join, step in found.took_over.items()}
    )


def _aggregate(home: str, plan: Plan, stage: WindowStage, now_us: int) -> WindowMeasure:
    output = written_category(stage)
    assert output is not None
    return measure_windows(window_config(plan, stage, home, tasks=1), stage.table, output, now_us)


def _join(home: str, plan: Plan, stage: JoinStage, now_us: int) -> MeasuredJoin:
    config = join_config(plan, stage, home, tasks=1)
    found = with_topics(measure(config, now_us), plan, home, now_us)
    sketches = _recent_sketches(home, stage.left), _recent_sketches(home, stage.right)
    advice: tuple[Advice | SettingAdvice, ...] = (
        *advise(stage.spec, stage.settings.pacing is not None, found),
        *advise_settings(config, found, sketches),
    )
    records = StepLog(home, config.state_path).recent(1)
    return MeasuredJoin(
        found,
        stage.join_kind,
        distances(stage.spec, found),
        advice,
        records[-1].planned_at_us if records else None,
        (_newest_commit_us(home, found.left.category), _newest_commit_us(home, found.right.category)),
    )


def _recent_sketches(home: str, name: str) -> list[EventTimeSketch]:
    category = Category.open(home, name)
    stop = category.next_commit()
    commits = category.commits(max(category.first_commit(), stop - RECENT_COMMITS), stop)
    if commits and commits[-1].promised(TIME) is not None:
        return []  # the writer's promise says how late rows may be
    return [commit.sketch for commit in commits]


def _newest_commit_us(home: str, name: str) -> int | None:
    category = Category.open(home, name)
    stop = category.next_commit()
    return category.commit(stop - 1).written_at_us if stop > category.first_commit() else None


def _kept_aside(home: str, plan: Plan, named: Callable[[str, str], str]) -> dict[str, int]:
    known = set(list_categories(home))
    names = {
        table.name: named(plan.application, table.name) for slicer in plan.slicers for table in slicer.inputs
    }
    return {table: _rows(home, name) for table, name in names.items() if name in known}


def _rows(home: str, name: str) -> int:
    category = Category.open(home, name)
    stop = category.next_commit()
    return category.commit(stop - 1).next_row if stop > category.first_commit() else 0
