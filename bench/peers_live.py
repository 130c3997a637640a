"""Latency of each system at a low rate, over live JSON files.

Dovetail and Spark are those of `bench latency`. A peer notes the key of each pair with the moment it got it.
"""

from __future__ import annotations

import argparse
import threading
import time
from pathlib import Path

import numpy as np

from bench.comparison import run_child
from bench.latency_child import LEAD_S
from bench.latency_child import Order as LiveOrder
from bench.latency_figures import Latencies, latencies, pairs_due
from bench.live_files import FeedOrder, Staged, Stamps, appear, feed, read_stamps
from bench.live_traffic import Traffic
from bench.peers_install import PACKAGES
from bench.peers_order import RUNNING, Order
from bench.peers_report import Live
from bench.process_memory import peak_pss
from bench.workload import SIDES

COLUMNS = {"left": "amount DOUBLE, label STRING", "right": "score DOUBLE, tag STRING"}
PATIENCE_S = 20.0


def live(args: argparse.Namespace, system: str, python: str, staged: Staged, work: Path) -> Live:
    work.mkdir()
    if system in PACKAGES:
        return of_peer(args, system, python, staged, work)
    return of_ours(args, system, staged, work)


def of_ours(args: argparse.Namespace, system: str, staged: Staged, work: Path) -> Live:
    order = LiveOrder(
        system="dovetail" if system == "dovetail" else "spark",
        staged=staged.to_json(),
        warm_up_s=args.warm_up,
        patience_s=PATIENCE_S,
        cores=args.cores,
        driver_memory=args.heap,
        work=str(work),
        outcome=str(work / "outcome.json"),
        started_at=time.time(),
        begin=0,
        end=staged.traffic.files,
        state="rocksdb" if system == "spark-rocksdb" else "default",
    )
    said, peak = run_child(order, f"{system}, live", "bench.latency_child", peak_of=peak_pss)
    (one,) = said["applications"]
    wrong = sum(check["missing"] + check["twice"] + check["foreign"] for check in one["checks"])
    return Live(one["latencies"]["pairs"], wrong, peak, said["first_result_s"])


def of_peer(args: argparse.Namespace, system: str, python: str, staged: Staged, work: Path) -> Live:
    traffic, files = staged.traffic, work / "files"
    first = {side: appear(staged, side, 0, files) for side in SIDES}
    order = Order(
        system=system,
        files=str(files),
        warm_up="",
        columns=COLUMNS,
        window_s=round(traffic.window_s),
        delay_s=traffic.max_delay_s,
        cores=args.cores,
        heap=args.heap,
        work=str(work),
        outcome=str(work / "outcome.json"),
        started_at=time.time(),
        live_pairs=traffic.pairs,
    )
    label, module = f"{system}, live", f"bench.peers_{system}"
    with Feeder(staged, files, order.stop) as feeder:
        said, peak = run_child(order, label, module, python=python, peak_of=peak_pss, hear=feeder.hear)
    later = feeder.stamps()
    stamps = {side: [first[side], *later[side]] for side in SIDES}
    begin = feeder.began_at + args.warm_up
    took, wrong, first_at = figures(traffic, stamps, said["pairs"], begin, said["ended_at"])
    return Live(took.to_json(), wrong, peak, first_at - order.started_at)


def figures(
    traffic: Traffic, stamps: Stamps, pairs: list[tuple[int, float]], begin: float, ended: float
) -> tuple[Latencies, int, float]:
    """The latencies of pairs due from `begin` on, how many pairs are wrong, and when the first came."""
    keys = np.array([key for key, _ in pairs], np.int64)
    at = np.array([moment for _, moment in pairs], np.float64)
    known = (keys >= 0) & (keys < traffic.pairs)
    out = np.full(traffic.pairs, np.inf)
    np.minimum.at(out, keys[known], at[known])
    times = np.bincount(keys[known], minlength=traffic.pairs)
    wrong = int((~known).sum() + (times != 1).sum())
    took = latencies(pairs_due(traffic, stamps), out, begin, stamps["right"][-1] + 1, ended)
    return took, wrong, float(at.min(initial=np.inf))


class Feeder:
    """Lets all files but the first appear once the system says that it runs; when they have been there for a
    while, it makes the file `stop`."""

    def __init__(self, staged: Staged, files: Path, stop: Path) -> None:
        self.began_at = float("nan")
        self._staged, self._files, self._stop = staged, files, stop
        self._stamps = stop.with_name("stamps.json")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)

    def hear(self, line: str) -> None:
        if line.rstrip().endswith(RUNNING):
            self.began_at = time.time() + LEAD_S
            self._thread.start()

    def _feed(self) -> None:
        end = self._staged.traffic.files
        feed(FeedOrder(self._staged.to_json(), [str(self._files)], self.began_at, str(self._stamps), 1, end))
        self._ended.wait(PATIENCE_S)
        self._stop.touch()

    def stamps(self) -> Stamps:
        (found,) = read_stamps(self._stamps)
        return found

    def __enter__(self) -> Feeder:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
