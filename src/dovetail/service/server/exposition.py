"""All applications of the service as Prometheus metrics: what its rules and its dashboard need. What a join
measures in detail, its run serves itself (`dovetail run --metrics-port`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dovetail.service.keeping.reconcile import Condition
from dovetail.service.server.overview import Overview

PROMETHEUS_TYPE = CONTENT_TYPE_LATEST
_FIGURES = {
    "rows_per_s": ("rows_per_second", "Input rows per second over the last minute, all streams together."),
    "match_rate": ("match_ratio", "Share of closed left rows that have a partner; the lowest of its joins."),
    "backlog_rows": ("backlog_rows", "Rows that its joins have not read yet."),
    "index_bytes": ("index_bytes", "Size of the indexes of its joins."),
    "time_us": ("time_seconds", "Stream time since 1970; the earliest of its streams."),
    "behind_us": ("delay_seconds", "Stream time behind the clock; the latest of its streams."),
}
_COUNTS = {
    "rows": ("rows", "Rows that its streams have had."),
    "late": ("late", "Rows that came behind their stream's time."),
    "bad": ("bad", "Rows that cannot be read, or have no usable key or time."),
}
_STREAM = {
    "backlog_rows": "Rows that the join has not read yet.",
    "rows_per_s": "Rows per second over the last minute.",
}


@dataclass(frozen=True)
class Watch:
    """What the daemon says of itself, and of applications beyond their figures. `lost`: those whose input the
    log no longer has. `stuck`: those that the scaler cannot give more."""

    looked_at_s: float = 0.0
    memory_bytes: int = 0
    lost: Collection[str] = ()
    stuck: Collection[str] = ()


class _Found(Collector):
    def __init__(self, found: Iterable[Overview], watch: Watch) -> None:
        self._found, self._watch = list(found), watch

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "dovetail_service_looked_seconds",
            "When the service last looked at its applications, since 1970.",
            self._watch.looked_at_s,
        )
        yield GaugeMetricFamily(
            "dovetail_service_host_memory_bytes", "Memory of the host.", self._watch.memory_bytes
        )
        state = GaugeMetricFamily(
            "dovetail_application_state", "1 for the state that it is in.", labels=["application", "state"]
        )
        for one in self._found:
            for condition in (*get_args(Condition), "pending", "deleted"):
                state.add_metric([one.name, condition], float(one.condition == condition))
        yield state
        yield from self._briefs()
        yield self._flags("log_lost", "1 if the log no longer has what it still needs.", self._watch.lost)
        yield self._flags("scaler_stuck", "1 if the scaler cannot give it more.", self._watch.stuck)
        yield from self._joins()

    def _briefs(self) -> Iterator[Metric]:
        briefs = {one.name: one.brief() for one in self._found}
        for kind, table in ((GaugeMetricFamily, _FIGURES), (CounterMetricFamily, _COUNTS)):
            for field, (name, words) in table.items():
                family = kind(f"dovetail_application_{name}", words, labels=["application"])
                for application, brief in briefs.items():
                    if brief[field] is not None:
                        scale = 1e6 if field.endswith("_us") else 1.0
                        family.add_metric([application], brief[field] / scale)
                yield family

    def _flags(self, name: str, words: str, named: Collection[str]) -> Metric:
        family = GaugeMetricFamily(f"dovetail_application_{name}", words, labels=["application"])
        for one in self._found:
            family.add_metric([one.name], float(one.name in named))
        return family

    def _joins(self) -> Iterator[Metric]:
        """For applications that have measured themselves lately: old figures are no alarm of now."""
        joins = [
            (one.name, join)
            for one in self._found
            if one.fresh
            for join in (one.figures or {}).get("joins", [])
        ]
        labels = ["application", "join"]
        tasks = GaugeMetricFamily("dovetail_application_join_tasks", "Tasks of the last step.", labels=labels)
        replays = GaugeMetricFamily(
            "dovetail_application_join_replaying", "1 while a join rebuilds its window.", labels=labels
        )
        for application, join in joins:
            tasks.add_metric([application, join["name"]], float(join.get("tasks") or 1))
            replays.add_metric([application, join["name"]], float(join.get("replay") is not None))
        yield from (tasks, replays)
        streams = [
            ([application, join["name"], side], join[side])
            for application, join in joins
            for side in ("left", "right")
            if isinstance(join.get(side), dict)
        ]
        yield from _stream_families(streams)


def _stream_families(streams: list[tuple[list[str], dict[str, Any]]]) -> Iterator[Metric]:
    labels = ["application", "join", "side"]
    for field, words in _STREAM.items():
        name = field.replace("_per_s", "_per_second")
        family = GaugeMetricFamily(f"dovetail_application_stream_{name}", words, labels=labels)
        for values, stream in streams:
            family.add_metric(values, float(stream.get(field) or 0))
        yield family
    rows = CounterMetricFamily("dovetail_application_stream_rows", "Rows that it has had.", labels=labels)
    keys = GaugeMetricFamily(
        "dovetail_application_stream_key_ratio",
        "Share of recent rows that have its most frequent key.",
        labels=labels,
    )
    for values, stream in streams:
        rows.add_metric(values, float(stream.get("rows") or 0))
        keys.add_metric(values, max((key["share"] for key in stream.get("frequent") or []), default=0.0))
    yield from (rows, keys)


def service_metrics(found: Iterable[Overview], watch: Watch | None = None) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Found(found, watch or Watch()))
    return generate_latest(registry)
