"""The service: memory of many small applications in a pool, the daemon's own, and how fast it answers.

A daemon is started with an empty home, and `--applications` small joins are deployed over its API. They
share a pool and are mostly idle: each gets a few rows a minute. When all have joined their first rows, the
memory of the pool and of the daemon is measured (proportional set sizes), and pages and lists are asked for
while the joins run. Then `--registered` applications are added that do not run, and listed. What is wanted
of the service: 20 applications in 8 GB on two cores, a first byte within 100 ms, 200 listed within 300 ms, a
daemon below 200 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from bench.command import Command, finish, tell

PATIENCE_S = 900.0
START = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = """CREATE APPLICATION {name};
CREATE INPUT TABLE c (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("{name}_clicks");
CREATE INPUT TABLE i (eventtime TIMESTAMP, ad BIGINT, campaign STRING) FROM SCRIBE("{name}_views");
CREATE VIEW clicked AS SELECT c.eventtime AS eventtime, c.ad AS ad, i.campaign AS campaign
FROM c JOIN i ON c.ad = i.ad
  AND i.eventtime BETWEEN c.eventtime - INTERVAL '10 minutes' AND c.eventtime;
CREATE TABLE result AS SELECT eventtime, ad, campaign FROM clicked
STORAGE SCRIBE (category = "{name}_clicked");
"""
WANTED = {"pool_mb": 8_192, "daemon_mb": 200, "first_byte_ms": 100, "listed_ms": 300}


def command() -> Command:
    made = Command("serve", __doc__)
    made.number("--applications", 20, "small applications that run in pools")
    made.number("--registered", 200, "applications that are listed")
    made.number("--seconds", 60, "how long the applications run before anything is measured")
    made.number("--asks", 40, "how often each page is asked for; the table has medians and the slowest")
    return made


def main(argv: list[str]) -> int:
    args = command().parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder,
        _Service(Path(folder)).running() as s,
    ):
        document = measure(s, args)
    finish(args.json, document, lambda: _show(document))
    return 0


def measure(service: _Service, args: argparse.Namespace) -> dict[str, Any]:
    from bench.process_memory import held_by

    names = [f"small{number}" for number in range(args.applications)]
    began = time.monotonic()
    for name in names:
        service.send(name)
        service.call("PUT", f"/api/v1/applications/{name}", {"text": QUERY.format(name=name)})
    service.until(lambda: all(service.rows(name) for name in names), "every application has joined a row")
    joined_s = time.monotonic() - began
    tell(f"all have joined rows after {joined_s:.0f} s")
    pids = service.pools()
    cpu_before = _cpu_s(pids)
    began = time.monotonic()
    while time.monotonic() - began < args.seconds:
        for name in names:
            service.send(name)
            time.sleep(args.seconds / len(names) / 4)
    seconds = time.monotonic() - began
    cores = (_cpu_s(pids) - cpu_before) / seconds
    kinds: dict[str, dict[str, float]] = {}
    for pid in pids:
        for kind, held in held_by(pid).items():
            one = kinds.setdefault(kind, {"processes": 0, "mb": 0.0})
            one["processes"] += held.processes
            one["mb"] += held.pss_bytes / 2**20
    bytes_ms = {path: service.timed(path, args.asks) for path in ("/", f"/applications/{names[0]}")}
    api_ms = service.timed("/api/v1/applications", args.asks)
    for number in range(args.registered - len(names)):
        service.call("POST", "/api/v1/applications", {"text": QUERY.format(name=f"more{number}")})
    listed_ms = service.timed("/api/v1/applications", args.asks)
    listed_page_ms = service.timed("/", args.asks)
    assert service.process is not None
    daemon = held_by(service.process.pid)["driver"].pss_bytes / 2**20  # what it has started is not itself
    pool_mb = sum(one["mb"] for one in kinds.values())
    return {
        "applications": len(names),
        "pools": len(pids),
        "all_joined_s": joined_s,
        "pool_mb": pool_mb,
        "kinds": kinds,
        "cores_used": cores,
        "daemon_mb": daemon,
        "first_byte_ms": bytes_ms,
        "list_ms": api_ms,
        "registered": args.registered,
        "listed_ms": listed_ms,
        "listed_page_ms": listed_page_ms,
        "wanted": WANTED,
    }


class _Service:
    """A daemon with its own home; its pools outlive it, and are ended with it here."""

    def __init__(self, folder: Path) -> None:
        from dovetail.service.access.tokens import new_token

        self.home, self.log = folder / "home", folder / "serve.log"
        self.token = new_token(str(self.home), "bench", "admin", 1)
        self.process: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.sent: dict[str, int] = {}

    @contextmanager
    def running(self) -> Iterator[_Service]:
        command = [sys.executable, "-m", "dovetail.service.cli.main", "serve", "--port", "0"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*command, "--home", str(self.home)], stdout=log, stderr=log)
        try:
            self.until(lambda: "login?link=" in self.log.read_text(), "the daemon listens")
            found = re.search(r"(http://\S+)/login\?link=(\S+)", self.log.read_text())
            assert found is not None
            self.address = found[1]
            yield self
        finally:
            self.process.kill()
            self.process.wait()
            for pid in self.pools():
                os.killpg(pid, signal.SIGKILL)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise SystemExit(f"never: {what}; {self.log.read_text()[-2000:]}")
            time.sleep(0.5)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        with self._opened(method, path, None if body is None else json.dumps(body).encode()) as answer:
            return json.loads(answer.read())

    def timed(self, path: str, times: int) -> dict[str, float]:
        """Milliseconds until the first byte of an answer."""
        found = []
        for _ in range(times):
            began = time.monotonic()
            with self._opened("GET", path, None) as answer:
                answer.read(1)
                found.append((time.monotonic() - began) * 1000)
        return {"median": median(found), "slowest": max(found)}

    def send(self, name: str) -> None:
        """A view, and a click on it a minute later."""
        number = self.sent.get(name, 0)
        at = START + timedelta(minutes=number)
        rows = {
            "views": {"eventtime": at.isoformat(), "ad": number, "campaign": f"campaign {number}"},
            "clicks": {"eventtime": (at + timedelta(minutes=1)).isoformat(), "ad": number},
        }
        for category, row in rows.items():
            with self._opened("POST", f"/api/v1/log/{name}_{category}", json.dumps(row).encode(), "x-ndjson"):
                pass
        self.sent[name] = number + 1

    def rows(self, name: str) -> int:
        try:
            return len(self.call("GET", f"/api/v1/applications/{name}/rows?limit=10")["rows_shown"])
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return 0
            raise

    def pools(self) -> list[int]:
        from dovetail.service.keeping.pools import pool_names, pool_process

        found = [pool_process(str(self.home), name) for name in pool_names(str(self.home))]
        return [process.pid for process in found if process is not None]

    def _opened(self, method: str, path: str, data: bytes | None, kind: str = "json") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": f"application/{kind}"}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        return urllib.request.urlopen(request)


def _cpu_s(pids: list[int]) -> float:
    from bench.process_memory import held_by

    return sum(held.cpu_s for pid in pids for held in held_by(pid).values())


def _show(found: dict[str, Any]) -> None:
    print(
        f"{found['applications']} applications in {found['pools']} pool(s): {found['pool_mb']:,.0f} MB (PSS)"
    )
    for kind, one in found["kinds"].items():
        print(f"  {kind:<8} {one['processes']:3.0f} processes  {one['mb']:8,.0f} MB")
    print(f"cores used while mostly idle: {found['cores_used']:.2f}")
    print(f"daemon: {found['daemon_mb']:,.0f} MB")
    for path, ms in found["first_byte_ms"].items():
        print(f"first byte of {path}: {ms['median']:.0f} ms, slowest {ms['slowest']:.0f} ms")
    listed, page = found["listed_ms"], found["listed_page_ms"]
    print(f"{found['registered']} listed: {listed['median']:.0f} ms, slowest {listed['slowest']:.0f} ms")
    print(f"the same as a page: {page['median']:.0f} ms, slowest {page['slowest']:.0f} ms")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
