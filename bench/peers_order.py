"""What `bench peers` orders of a system's process, and the frame in which any system carries it out.

Besides the standard library it needs only `bench.measure`, so it also runs in the environments of the peers.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure import tree_use

RUNNING = "running"
"""What a live run says when it is ready for traffic."""


@dataclass(frozen=True)
class Order:
    """Everything a process must know. `files` and `warm_up` have a folder of JSON files for each side.
    `columns`: those of each side besides `eventtime` (text), `at_ms` and `key`, as in SQL. `delay_s`: how far
    a row may be behind the newest one before it. `started_at`: when the process was started, in seconds since
    the epoch. `live_pairs`: how many pairs live traffic has; 0 is a timed run over files at rest."""

    system: str
    files: str
    warm_up: str
    columns: dict[str, str]
    window_s: int
    delay_s: int
    cores: int
    heap: str
    work: str
    outcome: str
    started_at: float
    live_pairs: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Order:
        return cls(**json.loads(text))

    def names(self, side: str) -> list[str]:
        return [column.split()[0] for column in self.columns[side].split(", ")]

    @property
    def stop(self) -> Path:
        """Once this file is there, a live run ends."""
        return Path(self.work) / "stop"

    def tell(self, line: str) -> None:
        print(f"{time.time() - self.started_at:.1f} s: {line}", flush=True)


def timed(order: Order, run: Callable[[Path, Path], None]) -> None:
    """`run` joins the files of one folder and writes the pairs as JSON files into another; it is timed the
    second time."""
    work = Path(order.work)
    order.tell("warming up")
    run(Path(order.warm_up), work / "warm-up")
    order.tell("timed run")
    out = work / "timed"
    before, began = tree_use(os.getpid()).cpu_s, time.perf_counter()
    run(Path(order.files), out)
    elapsed_s, cpu_s = time.perf_counter() - began, tree_use(os.getpid()).cpu_s - before
    Path(order.outcome).write_text(json.dumps({"elapsed_s": elapsed_s, "cpu_s": cpu_s, "out": str(out)}))


class Notes:
    """The pairs of a live run: the key of each with the moment it came."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._pairs: list[tuple[int, float]] = []
        threading.Thread(target=self._end, daemon=True).start()
        order.tell(RUNNING)

    def take(self, key: int, at: float) -> None:
        self._pairs.append((key, at))

    def _end(self) -> None:
        """Write them down when all are there, or when asked to stop: a live stream has no end of its own."""
        while len(self._pairs) < self._order.live_pairs and not self._order.stop.exists():
            time.sleep(0.1)
        Path(self._order.outcome).write_text(json.dumps({"pairs": self._pairs, "ended_at": time.time()}))
        os._exit(0)
