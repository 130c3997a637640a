"""The tables of `docs/scale.md`, for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.console import Console

from bench.scale_model import GB, STEPS_S, Model
from bench.tables import Table


def costs(model: Model) -> Table:
    found = model.costs
    rows_per_gb = GB / found.index_bytes_per_row
    rows = [
        ["CPU per input row, end to end", f"{found.row_cpu_s * 1e6:.2f} µs", "`bench interval`, two sizes"],
        [
            "a step, at the coordinator",
            f"{found.coordinator_step_s * 1000:.0f} ms",
            "`bench latency --tasks`",
        ],
        ["and for each task", f"{found.coordinator_task_s * 1000:.1f} ms", "`bench latency --tasks`"],
        [
            "a task of a step, at its worker",
            f"{found.worker_task_s * 1000:.1f} ms",
            "`bench latency --tasks`",
        ],
        ["index per row in the window", f"{found.index_bytes_per_row:.0f} bytes", "`bench memory`"],
        ["log per row", f"{found.log_bytes_per_row:.0f} bytes", "`bench recovery --only replay`"],
        ["rows in a gigabyte of index", f"{_count(rows_per_gb)}", "index per row"],
        ["log under it", f"{rows_per_gb * found.log_bytes_per_row / GB:.1f} GB", "log per row"],
        [
            "CPU to rebuild it",
            f"{rows_per_gb / found.rebuild_rows_per_cpu_s:.0f} s",
            "`bench recovery --only replay`",
        ],
    ]
    return Table(["cost", "measured", "by"], rows, figures=False)


def assumed(model: Model) -> Table:
    machines = model.machines
    rows = [
        ["cores of a host", f"{machines.cores_per_host}"],
        ["memory of a host", f"{machines.memory_bytes_per_host / GB:.0f} GB"],
        ["of it for the index", f"{machines.index_share_of_memory:.0%}"],
        ["cores in use in the long run", f"{machines.busy:.0%}"],
        ["files that the home takes per second", f"{machines.home_writes_per_s:,.0f}"],
        ["log of a host, both ways", f"{machines.log_bytes_per_s_and_host / 1e6:,.0f} MB per second"],
        ["files of a step, for each task", f"{machines.files_per_task}"],
        ["files of a step besides", f"{machines.files_per_step}"],
    ]
    return Table(["assumed", ""], rows)


def clusters(model: Model) -> Table:
    heads = [
        "cores",
        "step asked for",
        "step",
        "rows per second",
        "window",
        "with 1 h",
        "rows in it",
        "log",
        "recovery",
    ]
    rows = [
        [
            f"{one.cores:,}",
            _time(one.asked_s),
            _time(one.step_s),
            _count(one.rows_per_s),
            _time(one.window_s),
            _count(one.hourly_rows_per_s),
            _count(one.window_rows),
            f"{one.log_bytes / GB:,.0f} GB",
            _time(one.recovery_s),
        ]
        for one in model.grid()
    ]
    return Table(heads, rows)


def loads(model: Model) -> Table:
    rows = [
        [
            f"{one.cores:,}",
            _time(one.asked_s),
            *(f"{load:.0%}" for load in one.loads.values()),
            one.first_to_break,
        ]
        for one in model.grid()
    ]
    return Table(["cores", "step asked for", "coordinator", "home", "log", "breaks first"], rows)


def coordinator(model: Model) -> Table:
    rows = [[_time(step_s), f"{model.most_tasks(step_s):,}"] for step_s in STEPS_S]
    return Table(["step", "tasks that one coordinator can start"], rows)


TABLES = {
    "costs": costs,
    "assumed": assumed,
    "clusters": clusters,
    "loads": loads,
    "coordinator": coordinator,
}


def tables(model: Model) -> dict[str, Callable[[], str]]:
    """By their names on the page, as Markdown."""
    return {name: make(model).markdown for name, make in TABLES.items()}


def show(model: Model) -> None:
    console = Console(highlight=False, width=120)
    for name, make in TABLES.items():
        console.print(make(model).rich(name))


def document(model: Model) -> dict[str, Any]:
    return {
        "measured": asdict(model.costs),
        "assumed": asdict(model.machines),
        "clusters": [
            asdict(one) | {"window_s": one.window_s, "first_to_break": one.first_to_break}
            for one in model.grid()
        ],
    }


def _count(number: float) -> str:
    for size, name in ((1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:.0f}"


def _time(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
