"""One system joins many streams, in its own fresh process: warm up on few rows, then the timed run.

`python -m bench.streams_child '<order as JSON>'`. Standard output carries progress, one line at a time; the
outcome goes to the file that the order names.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.child import System
from bench.streams_work import Result, Streams


@dataclass(frozen=True)
class Order:
    """Everything a child must know. `started_at`: when the parent started it, in seconds since the epoch."""

    system: System
    warm_up: dict[str, Any]
    timed: dict[str, Any]
    max_delay_s: int
    cores: int
    driver_memory: str
    work: str
    outcome: str
    started_at: float

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Intermediate:
    """What the rows between joins took: bytes in the log, of all that it got; CPU time, when they were
    gathered, written and read once more; and the time of the steps of all joins but the last, around their
    tasks: to plan them, to write offsets, to commit."""

    rows: int
    bytes: int
    log_bytes: int
    once_more_cpu_s: float
    steps_s: float


@dataclass(frozen=True)
class Figures:
    elapsed_s: float
    cpu_s: float
    result: Result
    intermediate: Intermediate | None = None
    queries_s: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Figures:
        between = said["intermediate"]
        nested = {
            "result": Result(**said["result"]),
            "intermediate": Intermediate(**between) if between else None,
        }
        return cls(**{**said, **nested})


def carry_out(order: Order, tell: Callable[[str], None]) -> Figures:
    from bench import streams_systems as systems

    system = systems.Spark if order.system == "spark" else systems.Dovetail
    run = system(order.cores, order.driver_memory).run
    tell("warming up")
    run(Streams(**order.warm_up), order.max_delay_s, Path(order.work) / "warm-up")
    tell("timed run")
    return run(Streams(**order.timed), order.max_delay_s, Path(order.work) / "timed")


def obey(text: str) -> None:
    order = Order(**json.loads(text))

    def tell(line: str) -> None:
        print(f"{time.time() - order.started_at:.1f} s: {line}", flush=True)

    Path(order.outcome).write_text(json.dumps(asdict(carry_out(order, tell))))


if __name__ == "__main__":
    obey(sys.argv[1])
