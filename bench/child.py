"""One system in its own fresh process: start Spark, warm up on a small input, then the timed run.

`python -m bench.child '<order as JSON>'`. Standard output carries progress, one line at a time; the outcome
goes to the file that the order names. Cold start is the time from the process's start to the first result row
of the warm-up, with everything in it: interpreter, JVM, session, planning, workers, compilation.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from bench.measure import Figures, tree_use
from bench.workload import Dataset, Workload

System = Literal["dovetail", "spark"]
Join = Literal["interval", "tumbling"]
"""Times at most `window_us` apart, or in one window of that length."""
SYSTEMS: tuple[System, System] = ("dovetail", "spark")
Run = Callable[[Dataset, Path], Figures]


@dataclass(frozen=True)
class Order:
    """Everything a child must know. `started_at`: when the parent started it, in seconds since the epoch."""

    system: System
    warm_up: dict[str, Any]
    timed: dict[str, Any]
    window_us: int
    cores: int
    driver_memory: str
    spark: dict[str, Any]
    work: str
    outcome: str
    started_at: float
    join: Join = "interval"

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def dataset_to_json(dataset: Dataset) -> dict[str, Any]:
    return {
        "workload": asdict(dataset.workload),
        "path": str(dataset.path),
        "max_delay_us": dataset.max_delay_us,
        "form": dataset.form,
    }


def dataset_from_json(said: dict[str, Any]) -> Dataset:
    return Dataset(Workload(**said["workload"]), Path(said["path"]), said["max_delay_us"], said["form"])


def carry_out(order: Order, tell: Callable[[str], None]) -> dict[str, Any]:
    run = _prepare(order, tell)
    tell("warming up")
    warm = run(dataset_from_json(order.warm_up), Path(order.work) / "warm-up")
    before = tree_use(os.getpid())
    tell("timed run")
    figures = run(dataset_from_json(order.timed), Path(order.work) / "timed")
    first_at = warm.first_result_at
    return {
        "figures": figures.to_json(),
        "cold_start_s": None if first_at is None else first_at - order.started_at,
        "cpu_s": tree_use(os.getpid()).cpu_s - before.cpu_s,
        "versions": _versions(),
    }


def _prepare(order: Order, tell: Callable[[str], None]) -> Run:
    if order.system == "spark":
        from bench import spark_baseline

        setup = spark_baseline.SparkSetup(**order.spark)
        spark = spark_baseline.session(order.cores, order.driver_memory, setup.conf())
        return lambda data, work: spark_baseline.run(
            spark, data, order.window_us, setup, checkpoint=work, tell=tell, join=order.join
        )
    from bench import dovetail_run

    engine = dovetail_run.Engine(order.cores, order.driver_memory)
    return lambda data, work: engine.run(data, order.window_us, work, tell, order.join)


def _versions() -> dict[str, str]:
    found = {name: version(name) for name in ("pyspark", "pyarrow", "numpy", "numba")}
    return {"python": platform.python_version(), **found}


def obey(text: str) -> None:
    order = Order(**json.loads(text))

    def tell(line: str) -> None:
        print(f"{time.time() - order.started_at:.1f} s: {line}", flush=True)

    Path(order.outcome).write_text(json.dumps(carry_out(order, tell)))


if __name__ == "__main__":
    obey(sys.argv[1])
