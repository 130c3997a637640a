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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench import latency_figures as figures
from bench.latency_parts import Shape
from bench.latency_pql import start_pql
from bench.latency_systems import Application, Batches, How, Sink, StampedSink, System, phases, start
from bench.live_files import FeedOrder, Staged, Stamps, appear, read_stamps, write_stamps
from bench.process_memory import held_by
from bench.spark_baseline import SparkSetup, State, session
from bench.workload import SIDES
from dovetail.errors import RunError
from dovetail.spark.s3 import s3_settings
from dovetail.spark.session import open_session

FIRST_RESULT_S = 600.0
LEAD_S = 0.5


@dataclass(frozen=True)
class Order:
    """Everything a child must know. `started_at`: when the parent started it, in seconds since the epoch.
    `patience_s`: how long after the last file rows may still come out. The traffic's files from `begin` to
    before `end` appear; a `begin` above 0 goes on where an earlier process was killed. `own_session`: the
    session that `dovetail run` makes, not that of any user."""

    system: System
    staged: dict[str, Any]
    warm_up_s: float
    patience_s: float
    cores: int
    driver_memory: str
    work: str
    outcome: str
    started_at: float
    begin: int
    end: int
    sink: Sink = "arrow"
    trigger: str | None = None
    how: How = "inner"
    applications: int = 1
    own_session: bool = False
    progress_updates: int = 100_000
    history_s: float | None = None
    state: State = "default"
    tasks: int | None = None
    shape: Shape = "interval"
    home: str | None = None
    master: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class LiveRun:
    """The joins of one process, and the traffic that all of them get."""

    def __init__(self, order: Order, tell: Callable[[str], None]) -> None:
        self.order, self.tell = order, tell
        self.staged = Staged.from_json(order.staged)
        self._folder = Path(order.work)
        self.applications = [
            Application(
                files=self._folder / "files" / str(number),
                work=self._folder / str(number),
                name=f"live{number}",
                traffic=self.staged.traffic,
                format=self.staged.format,
                how=order.how,
                tasks=order.tasks,
                shape=order.shape,
                home=order.home,
                history_s=order.history_s,
            )
            for number in range(order.applications)
        ]
        conf = SparkSetup(order.cores, 1, order.state).conf() | {
            "spark.sql.streaming.numRecentProgressUpdates": str(order.progress_updates),
        }
        conf |= order.settings | s3_settings(order.home or "", None, {})
        self._master = order.master or f"local[{order.cores}]"
        if order.system == "pql" or order.own_session:
            self.spark = open_session("live", self._master, order.driver_memory, conf)
        else:
            self.spark = session(order.cores, order.driver_memory, conf)
        self.outs: list[Batches] = []
        self._before = self._folder / "appeared.json"
        """Stamps of earlier processes."""
        self._stamps = self._folder / "stamps.json"

    def start(self) -> list[Stamps]:
        """Start the joins over their first files, each after the first result of the one before. Gives the
        stamps of all files that have appeared."""
        stamps: list[Stamps] = [{"left": [], "right": []} for _ in self.applications]
        if self.order.begin:
            stamps = read_stamps(self._before)
        for application, seen in zip(self.applications, stamps, strict=True):
            for side in SIDES:
                seen[side].append(appear(self.staged, side, self.order.begin, application.files))
            self.outs.append(self._started(application))
            self._await_first(application.name, self.outs[-1])
        return stamps

    def _await_first(self, name: str, out: Batches) -> None:
        until = time.monotonic() + FIRST_RESULT_S
        while not out.first.wait(0.2):
            failed = [one.exception() for one in self.spark.streams.active if one.exception()]
            if failed or time.monotonic() > until:
                raise RunError(f"no first result: {failed or 'patience ended'}", where=name)

    def _started(self, application: Application) -> Batches:
        if self.order.system == "pql":
            out = Batches()
            start_pql(self.spark, application, self._master, out)
            return out
        sink = StampedSink(self.order.sink, application.work / "out")
        start(self.spark, self.order.system, application, sink, self.order.trigger)
        return sink

    def feeder(self, begin: int, end: int) -> tuple[subprocess.Popen[bytes], float]:
        """The process that lets these files appear, and when that begins."""
        began_at = time.time() + LEAD_S
        folders = [str(application.files) for application in self.applications]
        order = FeedOrder(self.staged.to_json(), folders, began_at, str(self._stamps), begin, end)
        return subprocess.Popen([sys.executable, "-m", "bench.live_files", order.to_json()]), began_at

    def feed(self, stamps: list[Stamps]) -> tuple[float, dict[str, float]]:
        """Let the other files appear, and add their stamps. Gives when that began, and CPU seconds per second
        after the warm-up, by kind of process."""
        feeder, began_at = self.feeder(self.order.begin + 1, self.order.end)
        try:
            time.sleep(max(0.0, began_at + self.order.warm_up_s - time.time()))
            before, since = held_by(os.getpid()), time.monotonic()
            self.tell("warm")
            while feeder.poll() is None:
                time.sleep(0.1)
            took_s, after = time.monotonic() - since, held_by(os.getpid())
        finally:
            if feeder.poll() is None:
                feeder.terminate()
                feeder.wait()
        if feeder.returncode:
            raise RunError(f"the feeder ended with exit code {feeder.returncode}")
        for seen, new in zip(stamps, read_stamps(self._stamps), strict=True):
            for side in SIDES:
                seen[side] += new[side]
        write_stamps(stamps, self._before)
        cores = {
            kind: (after[kind].cpu_s - (before[kind].cpu_s if kind in before else 0.0)) / took_s
            for kind in after
            if kind != "other"  # the process that lets files appear
        }
        return began_at, {str(kind): used for kind, used in cores.items()}

    def drain(self, rows: int) -> float:
        """Wait until every join has put out `rows` rows, as long as patience lasts; gives the moment."""
        until = time.monotonic() + self.order.patience_s
        while time.monotonic() < until and any(out.rows < rows for out in self.outs):
            time.sleep(0.1)
        return time.time()


