"""Metrics of a running application: written to files beside its state, and served to Prometheus."""

from __future__ import annotations

import json
import logging
import threading
from types import TracebackType
from typing import Any
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dovetail.errors import DovetailError, SettingError
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import Plan
from dovetail.service.metrics import Measured, measured_plan
from dovetail.service.prometheus import families, to_prometheus

EVERY_S = 5.0
JSON_FILE, PROMETHEUS_FILE = "metrics.json", "metrics.prom"


class Reporter:
    """Measures every few seconds in its own thread, and once more at the end, unless `is_followed`: the run
    that takes over measures soon, and should not wait."""

    def __init__(self, home: str, plan: Plan, version: int, port: int | None = None) -> None:
        self.last: Measured | None = None
        self.is_followed = False
        self._home = home
        self._plan, self._version = plan, version
        self._port = port
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dovetail-metrics", daemon=True)
        self._server: WSGIServer | None = None

    def __enter__(self) -> Reporter:
        if self._port is not None:
            self._server = _serve(self._port, self)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._report()
        if not self.is_followed:
            self._report()

    def _report(self) -> None:
        """A failed measurement is repeated next time: a run does not end because of its metrics."""
        try:
            found = measured_plan(self._home, self._plan, self._version)
            folder = f"apps/{self._plan.application}"
            store = open_store(self._home)
            store.replace(f"{folder}/{JSON_FILE}", json.dumps(found.to_json(), indent=1).encode())
            store.replace(f"{folder}/{PROMETHEUS_FILE}", to_prometheus(found))
            self.last = found
        except (DovetailError, OSError, ValueError) as error:
            logging.getLogger(__name__).debug("no metrics this time: %s", error)


class _Latest(Collector):
    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def collect(self) -> list[Metric]:
        found = self._reporter.last
        return [] if found is None else list(families(found))


def _serve(port: int, reporter: Reporter) -> Any:
    registry = CollectorRegistry()
    registry.register(_Latest(reporter))
    try:
        server, _ = start_http_server(port, "127.0.0.1", registry)
    except OSError as error:
        raise SettingError(
            f"metrics cannot be served: {error.strerror or error}",
            where=f"port {port}",
            expected="a port that is free",
            hint="choose another with --metrics-port, or leave it out: the metrics files are written anyway",
        ) from error
    return server
