"""Sliding-window joins: the rate each design holds, its latency by stage, the scan beside C, the simulator
beside it all.

`scan` compares the band scan with the same loop in C; `designs` has each design at each window and number of
cores; `order`, `selectivity` and `windows` vary SplitJoin; `index` is the band index at large windows;
`latency` pushes rows one at a time; `simulated` measures costs (kept with --costs) and sets the simulator
beside the measurement. Before anything is timed, every design must make the same pairs of one stream.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

PARTS = ("scan", "designs", "order", "selectivity", "windows", "index", "latency", "simulated")


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="dovetail bench sliding", description=__doc__)
    add = parse.add_argument
    add("--only", choices=PARTS, action="append", help="some parts alone; may be given again")
    add("--windows", default="14,16,18", help="of `designs`, as powers of two (default: %(default)s)")
    add("--cores", default="1,2", help="of `designs` (default: %(default)s)")
    add("--design", action="append", help="some designs alone; may be given again")
    add("--index-window", type=int, default=21, help="of `index`, a power of two (default: %(default)s)")
    add("--seconds", type=float, default=2.0, help="of each run (default: %(default)s)")
    add("--repeat", type=int, default=3, help="of scans and costs; medians are shown (default: %(default)s)")
    add("--costs", type=Path, help="a file for the costs measured: dovetail simulate --costs FILE takes it")
    add("--out", type=Path, help="a folder for plots, as SVG (default: none is drawn)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the tables")
    return parse


def main(argv: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench import sliding_report
    from bench.sliding_parts import Asked, equal_pairs, part

    parse = parser()
    args = parse.parse_args(argv)
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
        print(f"sliding: {name} ...", file=sys.stderr, flush=True)
        found[name] = part(name, asked)
        if not args.json:
            sliding_report.show(name, found[name])
    if args.out:
        from bench.sliding_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        draw(found, args.out)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        sliding_report.show("equal", right)
    return 0 if right["same"] else 1
