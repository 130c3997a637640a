"""The applications of `bench soak` in one process, with samples of what they hold.

`python -m bench.soak_child '<order as JSON>'`. It is a live run of `bench latency` that keeps no rows, and
keeps as little else as it can: what grows should be the system's.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.latency_child import LiveRun
from bench.latency_child import Order as LiveOrder
from bench.latency_figures import pairs_due
from bench.latency_systems import Batches, System
from bench.live_traffic import Traffic
from bench.process_memory import held_by

PATIENCE_S = 30.0


@dataclass(frozen=True)
class Order:
    """Everything a child must know. `started_at`: when the parent started it, in seconds since the epoch."""

    system: System
    staged: dict[str, Any]
    applications: int
    sample_s: float
    warm_up_s: float
    history_s: float
    cores: int
    driver_memory: str
    work: str
    outcome: str
    started_at: float

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Tally:
    """The latest latencies of one join, and which pairs it has put out: a byte each, all written to in the
    beginning. Memory that nobody has touched yet is not counted, and would seem to grow. While traffic runs
    nobody has its stamps; the planned times are right to some milliseconds.
    """

    def __init__(self, traffic: Traffic) -> None:
        planned = {side: list(traffic.appear_s) for side in ("left", "right")}
        self._due: NDArray[np.float64] = pairs_due(traffic, planned)  # type: ignore[arg-type]
        self._seen = np.full(traffic.pairs, 0, np.uint8)
        self._lock = threading.Lock()
        self._latest: list[NDArray[np.float64]] = []
        self.began_at: float | None = None
        self.wrong = 0

    def take(self, at: float, rows: pa.Table) -> None:
        keys = rows.column("key").to_numpy()
        with self._lock:
            known = keys[(keys >= 0) & (keys < len(self._seen))]
            self.wrong += len(keys) - len(known) + int(self._seen[known].sum())
            self._seen[known] = 1
            if self.began_at is not None:
                self._latest.append(at - self.began_at - self._due[known])

    def latencies(self) -> NDArray[np.float64]:
        """For the pairs since the last call."""
        with self._lock:
            latest, self._latest = self._latest, []
        return np.concatenate(latest) if latest else np.array([])

    @property
    def missing(self) -> int:
        return int((self._seen == 0).sum())


def carry_out(order: Order, tell: Callable[[str], None]) -> dict[str, Any]:
    live = LiveOrder(
        system=order.system,
        staged=order.staged,
        warm_up_s=0.0,
        patience_s=PATIENCE_S,
        cores=order.cores,
        driver_memory=order.driver_memory,
        work=order.work,
        outcome=order.outcome,
        started_at=order.started_at,
        begin=0,
        end=0,
        applications=order.applications,
        progress_updates=10,
        history_s=order.history_s,
    )
    run = LiveRun(live, tell)
    traffic = run.staged.traffic
    run.start()
    tallies = [Tally(traffic) for _ in run.outs]
    for out, tally in zip(run.outs, tallies, strict=True):
        _hand_over(out, tally)
    feeder, began_at = run.feeder(1, traffic.files)
    for tally in tallies:
        tally.began_at = began_at
    tell("first results are out, traffic begins")
    samples, next_at, reported = [], began_at, began_at
    try:
        while feeder.poll() is None:
            next_at += order.sample_s
            time.sleep(max(0.0, next_at - time.time()))
            samples.append(_sample(time.time() - began_at, run, tallies))
            if time.time() - reported >= 60:
                reported = time.time()
                tell(f"{samples[-1]['s'] / 60:.0f} minutes, {samples[-1]['total_bytes'] / 2**20:,.0f} MiB")
    finally:
        if feeder.poll() is None:
            feeder.terminate()
            feeder.wait()
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and any(tally.missing for tally in tallies):
        time.sleep(0.2)
    return {
        "samples": samples,
        "missing": sum(tally.missing for tally in tallies),
        "wrong": sum(tally.wrong for tally in tallies),
    }


def _hand_over(out: Batches, tally: Tally) -> None:
    """From here on the tally takes the rows, with those that are out already."""
    before = list(out.batches)
    out.batches.clear()
    out.take = tally.take  # type: ignore[method-assign]
    for at, rows in before:
        tally.take(at, rows)


def _sample(second: float, run: LiveRun, tallies: list[Tally]) -> dict[str, float]:
    held = held_by(os.getpid())
    held.pop("other", None)  # the process that lets files appear
    found: dict[str, float] = {"s": second}
    for kind, one in held.items():
        found[f"{kind}_bytes"] = one.pss_bytes
    found["total_bytes"] = sum(one.pss_bytes for one in held.values())
    found["handles"] = sum(one.handles for one in held.values())
    found["processes"] = sum(one.processes for one in held.values())
    sizes = [_size(path) for one in run.applications for path in one.work.rglob("*")]
    found["files"] = len(sizes)
    found["file_bytes"] = sum(sizes)
    latest = np.concatenate([tally.latencies() for tally in tallies])
    if len(latest):
        found["p50_s"], found["p99_s"] = (float(np.percentile(latest, share)) for share in (50, 99))
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # retained no longer
        return 0


def obey(text: str) -> None:
    order = Order(**json.loads(text))

    def tell(line: str) -> None:
        print(f"{time.time() - order.started_at:.1f} s: {line}", flush=True)

    Path(order.outcome).write_text(json.dumps(carry_out(order, tell)))
    sys.stdout.flush()
    os._exit(0)  # the queries need no orderly end


if __name__ == "__main__":
    obey(sys.argv[1])
