"""What a step costs with a long past: many commits behind it, many open left rows, many rows in the window.

Joins that differ only in their past take the same steps in turn, in one process and without Spark: plan, run
with its snapshot, retain. Two parts. `past`: steps of a few new rows, with many commits or many open left
rows behind them; a step may cost 10 % more than with a short past. `window`: steps of many new rows, with few
and with very many right rows in the window, as many leaving as come; the cost of a new row may differ by
15 % in CPU time, appended to the log and joined, and a row held may take 32 bytes. A ratio is that of
medians, to the join with the shortest past.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.command import Command, finish, tell

if TYPE_CHECKING:
    from bench.steps_work import Past, Steps

MOST_STEP_RATIO, MOST_ROW_RATIO, MOST_ROW_BYTES = 1.10, 1.15, 32.0


def main(argv: list[str]) -> int:
    command = Command("steps", __doc__)
    add = command.add_argument
    command.numbers("--commits", [100, 100_000], "commits behind the steps")
    command.numbers("--open-rows", [10_000, 2_000_000], "open left rows")
    command.numbers("--window-rows", [1_000_000, 10_000_000], "right rows in the window")
    command.number("--new-rows", 2_000, "new rows of a step with a long past, half of them on each side")
    command.number("--many-rows", 200_000, "new rows of a step with a large window")
    command.number("--steps", 48, "steps that count; of those with many new rows a quarter")
    command.number("--warm", 8, "steps before that")
    add("--work", type=Path, help="folder for the homes (default: a temporary one)")
    add("--index", type=Path, help="folder for the indexes (default: where a run has them)")
    command.parts(("past", "window"))
    arguments = command.parse_args(argv)
    parts = arguments.only or ["past", "window"]
    found: dict[str, Any] = {}
    if "past" in parts:
        found["past"] = past_of(arguments)
    if "window" in parts:
        found["window"] = window_of(arguments)
    found["holds"] = all(one["holds"] for part in found.values() for one in part["verdicts"])
    finish(arguments.json, found, lambda: show(found))
    return 0


def past_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Steps of a few rows, in turn with all pasts."""
    from bench.steps_work import Past

    (few, *many), (short, *long) = arguments.commits, arguments.open_rows
    pasts = [Past(few, short), *(Past(one, short) for one in many), *(Past(few, one) for one in long)]
    rows, steps = arguments.new_rows, arguments.steps
    made = _measured(arguments, pasts, rows, steps, arguments.warm)
    verdicts = [
        _verdict(f"step with {_named(one)}", one["ratio"]["step"], MOST_STEP_RATIO) for one in made[1:]
    ]
    return {"new_rows": rows, "steps": steps, "joins": made, "verdicts": verdicts}


