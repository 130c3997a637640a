"""Sliding-window joins: the rate each design holds, its latency by stage, the scan beside C, the simulator
beside it all.

`scan` compares the band scan with the same loop in C; `designs` has each design at each window and number of
cores, with four rows a pass and with one; `visiting` has their latencies at a steady rate; `order`,
`selectivity` and `windows` vary SplitJoin; `index` is the band index at large windows; `latency` pushes rows
one at a time; `simulated` measures costs (kept with --costs) and sets the simulator beside the measurement.
Before anything is timed, every design must make the same pairs of one stream.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.command import Command, finish, tell

PARTS = ("scan", "designs", "visiting", "order", "selectivity", "windows", "index", "latency", "simulated")


def command() -> Command:
    made = Command("sliding", __doc__)
    made.parts(PARTS)
    made.number("--index-window", 21, "window of `index`, a power of two")
    made.number("--seconds", 2.0, "length of each run")
    made.number("--repeat", 3, "scans and measurements of costs, of which the median counts")
    add = made.add_argument
    add("--windows", default="14,16,18", help="windows of `designs`, as powers of two (default: 14,16,18)")
    add("--cores", default="1,2", help="cores of `designs` (default: 1,2)")
    add("--design", action="append", help="one design alone; can be repeated")
    add("--costs", type=Path, help="write the measured costs here: dovetail simulate --costs FILE reads them")
    add("--out", type=Path, help="draw plots, as SVG, into this folder")
    return made


def main(argv: list[str]) -> int:
    from bench import sliding_report
    from bench.sliding_parts import Asked, equal_pairs, part

    args = command().parse_args(argv)
    asked = Asked(
        [1 << int(power) for power in args.windows.split(",")],
        [int(cores) for cores in args.cores.split(",")],
        args.design,
        1 << args.index_window,
        args.seconds,
        args.repeat,
        args.costs,
    )
    right = equal_pairs(asked)
    found: dict[str, Any] = {"equal": right}
    for name in args.only or PARTS:
        tell(f"sliding: {name} ...")
        found[name] = part(name, asked)
        if not args.json:
            sliding_report.show(name, found[name])
    if args.out:
        from bench.sliding_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        draw(found, args.out)
    finish(args.json, found, lambda: sliding_report.show("equal", right))
    return 0 if right["same"] else 1
