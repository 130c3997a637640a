"""An application's measures as JSON and as Prometheus metrics, from one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dovetail.engine.measure import JoinMeasure, measure
from dovetail.engine.step_log import StepLog
from dovetail.joins.windowed.advance import JOINED_BY
from dovetail.log.category import Category, list_categories
from dovetail.model.join_kind import JoinKind, WindowedJoin
from dovetail.model.window_join import WindowJoin
from dovetail.plan.application_file import read_application
from dovetail.plan.configure import join_config
from dovetail.plan.joins.words import emit_words
from dovetail.plan.physical import JoinStage, Plan, rejects_category, vanished_category
from dovetail.service.advice import Advice, Bound, Distances, advise, distances
from dovetail.service.words.status_words import age_words, waiting_words


@dataclass(frozen=True)
class MeasuredJoin:
    """A join's measures, and advice from them."""

    measure: JoinMeasure
    join_kind: JoinKind
    distances: dict[Bound, Distances] | None
    advice: tuple[Advice, ...]
    stepped_at_us: int | None = None  # when its last step was planned
    newest_commit_us: tuple[int | None, int | None] = (None, None)  # when left and right last grew

    @property
    def window(self) -> WindowJoin | None:
        """Of a join within windows."""
        return self.join_kind.window if isinstance(self.join_kind, WindowedJoin) else None

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
        return emit_words(self.window, self.join_kind.how) if self.window else None

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
class Measured:
    """A whole application at one moment. By input table: `rejected`, rows that could not be read, and
    `vanished`, files that were gone before they were read. `running`: None where it is not known."""

    application: str
    measured_at_us: int
    joins: tuple[MeasuredJoin, ...]
    rejected: dict[str, int]
    vanished: dict[str, int]
    running: bool | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "application": self.application,
            "running": self.running,
            "measured_at_us": self.measured_at_us,
            "joins": [join.to_json() for join in self.joins],
            "rejected": self.rejected,
            "vanished": self.vanished,
        }


def measured(home: str, application: str) -> Measured:
    """Of an application that was started in this home."""
    from dovetail.service.applications import is_running

    plan = read_application(home, application)
    return replace(measured_plan(home, plan), running=is_running(home, application))


def measured_plan(home: str, plan: Plan) -> Measured:
    now_us = time.time_ns() // 1000
    joins = tuple(_join(home, plan, stage, now_us) for stage in plan.joins)
    rejected, vanished = (_kept_aside(home, plan, named) for named in (rejects_category, vanished_category))
    return Measured(plan.application, now_us, joins, rejected, vanished)


def _join(home: str, plan: Plan, stage: JoinStage, now_us: int) -> MeasuredJoin:
    config = join_config(plan, stage, home, tasks=1)
    found = measure(config, now_us)
    advice = tuple(advise(stage.spec, stage.settings.pacing is not None, found))
    records = StepLog(home, config.state_path).recent(1)
    return MeasuredJoin(
        found,
        stage.join_kind,
        distances(stage.spec, found),
        advice,
        records[-1].planned_at_us if records else None,
        (_newest_commit_us(home, found.left.category), _newest_commit_us(home, found.right.category)),
    )


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


class _Row(NamedTuple):
    """One metric. A `value` of None is left out."""

    name: str
    help: str
    counts: bool
    value: Callable[[Any], float | None]


class _Series(NamedTuple):
    """One metric with labels of its own. A sample is the values of the labels, and a number."""

    name: str
    help: str
    counts: bool
    labels: tuple[str, ...]
    samples: Callable[[Measured], Iterator[tuple[list[str], float]]]


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / 1e6


STREAM: tuple[_Row, ...] = (
    _Row("rows", "Rows that the slicer has written.", True, lambda s: s.rows),
    _Row("rows_per_second", "Rows per second over the last minute.", False, lambda s: s.rows_per_s),
    _Row("backlog_rows", "Rows that the join has not read yet.", False, lambda s: s.backlog_rows),
    _Row("backlog_seconds", "Event time of the backlog.", False, lambda s: _seconds(s.backlog_us)),
    _Row("time_seconds", "Stream time, since 1970.", False, lambda s: _seconds(s.time_us)),
    _Row("delay_seconds", "Stream time behind the clock.", False, lambda s: _seconds(s.behind_us)),
    _Row(
        "paused_ratio",
        "Share of the time spent waiting for the other stream.",
        False,
        lambda s: s.paused_share,
    ),
    _Row(
        "late_rows",
        "Rows that arrived behind their stream's time, or after one of their windows had closed.",
        True,
        lambda s: s.late,
    ),
    _Row("null_key_rows", "Rows whose key is null.", True, lambda s: s.null_keys),
    _Row("invalid_rows", "Rows without a valid event time.", True, lambda s: s.invalid),
    _Row("capped_rows", "Rows dropped by the cap on rows per key.", True, lambda s: s.capped),
    _Row("held_rows", "Open left rows, or retained right rows.", False, lambda s: s.held_rows),
    _Row(
        "log_bytes",
        "Bytes of the log that the join needs, including `history`.",
        False,
        lambda s: s.log_bytes,
    ),
    _Row(
        "estimate_window",
        "Number of observations behind the estimate of stream time.",
        False,
        lambda s: s.window,
    ),
    _Row("estimate_accuracy_ratio", "Share of rows at or above the estimate.", False, lambda s: s.accuracy),
)
JOIN: tuple[_Row, ...] = (
    _Row("steps", "Planned steps.", True, lambda j: j.step),
    _Row("matches", "Emitted pairs.", True, lambda j: j.totals.get("pairs", 0)),
    _Row(
        "left_alone_rows",
        "Left rows emitted without a partner.",
        True,
        lambda j: j.totals.get("left_alone", 0),
    ),
    _Row(
        "right_alone_rows",
        "Right rows emitted without a partner.",
        True,
        lambda j: j.totals.get("right_alone", 0),
    ),
    _Row("missed_matches", "Pairs lost to lateness, estimated.", True, lambda j: j.totals.get("missed", 0)),
    _Row("match_ratio", "Share of closed left rows that have a partner.", False, lambda j: j.match_rate),
    _Row(
        "planning_ratio",
        "Share of the time between steps spent on planning.",
        False,
        lambda j: j.planning_share,
    ),
    _Row("tasks", "Tasks of the last step.", False, lambda j: j.tasks),
    _Row(
        "tasks_asked",
        "Requested tasks; left out when the number of cores decides.",
        False,
        lambda j: j.tasks_asked,
    ),
    _Row("windows", "Windows joined when they closed.", True, lambda j: j.totals.get("windows")),
    _Row("index_bytes", "Size of the join's index.", False, lambda j: j.totals.get("index_bytes", 0)),
)