def carry_out(order: Order, tell: Callable[[str], None]) -> dict[str, Any]:
    run = LiveRun(order, tell)
    stamps = run.start()
    first_result_s = max(out.first_at for out in run.outs) - order.started_at
    tell("first result")
    began_at, cores = run.feed(stamps)
    begin, end = began_at + order.warm_up_s, stamps[0]["right"][-1] + 1
    traffic = run.staged.traffic
    if order.end < traffic.files:  # the rest is for the next process
        return {"first_result_s": first_result_s}
    due = [figures.pairs_due(traffic, seen) for seen in stamps]
    since = stamps[0]["left"][order.begin]
    wanted = [pairs >= since for pairs in due]
    lone = [figures.lone_due(traffic, seen) for seen in stamps] if order.how == "left" else None
    ended = run.drain(int(wanted[0].sum()) + (int(np.isfinite(lone[0]).sum()) if lone else 0))
    found = []
    for number, out in enumerate(run.outs):
        at, check = figures.pairs_out(traffic, out.batches, wanted[number])
        said = {"pairs": figures.latencies(due[number], at, begin, end, ended).to_json()}
        checks = [check]
        if lone:
            alone_at, alone_check = figures.lone_out(traffic, out.batches, lone[number])
            said["lone rows"] = figures.latencies(lone[number], alone_at, begin, end, ended).to_json()
            checks.append(alone_check)
        found.append({"latencies": said, "checks": [asdict(one) for one in checks]})
    return {
        "first_result_s": first_result_s,
        "cores": sum(cores.values()),
        "cores_by_kind": cores,
        "applications": found,
        "phases": figures.phase_medians(phases(list(run.spark.streams.active)), begin, end),
    }


def obey(text: str) -> None:
    order = Order(**json.loads(text))
    os.environ.update(order.environment)

    def tell(line: str) -> None:
        print(f"{time.time() - order.started_at:.1f} s: {line}", flush=True)

    Path(order.outcome).write_text(json.dumps(carry_out(order, tell)))
    sys.stdout.flush()
    os._exit(0)  # as if it were killed: `--part restart` goes on after it, and others need no orderly end


if __name__ == "__main__":
    obey(sys.argv[1])
