"""The service on a home on Kafka: no disk is shared. What is wanted and what is seen are records, rows come
in over HTTP, and applications go on when the service, and then their pool, is killed."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

from dovetail.service.keeping.processes import processes_of
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import until
from laws.effort import in_full
from spark.test_service import CHANGED, QUERY, Service, cleared, revisions


@in_full
def test_rows_come_out_through_kills_and_a_change(broker: Broker, tmp_path: Path) -> None:
    service = Service(f"kafka://{broker.address}/served-{uuid.uuid4().hex[:8]}", tmp_path / "serve.log")
    with cleared(service):
        service.start()
        service.send()
        service.call("PUT", "/api/v1/applications/clicks", {"text": QUERY})
        until(lambda: service.campaigns() == ["summer 0"], "the first row comes out")
        (process,) = processes_of(service.home, "clicks")

        service.kill()
        assert process.alive, "an application goes on without the service"
        service.start()
        until(lambda: service.condition() == "running", "the next service finds it")
        assert processes_of(service.home, "clicks") == [process]
        service.call("PUT", "/api/v1/applications/clicks", {"text": CHANGED})
        until(lambda: revisions(service) == [2] and service.condition() == "running", "the change takes over")
        service.send()
        expected = ["SUMMER 1", "summer 0"]
        until(lambda: service.campaigns() == expected, "the new query puts out what comes now")

        (process,) = processes_of(service.home, "clicks")
        os.killpg(process.pid, signal.SIGKILL)
        service.send()
        expected = ["SUMMER 1", "SUMMER 2", "summer 0"]
        until(lambda: service.campaigns() == expected, "another process has gone on")
        service.call("POST", "/api/v1/applications/clicks/stop")
        until(lambda: service.condition() == "stopped", "it has stopped")
        assert processes_of(service.home, "clicks") == []
