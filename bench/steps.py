"""What a step of a few new rows costs with a long past: many commits behind it, many open left rows.

Joins that differ only in their past take the same steps in turn, in one process and without Spark: plan, run
with its snapshot, retain. A ratio is that of a phase's median to that of the join with the short past.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.command import Command, finish, tell

SHORT_COMMITS, SHORT_OPEN = 128, 10_000


def main(argv: list[str]) -> int:
    command = Command("steps", __doc__)
    command.number("--commits", 100_000, "commits behind the steps of the join with many")
    command.number("--open-rows", 2_000_000, "open left rows of the join with many")
    command.number("--new-rows", 2_000, "new rows of a step, half of them on each side")
    command.number("--steps", 48, "steps that count")
    command.number("--warm", 8, "steps before that")
    command.add_argument("--work", type=Path, help="folder for the homes (default: a temporary one)")
    arguments = command.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        found = measure(
            Path(work),
            arguments.commits,
            arguments.open_rows,
            arguments.new_rows,
            arguments.steps,
            arguments.warm,
        )
    finish(arguments.json, found, lambda: show(found))
    return 0


def measure(work: Path, commits: int, open_rows: int, new_rows: int, steps: int, warm: int) -> dict[str, Any]:
    from bench.steps_work import PHASES, Past, build

    pasts = {
        "short": Past(SHORT_COMMITS, SHORT_OPEN),
        "many commits": Past(commits, SHORT_OPEN),
        "many open rows": Past(SHORT_COMMITS, open_rows),
    }
    joins = {}
    for name, past in pasts.items():
        tell(f"{name}: {past.commits:,} commits, {past.open_rows:,} open left rows")
        joins[name] = build(work / name.replace(" ", "_"), past)
    tell(f"{warm} + {steps} steps of {new_rows:,} new rows")
    for number in range(warm + steps):
        if number == warm:
            for join in joins.values():
                for seconds in join.seconds.values():
                    seconds.clear()
        for join in joins.values():
            join.step(new_rows)
    found: dict[str, Any] = {"new_rows": new_rows, "steps": steps, "joins": {}}
    for name, join in joins.items():
        wholes = [sum(parts) for parts in zip(*join.seconds.values(), strict=True)]
        middle = {phase: 1e3 * median(join.seconds[phase]) for phase in PHASES}
        middle["step"] = 1e3 * median(wholes)
        found["joins"][name] = {
            "commits": join.past.commits,
            "open_rows": join.past.open_rows,
            "first_step_ms": 1e3 * (join.first_s or 0.0),
            "out_rows": join.rows,
            "longest_ms": 1e3 * max(wholes),
            "ms": middle,
        }
    short = found["joins"]["short"]["ms"]
    for one in found["joins"].values():
        one["ratio"] = {phase: value / short[phase] for phase, value in one["ms"].items()}
    return found


def show(found: dict[str, Any]) -> None:
    table = Table(title=f"steps of {found['new_rows']:,} new rows, median of {found['steps']}, ms")
    phases = list(next(iter(found["joins"].values()))["ms"])
    for heading in ("join", "commits", "open rows", *phases, "ratio", "longest", "first"):
        table.add_column(heading, justify="left" if heading == "join" else "right")
    for name, one in found["joins"].items():
        table.add_row(
            name,
            f"{one['commits']:,}",
            f"{one['open_rows']:,}",
            *(f"{one['ms'][phase]:.1f}" for phase in phases),
            f"{one['ratio']['step']:.2f}",
            f"{one['longest_ms']:.0f}",
            f"{one['first_step_ms']:.0f}",
        )
    Console().print(table)