def window_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Steps of many rows: each large window in turn with the smallest one, so that two are held at once."""
    from bench.steps_work import Past

    few, *many = [Past.of_window(rows, arguments.open_rows[0]) for rows in arguments.window_rows]
    rows, steps = arguments.many_rows, max(3, arguments.steps // 4)
    made: list[dict[str, Any]] = []
    for past in many:
        small, large = _measured(arguments, [few, past], rows, steps, max(2, arguments.warm // 4))
        made += [large] if made else [small, large]
    verdicts = []
    for one in made:
        if one is not made[0]:
            verdicts.append(_verdict(f"new row with {_named(one)}", one["ratio"]["row_cpu"], MOST_ROW_RATIO))
        verdicts.append(_verdict(f"bytes a row with {_named(one)}", one["bytes_per_row"], MOST_ROW_BYTES))
    return {"new_rows": rows, "steps": steps, "joins": made, "verdicts": verdicts}


def _measured(
    arguments: argparse.Namespace, pasts: Sequence[Past], new_rows: int, steps: int, warm: int
) -> list[dict[str, Any]]:
    """What the steps of these joins cost; the first is what the others are compared with."""
    from bench.steps_work import build
    from dovetail.engine.index_folders import index_root
    from dovetail.engine.live_index import unmap_all

    root = arguments.index or index_root(None)
    root.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=arguments.work) as work,
        tempfile.TemporaryDirectory(dir=root) as index,
    ):
        joins = []
        for number, past in enumerate(pasts):
            tell(
                f"{past.commits:,} commits, {past.open_rows:,} open left rows, {past.right_rows:,} right rows"
            )
            joins.append(build(Path(work, str(number)), Path(index, str(number)), past))
        tell(f"{warm} + {steps} steps of {new_rows:,} new rows")
        for number in range(warm + steps):
            for join in joins:
                if number == warm:
                    join.forget_times()
                join.step(new_rows)
        found = [_found(join, new_rows) for join in joins]
        unmap_all()
    for one in found:
        one["ratio"] = {phase: value / found[0]["ms"][phase] for phase, value in one["ms"].items()}
        one["ratio"]["cpu"] = one["cpu_ms"] / found[0]["cpu_ms"]
        one["ratio"]["row_cpu"] = one["row_cpu_ns"] / found[0]["row_cpu_ns"]
    return found


def _found(join: Steps, new_rows: int) -> dict[str, Any]:
    wholes = join.steps_s
    appended_and_joined = [one + other for one, other in zip(join.seconds["append"], wholes, strict=True)]
    middle = {phase: 1e3 * median(seconds) for phase, seconds in join.seconds.items()}
    return {
        "commits": join.past.commits,
        "open_rows": join.past.open_rows,
        "window_rows": join.past.window_rows,
        "first_step_ms": 1e3 * (join.first_s or 0.0),
        "out_rows": join.rows,
        "mean_ms": 1e3 * sum(wholes) / len(wholes),
        "longest_ms": 1e3 * max(wholes),
        "cpu_ms": 1e3 * median(join.cpu_s),
        "row_ns": 1e9 * median(appended_and_joined) / new_rows,
        "row_cpu_ns": 1e9 * median(join.all_cpu_s) / new_rows,
        "bytes_per_row": join.index_bytes_per_row,
        "ms": {**middle, "step": 1e3 * median(wholes), "all": 1e3 * median(appended_and_joined)},
    }


def _verdict(what: str, value: float, most: float) -> dict[str, Any]:
    return {"what": what, "value": value, "most": most, "holds": value <= most}


def _named(one: dict[str, Any]) -> str:
    if one["window_rows"]:
        return f"{one['window_rows']:,} rows in the window"
    return f"{one['commits']:,} commits and {one['open_rows']:,} open rows"


def show(found: dict[str, Any]) -> None:
    console = Console(width=max(100, Console().width))
    for part in (found[name] for name in ("past", "window") if name in found):
        console.print(_table(part))
        for one in part["verdicts"]:
            says = "holds" if one["holds"] else "DOES NOT HOLD"
            console.print(f"{one['what']}: {one['value']:.2f}, at most {one['most']:.2f}: {says}")


def _table(part: dict[str, Any]) -> Table:
    of_window = bool(part["joins"][0]["window_rows"])
    table = Table(title=f"steps of {part['new_rows']:,} new rows, medians of {part['steps']}")
    phases = ("append", "run", "all") if of_window else ("plan", "run", "retain", "step")
    cpu = ("row CPU ns", "ratio", "bytes a row") if of_window else ("CPU ms", "ratio", "mean ms", "longest")
    for heading in (
        "window" if of_window else "commits / open rows",
        *(f"{phase} ms" for phase in phases),
        "ratio",
        *cpu,
    ):
        table.add_column(heading, justify="right")
    for one in part["joins"]:
        last = [one["row_cpu_ns"], one["ratio"]["row_cpu"], one["bytes_per_row"]]
        if not of_window:
            last = [one["cpu_ms"], one["ratio"]["cpu"], one["mean_ms"], one["longest_ms"]]
        table.add_row(
            f"{one['window_rows']:,}" if of_window else f"{one['commits']:,} / {one['open_rows']:,}",
            *(f"{one['ms'][phase]:.1f}" for phase in phases),
            f"{one['ratio'][phases[-1]]:.2f}",
            f"{last[0]:.1f}",
            f"{last[1]:.2f}",
            *(f"{value:.1f}" for value in last[2:]),
        )
    return table
