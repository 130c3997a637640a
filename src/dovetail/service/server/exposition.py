"""All applications of the service as Prometheus metrics. What a join measures in detail, its run serves
itself (`dovetail run --metrics-port`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
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
}


class _Found(Collector):
    def __init__(self, found: Iterable[Overview]) -> None:
        self._found = list(found)

    def collect(self) -> Iterator[Metric]:
        state = GaugeMetricFamily(
            "dovetail_application_state", "1 for the state that it is in.", labels=["application", "state"]
        )
        for one in self._found:
            for condition in (*get_args(Condition), "pending", "deleted"):
                state.add_metric([one.name, condition], float(one.condition == condition))
        yield state
        for field, (name, words) in _FIGURES.items():
            family = GaugeMetricFamily(f"dovetail_application_{name}", words, labels=["application"])
            for one in self._found:
                value = one.brief()[field]
                if value is not None:
                    family.add_metric([one.name], float(value))
            yield family


def service_metrics(found: Iterable[Overview]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Found(found))
    return generate_latest(registry)
