"""The costs that the model of `bench scale` needs, from the benchmarks that measure them.

Each runs as its own command, with `--json`. A cost per row is the slope between two sizes, so what starting
takes is not in it; a cost per task is the slope between two numbers of tasks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, NamedTuple

from bench.command import tell
from bench.scale_model import Costs
from dovetail.errors import RunError

SMALL_ROWS, LARGE_ROWS = 500_000, 2_000_000
FEW_TASKS, MANY_TASKS = 2, 16
LOW_RATE = 200
SECONDS = 10
WINDOW_ROWS = 2_000_000


class Point(NamedTuple):
    """What something cost at one size."""

    size: float
    cost: float


def measured() -> Costs:
    row_cpu_s, _ = line(*(_interval(rows) for rows in (SMALL_ROWS, LARGE_ROWS)))
    runs = {tasks: _latency(tasks) for tasks in (FEW_TASKS, MANY_TASKS)}
    task_s, step_s = line(*(Point(tasks, step_cpu_s(run, "driver", "jvm")) for tasks, run in runs.items()))
    memory = bench("memory", "--rows", str(WINDOW_ROWS), "--wide-rows", "0")
    replay = bench("recovery", "--rows", str(WINDOW_ROWS), "--repeat", "1", "--only", "replay")["replay"]
    rebuilt = [one["rows_per_cpu_s"] for one in replay["rates"] if one["what"] == "rebuild"]
    return Costs(
        row_cpu_s=row_cpu_s,
        coordinator_step_s=step_s,
        coordinator_task_s=task_s,
        worker_task_s=step_cpu_s(runs[MANY_TASKS], "workers") / MANY_TASKS,
        index_bytes_per_row=memory["index_bytes_per_row"],
        log_bytes_per_row=replay["log_bytes_per_row"],
        rebuild_rows_per_cpu_s=min(rebuilt),
    )


def bench(name: str, *options: str) -> Any:
    """The JSON document of one benchmark."""
    tell(f"dovetail bench {name} {' '.join(options)}")
    command = [sys.executable, "-m", "dovetail.service.cli.main", "bench", name, *options, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RunError(f"dovetail bench {name} ended with exit code {done.returncode}", where=name)
    return json.loads(done.stdout)


def _interval(rows: int) -> Point:
    """Input rows, and CPU seconds."""
    (run,) = bench("interval", "--only", "dovetail", "--rows", str(rows))["systems"]["dovetail"]
    return Point(2 * rows, run["cpu_s"])


def _latency(tasks: int) -> dict[str, Any]:
    """An application with hardly any rows."""
    options = ("--only", "pql", "--rates", f"{LOW_RATE}", "--seconds", f"{SECONDS}", "--tasks", f"{tasks}")
    (run,) = bench("latency", *options, "--warm-up", f"{SECONDS}")["runs"]
    found: dict[str, Any] = run
    return found


def step_cpu_s(run: dict[str, Any], *kinds: str) -> float:
    """CPU seconds of a step, of the processes of these kinds."""
    cores: float = sum(run["cores_by_kind"].get(kind, 0.0) for kind in kinds)
    return cores * SECONDS / run["phases"]["joined"]["batches"]


def line(small: Point, large: Point) -> tuple[float, float]:
    """The cost of one more, and of none."""
    slope = (large.cost - small.cost) / (large.size - small.size)
    if slope <= 0:
        raise RunError(
            f"{large.size:,.0f} cost no more than {small.size:,.0f}",
            where="dovetail bench scale --measure",
            hint="other programs used the machine; measure again",
        )
    return slope, max(0.0, small.cost - slope * small.size)