def _key_shares(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        for stream in join.measure.streams:
            for key in stream.frequent:
                yield [join.measure.name, stream.side, ", ".join(key.key)], key.share


def _distances(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        for bound, at in (join.distances or {}).items():
            for quantile, us in (("0.01", at.p01), ("0.5", at.p50), ("0.99", at.p99)):
                yield [join.measure.name, bound, quantile], us / 1e6


def _rejects(found: Measured) -> Iterator[tuple[list[str], float]]:
    for table, rows in found.rejected.items():
        yield [table], rows


def _vanished(found: Measured) -> Iterator[tuple[list[str], float]]:
    for table, files in found.vanished.items():
        yield [table], files


def _algorithms(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        for algorithm, steps in join.algorithms.items():
            yield [join.measure.name, algorithm], steps


def _emits(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        if join.emit_because is not None:
            emit, _, because = join.emit_because.partition(": ")
            yield [join.measure.name, emit, because], 1


STREAM_LABELS, JOIN_LABELS = ("join", "side"), ("join",)
OTHERS: tuple[_Series, ...] = (
    _Series(
        "stream_key_ratio",
        "Share of recent rows that have a frequent key.",
        False,
        (*STREAM_LABELS, "key"),
        _key_shares,
    ),
    _Series(
        "join_match_distance_seconds",
        "Distance of matches from a bound of the window.",
        False,
        (*JOIN_LABELS, "bound", "quantile"),
        _distances,
    ),
    _Series(
        "join_window_steps",
        "Task steps that joined windows, by algorithm.",
        True,
        (*JOIN_LABELS, "algorithm"),
        _algorithms,
    ),
    _Series(
        "join_emit",
        "1 for the way a window join emits its pairs.",
        False,
        (*JOIN_LABELS, "emit", "because"),
        _emits,
    ),
    _Series("input_rejected_rows", "Rows that could not be read.", True, ("table",), _rejects),
    _Series(
        "input_vanished_files", "Files that were gone before they were read.", True, ("table",), _vanished
    ),
)


def to_prometheus(found: Measured) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Once(list(families(found))))
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def families(found: Measured) -> Iterator[Metric]:
    joins = [join.measure for join in found.joins]
    for row in STREAM:
        family = _family(f"stream_{row.name}", row, STREAM_LABELS)
        for join in joins:
            for stream in join.streams:
                _add(family, [found.application, join.name, stream.side], row.value(stream))
        yield family
    for row in JOIN:
        family = _family(f"join_{row.name}", row, JOIN_LABELS)
        for join in joins:
            _add(family, [found.application, join.name], row.value(join))
        yield family
    for series in OTHERS:
        family = _family(series.name, series, series.labels)
        for labels, value in series.samples(found):
            _add(family, [found.application, *labels], value)
        yield family


def _family(
    name: str, row: _Row | _Series, labels: tuple[str, ...]
) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if row.counts else GaugeMetricFamily
    return kind(f"dovetail_{name}", row.help, labels=["application", *labels])


def _add(family: CounterMetricFamily | GaugeMetricFamily, labels: list[str], value: float | None) -> None:
    if value is not None:
        family.add_metric(labels, value)


def to_markdown() -> str:
    """The reference page."""
    lines = [
        "# Metrics",
        "",
        "Written by `dovetail status --markdown`; do not edit by hand.",
        "Every metric also has the label `application`. A metric without a value yet is left out.",
    ]
    stream = [_line(f"stream_{row.name}", row) for row in STREAM]
    join = [_line(f"join_{row.name}", row) for row in JOIN]
    lines += _section("Of each stream of a join", f"Labels: {_code(STREAM_LABELS)} (left, right).", stream)
    lines += _section("Of each join", f"Label: {_code(JOIN_LABELS)}.", join)
    others = [f"{_line(series.name, series)} {_code(series.labels)} |" for series in OTHERS]
    lines += _section("With labels of their own", "", others, "labels |")
    return "\n".join(lines) + "\n"


def _section(title: str, words: str, rows: list[str], last: str = "") -> list[str]:
    head = f"| metric | kind | what it is | {last}".rstrip()
    rule = "|---" * (head.count("|") - 1) + "|"
    return ["", f"## {title}", "", *([words, ""] if words else []), head, rule, *rows]


def _line(name: str, row: _Row | _Series) -> str:
    shown, kind = (f"{name}_total", "counter") if row.counts else (name, "gauge")
    return f"| `dovetail_{shown}` | {kind} | {row.help} |"


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
