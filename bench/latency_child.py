"""One system joins live files, in its own fresh process: the first file of a side, then traffic by the clock.

`python -m bench.latency_child '<order as JSON>'`. Standard output carries progress, one line at a time; the
outcome goes to the file that the order names. Traffic begins after the first result, so the time until then
is the cold start and is no part of the latencies; the first `warm_up_s` of the traffic are not either.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import latency_figures as figures
from bench.latency_systems import Application, How, Sink, StampedSink, System, phases, start
from bench.live_files import FeedOrder, Staged, Stamps, appear, read_stamps
from bench.measure import tree_use
from bench.spark_baseline import session
from bench.workload import SIDES
from dovetail.errors import RunError

FIRST_RESULT_S = 120.0
LEAD_S = 0.5


@dataclass(frozen=True)
class Order:
    """Everything a child must know. `started_at`: when the parent started it, in seconds since the epoch.
    `patience_s`: how long after the last file pairs may still come out."""

    system: System
    staged: dict[str, Any]
    warm_up_s: float
    patience_s: float
    cores: int
    driver_memory: str
    work: str
    outcome: str
    started_at: float
    sink: Sink = "arrow"
    trigger: str | None = None
    how: How = "inner"
    applications: int = 1

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class LiveRun:
    """The joins of one process, and the traffic that all of them get."""

    def __init__(self, order: Order, tell: Callable[[str], None]) -> None:
        self.order, self.tell = order, tell
        self.staged = Staged.from_json(order.staged)
        work = Path(order.work)
        self.applications = [
            Application(
                files=work / "files" / str(number),
                work=work / str(number),
                name=f"live{number}",
                traffic=self.staged.traffic,
                format=self.staged.format,
                how=order.how,
            )
            for number in range(order.applications)
        ]
        self.sinks = [StampedSink(order.sink, one.work / "out") for one in self.applications]
        conf = {
            "spark.sql.shuffle.partitions": str(order.cores),
            "spark.sql.streaming.numRecentProgressUpdates": "100000",
        }
        self.spark = session(order.cores, order.driver_memory, conf)

    def begin(self) -> list[Stamps]:
        """Start all joins over their first files, and wait for the first result of each."""
        stamps: list[Stamps] = []
        for application, sink in zip(self.applications, self.sinks, strict=True):
            stamps.append({side: [appear(self.staged, side, 0, application.files)] for side in SIDES})
            start(self.spark, self.order.system, application, sink, self.order.trigger)
        until = time.monotonic() + FIRST_RESULT_S
        for application, sink in zip(self.applications, self.sinks, strict=True):
            while not sink.first.wait(0.2):
                failed = [query for query in self.spark.streams.active if query.exception()]
                if failed or time.monotonic() > until:
                    raise RunError("no first result", where=application.name)
        return stamps

    def traffic(self) -> tuple[float, list[Stamps], float]:
        """Let all files appear. Gives when that began, the stamps, and CPU seconds per second after the
        warm-up."""
        path = Path(self.order.work) / "stamps.json"
        began_at = time.time() + LEAD_S
        folders = [str(application.files) for application in self.applications]
        feed = FeedOrder(self.staged.to_json(), folders, began_at, str(path))
        feeder = subprocess.Popen([sys.executable, "-m", "bench.live_files", feed.to_json()])
        try:
            time.sleep(max(0.0, began_at + self.order.warm_up_s - time.time()))
            before, since = tree_use(os.getpid()).cpu_s, time.monotonic()
            self.tell("warm")
            while feeder.poll() is None:
                time.sleep(0.1)
            cores = (tree_use(os.getpid()).cpu_s - before) / (time.monotonic() - since)
        finally:
            if feeder.poll() is None:
                feeder.terminate()
                feeder.wait()
        if feeder.returncode:
            raise RunError(f"the feeder ended with exit code {feeder.returncode}")
        return began_at, list(read_stamps(path)), cores

    def drain(self) -> None:
        """Wait for the rest of the pairs, as long as patience lasts."""
        until = time.monotonic() + self.order.patience_s
        wanted = self.staged.traffic.pairs
        while time.monotonic() < until and any(sink.rows < wanted for sink in self.sinks):
            time.sleep(0.1)


def carry_out(order: Order, tell: Callable[[str], None]) -> dict[str, Any]:
    run = LiveRun(order, tell)
    traffic = run.staged.traffic
    first = run.begin()
    cold_start_s = max(sink.first_at for sink in run.sinks) - order.started_at
    tell("first result")
    began_at, later, cores = run.traffic()
    run.drain()
    ended = time.time()
    begin, end = began_at + order.warm_up_s, began_at + traffic.seconds + traffic.every_s
    by_phase = figures.phase_medians(phases(list(run.spark.streams.active)), begin, end)
    found = []
    for sink, before, after in zip(run.sinks, first, later, strict=True):
        stamps: Stamps = {side: before[side] + after[side] for side in SIDES}
        due = figures.pairs_due(traffic, stamps)
        out, check = figures.pairs_out(traffic, sink.batches)
        pairs = figures.latencies(due, out, begin, end, ended)
        found.append({"pairs": pairs.to_json(), "check": asdict(check)})
    return {
        "cold_start_s": cold_start_s,
        "cores": cores,
        "applications": found,
        "phases": by_phase,
    }


def obey(text: str) -> None:
    order = Order(**json.loads(text))

    def tell(line: str) -> None:
        print(f"{time.time() - order.started_at:.1f} s: {line}", flush=True)

    Path(order.outcome).write_text(json.dumps(carry_out(order, tell)))
    sys.stdout.flush()
    os._exit(0)  # the queries need no orderly end, and stopping ten of them takes half a minute


if __name__ == "__main__":
    obey(sys.argv[1])
