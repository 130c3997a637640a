"""An application's measures as Prometheus metrics: one table that the exporter and the reference page use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dovetail.service.metrics import Measured

_WINDOWS_ONLY = "windows"
"""A total that only joins within windows have; others start at 0."""


class _Row(NamedTuple):
    """One metric: the attribute of a measure it is read from (`totals.x`: a total), and whether it is a
    counter. Microseconds become seconds. A metric without a value is left out."""

    name: str
    attribute: str
    counts: bool
    help: str

    def value(self, found: Any) -> float | None:
        holder, _, total = self.attribute.partition(".")
        value: float | None = getattr(found, holder)
        if total:
            value = found.totals.get(total, None if total == _WINDOWS_ONLY else 0)
        return value / 1e6 if value is not None and holder.endswith("_us") else value


class _Series(NamedTuple):
    """One metric with labels of its own. A sample is the values of the labels, and a number."""

    name: str
    help: str
    counts: bool
    labels: tuple[str, ...]
    samples: Callable[[Measured], Iterator[tuple[list[str], float]]]


STREAM: tuple[_Row, ...] = (
    _Row("rows", "rows", True, "Rows that the slicer has written."),
    _Row("rows_per_second", "rows_per_s", False, "Rows per second over the last minute."),
    _Row("backlog_rows", "backlog_rows", False, "Rows that the join has not read yet."),
    _Row("backlog_seconds", "backlog_us", False, "Event time of the backlog."),
    _Row("unsliced_files", "unsliced_files", False, "Input files that the slicer has not read yet."),
    _Row("unsliced_bytes", "unsliced_bytes", False, "Size of these files."),
    _Row("unsliced_rows", "unsliced_rows", False, "Rows of an input category or topic not sliced yet."),
    _Row("source_newest_seconds", "source_newest_us", False, "When the source last grew, since 1970."),
    _Row("time_seconds", "time_us", False, "Stream time, since 1970."),
    _Row("delay_seconds", "behind_us", False, "Stream time behind the clock."),
    _Row("unconfirmed_rows", "held_back", False, "Recent rows too far ahead of the others to move time."),
    _Row("paused_ratio", "paused_share", False, "Share of the time spent waiting for the other stream."),
    _Row("late_rows", "late", True, "Rows that arrived behind their stream's time or after their window."),
    _Row("null_key_rows", "null_keys", True, "Rows whose key is null."),
    _Row("invalid_rows", "invalid", True, "Rows without a valid event time."),
    _Row("capped_rows", "capped", True, "Rows dropped by the cap on rows per key."),
    _Row("held_rows", "held_rows", False, "Open left rows, or retained right rows."),
    _Row("log_bytes", "log_bytes", False, "Bytes of the log that the join needs, including `history`."),
    _Row("estimate_window", "window", False, "Number of observations behind the estimate of stream time."),
    _Row("estimate_accuracy_ratio", "accuracy", False, "Share of rows at or above the estimate."),
)
JOIN: tuple[_Row, ...] = (
    _Row("steps", "step", True, "Planned steps."),
    _Row("matches", "totals.pairs", True, "Emitted pairs."),
    _Row("left_alone_rows", "totals.left_alone", True, "Left rows emitted without a partner."),
    _Row("right_alone_rows", "totals.right_alone", True, "Right rows emitted without a partner."),
    _Row("missed_matches", "totals.missed", True, "Pairs lost to lateness, estimated."),
    _Row("match_ratio", "match_rate", False, "Share of closed left rows that have a partner."),
    _Row("planning_ratio", "planning_share", False, "Share of the time between steps spent on planning."),
    _Row("tasks", "tasks", False, "Tasks of the last step."),
    _Row("tasks_asked", "tasks_asked", False, "Requested tasks; left out when the number of cores decides."),
    _Row("windows", "totals.windows", True, "Windows joined when they closed."),
    _Row("index_bytes", "totals.index_bytes", False, "Size of the join's index."),
)
AGGREGATE: tuple[_Row, ...] = (
    _Row("rows", "rows", True, "Rows that were written to be aggregated."),
    _Row("open_rows", "open_rows", False, "Rows in windows that are still open, about."),
    _Row("late_rows", "late", True, "Rows that came after their window had closed, for each such window."),
    _Row("invalid_rows", "invalid", True, "Rows without a valid event time."),
    _Row("results", "results", True, "Rows of the result."),
    _Row("time_seconds", "time_us", False, "Stream time, since 1970."),
    _Row("delay_seconds", "behind_us", False, "Stream time behind the clock."),
)


def _versions(found: Measured) -> Iterator[tuple[list[str], float]]:
    if found.version is not None:
        yield [str(found.version.number)], 1


def _key_shares(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        for stream in join.measure.streams:
            for key in stream.frequent:
                yield [join.measure.name, stream.side, ", ".join(key.key)], key.share


def _source_states(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        for stream in join.measure.streams:
            if stream.source is not None:
                yield [join.measure.name, stream.side, stream.source.state], 1


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


def _untaken(found: Measured) -> Iterator[tuple[list[str], float]]:
    for intake in found.intakes:
        if intake.unsliced_rows is not None:
            yield [intake.table], intake.unsliced_rows


def _unreachable(found: Measured) -> Iterator[tuple[list[str], float]]:
    for intake in found.intakes:
        yield [intake.table], intake.source.trouble is not None


def _intake_states(found: Measured) -> Iterator[tuple[list[str], float]]:
    for intake in found.intakes:
        yield [intake.table, intake.source.state], 1


def _algorithms(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        for algorithm, steps in join.algorithms.items():
            yield [join.measure.name, algorithm], steps


def _emits(found: Measured) -> Iterator[tuple[list[str], float]]:
    for join in found.joins:
        if join.emit_because is not None:
            emit, _, because = join.emit_because.partition(": ")
            yield [join.measure.name, emit, because], 1


STREAM_LABELS, JOIN_LABELS, AGGREGATE_LABELS = ("join", "side"), ("join",), ("table",)
OTHERS: tuple[_Series, ...] = (
    _Series("version_info", "1 for the version of the query that runs.", False, ("version",), _versions),
    _Series(
        "stream_key_ratio",
        "Share of recent rows that have a frequent key.",
        False,
        (*STREAM_LABELS, "key"),
        _key_shares,
    ),
    _Series(
        "stream_source",
        "1 for what the slicer last said: `starting`, `behind`, `waiting`, `empty`, `stopped`; or `silent`.",
        False,
        (*STREAM_LABELS, "state"),
        _source_states,
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
    _Series(
        "input_unsliced_rows",
        "Rows of a topic or of a table outside that are not in the log yet: consumer lag.",
        False,
        ("table",),
        _untaken,
    ),
    _Series(
        "input_unreachable",
        "1 while a topic or a table outside cannot be read, 0 while it can.",
        False,
        ("table",),
        _unreachable,
    ),
    _Series(
        "input_source",
        "1 for what the thread that reads a topic or a table outside last said, as `stream_source`.",
        False,
        ("table", "state"),
        _intake_states,
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
    for row in AGGREGATE:
        family = _family(f"aggregate_{row.name}", row, AGGREGATE_LABELS)
        for aggregate in found.aggregates:
            _add(family, [found.application, aggregate.name], row.value(aggregate))
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
    aggregate = [_line(f"aggregate_{row.name}", row) for row in AGGREGATE]
    lines += _section("Of each aggregate", f"Label: {_code(AGGREGATE_LABELS)}.", aggregate)
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
