"""The service as people use it: from an empty home over HTTP to joined rows, through a kill of the daemon and
of the pool, a change of the query in place, a move out of the pool and back, and a stop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dovetail.service.access.tokens import new_token
from dovetail.service.committed_files import committed_files
from dovetail.service.keeping.processes import processes_of
from dovetail_dev.spark_cluster import until
from leftovers import end_all

QUERY = """CREATE APPLICATION clicks;
CREATE INPUT TABLE c (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("clicks");
CREATE INPUT TABLE i (eventtime TIMESTAMP, ad BIGINT, campaign STRING) FROM SCRIBE("impressions");
CREATE VIEW clicked AS SELECT c.eventtime AS eventtime, c.ad AS ad, i.campaign AS campaign
FROM c JOIN i ON c.ad = i.ad
  AND i.eventtime BETWEEN c.eventtime - INTERVAL '10 minutes' AND c.eventtime;
CREATE TABLE result AS SELECT eventtime, ad, campaign FROM clicked STORAGE SCRIBE (category = "clicked");
"""
CHANGED = QUERY.replace(
    "SELECT eventtime, ad, campaign FROM", "SELECT eventtime, ad, UPPER(campaign) AS campaign FROM"
)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Service:
    """A home with a daemon that can be killed and started again."""

    def __init__(self, home: str, log: Path) -> None:
        self.home, self.log = home, log
        self.token = new_token(self.home, "ada", "admin", 1)
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.sent = 0

    def start(self) -> None:
        self.log.write_bytes(b"")
        command = [
            sys.executable,
            "-m",
            "dovetail.service.cli.main",
            "serve",
            "--home",
            self.home,
            "--port",
            "0",
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until(lambda: "login?link=" in self.log.read_text(), "the service listens")
        found = re.search(r"(http://\S+)/login", self.log.read_text())
        assert found is not None
        self.address = found[1]

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def send(self, clicks: str = "clicks") -> None:
        """An impression and a click on it, a minute later; and both of another ad, which let time pass."""
        ad, at = self.sent, START + timedelta(minutes=self.sent)
        view = {"eventtime": at.isoformat(), "ad": ad, "campaign": f"summer {ad}"}
        click = {"eventtime": (at + timedelta(minutes=1)).isoformat(), "ad": ad}
        for category, row in (("impressions", view), (clicks, click)):
            self.call("POST", f"/api/v1/log/{category}", json.dumps(row).encode(), "application/x-ndjson")
        self.sent += 1

    def campaigns(self) -> list[str]:
        try:
            rows = self.call("GET", "/api/v1/applications/clicks/rows?limit=100")["rows_shown"]
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return []
        return sorted(row[2] for row in rows)

    def condition(self, name: str = "clicks") -> str:
        return str(self.call("GET", f"/api/v1/applications/{name}")["condition"])


def revisions(service: Service) -> list[int]:
    return [process.revision for process in processes_of(service.home, "clicks")]


@contextmanager
def cleared(service: Service) -> Iterator[None]:
    try:
        yield
    finally:
        if service.process is not None and service.process.poll() is None:
            service.kill()
        end_all(service.home)


BROKEN = QUERY.replace("CREATE APPLICATION clicks", "CREATE APPLICATION broken").replace(
    'STORAGE SCRIBE (category = "clicked")', 'STORAGE PARQUET (path = "{path}")'
)


def test_from_an_empty_home_to_rows_through_kills_changes_and_moves(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "home"), tmp_path / "serve.log")
    with cleared(service):
        service.start()
        service.send()
        service.call("PUT", "/api/v1/applications/clicks", {"text": QUERY})
        until(lambda: service.campaigns() == ["summer 0"], "the first row comes out")
        (process,) = processes_of(service.home, "clicks")
        assert process.pool == "pool-1", "small applications share a driver"

        out = tmp_path / "out"
        service.call("PUT", "/api/v1/applications/broken", {"text": BROKEN.format(path=out)})
        until(lambda: service.condition("broken") == "running", "another one runs in the same pool")
        assert processes_of(service.home, "broken")[0].pid == process.pid
        listed = out / "_spark_metadata"
        until(lambda: listed.is_dir() and committed_files(out), "its first row is out, and it writes no more")
        out.rename(tmp_path / "gone")
        out.write_text("a file where its folder was")
        service.send()
        until(lambda: service.condition("broken") in ("waiting", "crash loop"), "one has failed, alone")
        until(lambda: service.campaigns() == ["summer 0", "summer 1"], "the other goes on")
        assert processes_of(service.home, "clicks") == [process]
        service.call("POST", "/api/v1/applications/broken/stop")

        service.kill()
        assert process.alive, "an application goes on without the service"
        service.start()
        until(lambda: service.condition() == "running", "the next service finds it")
        assert processes_of(service.home, "clicks") == [process]
        service.send()
        expected = ["summer 0", "summer 1", "summer 2"]
        until(lambda: service.campaigns() == expected, "it has gone on")

        service.call("PUT", "/api/v1/applications/clicks", {"text": CHANGED})
        until(lambda: revisions(service) == [2] and service.condition() == "running", "the change takes over")
        assert processes_of(service.home, "clicks")[0].pid == process.pid, "in the same process"
        for number, move in enumerate(({"where": "own", "master": "local[1]"}, {"where": "pool"})):
            service.send()
            expected = sorted([*expected, f"SUMMER {3 + number}"])
            until(lambda: service.campaigns() == expected, "the new query puts out what comes now")  # noqa: B023
            service.call("POST", "/api/v1/applications/clicks/place", move)
            until(lambda: revisions(service) == [3 + number], "it has moved")  # noqa: B023
        (moved,) = processes_of(service.home, "clicks")
        assert moved.pool == "pool-1", "back where it was, or in the next one: an empty pool ends"

        os.killpg(moved.pid, signal.SIGKILL)
        service.send()
        expected = sorted([*expected, "SUMMER 5"])
        until(lambda: service.campaigns() == expected, "another pool has gone on")
        versions = service.call("GET", "/api/v1/applications/clicks/versions")
        assert [(version["number"], version["current"]) for version in versions] == [(2, True), (1, False)]

        expected = its_clicks_come_from_elsewhere(service, expected)

        service.call("POST", "/api/v1/applications/clicks/stop")
        until(lambda: service.condition() == "stopped", "it has stopped")
        assert processes_of(service.home, "clicks") == []
        answer = service.call("GET", "/api/v1/applications/clicks/why?key=1")
        assert answer["rows"][0]["status"] == "matched"


def its_clicks_come_from_elsewhere(service: Service, expected: list[str]) -> list[str]:
    """Refused, until it is said where the new source begins. That is said once: a process that starts later
    goes on where it is."""
    service.send("taps")  # before the change
    taps = CHANGED.replace('SCRIBE("clicks")', 'SCRIBE("taps")')
    with pytest.raises(urllib.error.HTTPError) as refused:
        service.call("PUT", "/api/v1/applications/clicks", {"text": taps})
    assert "say where it begins: --from c=latest" in refused.value.read().decode()
    service.call("PUT", "/api/v1/applications/clicks", {"text": taps, "begins": ["c=earliest"]})
    expected = sorted([*expected, f"SUMMER {service.sent - 1}"])
    until(lambda: service.campaigns() == expected, "what the new source had comes out")
    until(lambda: service.condition() == "running", "it runs")
    os.killpg(processes_of(service.home, "clicks")[0].pid, signal.SIGKILL)
    service.send("taps")
    expected = sorted([*expected, f"SUMMER {service.sent - 1}"])
    until(lambda: service.campaigns() == expected, "it has gone on")
    return expected


def test_a_second_service_of_a_home_is_told(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "home"), tmp_path / "serve.log")
    with cleared(service):
        service.start()
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "dovetail.service.cli.main",
                "serve",
                "--home",
                service.home,
                "--port",
                "0",
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 1
    assert "the service of this home is running already" in done.stderr
