"""The paper's experiments on accuracy, memory and stream time, on generated streams of the paper's shapes.

Figures 8, 9, 10 and 12 of the Facebook paper, and what pacing does to a stream that lags by hours. The join
runs on a simulated clock, without Spark. See `docs/papers/facebook-2018.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

FIGURES = ("figure_8", "figures_9_and_10", "figure_12", "lagging")


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="dovetail bench accuracy", description=__doc__)
    add = parse.add_argument
    add("--seed", type=int, default=1, help="of the generator (default: %(default)s)")
    add("--days", type=int, default=7, help="of figure 8 (default: %(default)s)")
    add("--window-days", type=int, default=3, help="of figures 9 and 10 (default: %(default)s)")
    add("--per-second", type=float, default=3.0, help="searches, on average (default: %(default)s)")
    add("--estimate-per-second", type=float, default=50.0, help="rows of figure 12 (default: %(default)s)")
    add("--estimate-hours", type=float, default=24.0, help="of figure 12 (default: %(default)s)")
    add("--lag-hours", type=float, default=3.0, help="of the stream that lags (default: %(default)s)")
    add("--only", choices=FIGURES, action="append", help="some experiments alone; may be given again")
    add("--out", type=Path, help="a folder for the plots, as SVG (default: none are drawn)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the tables")
    return parse


def main(argv: list[str]) -> int:
    _make_importable()
    from bench import accuracy_figures as figures
    from bench.accuracy_report import show

    parse = parser()
    args = parse.parse_args(argv)
    for name in ("days", "window_days", "per_second", "estimate_per_second", "estimate_hours", "lag_hours"):
        if getattr(args, name) <= 0:
            parse.error(f"--{name.replace('_', '-')} must be positive")
    settings = figures.Settings(
        seed=args.seed,
        days=args.days,
        window_days=args.window_days,
        per_s=args.per_second,
        estimate_per_s=args.estimate_per_second,
        estimate_hours=args.estimate_hours,
        lag_hours=args.lag_hours,
    )
    made = {}
    for name in args.only or FIGURES:
        print(f"{name.replace('_', ' ')} ...", file=sys.stderr, flush=True)
        made[name] = getattr(figures, name)(settings)
    report = figures.Report(settings, **made)
    if args.out:
        from bench.accuracy_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        draw(report, args.out)
    if args.json:
        print(json.dumps(report.to_json(), indent=1))
    else:
        show(report)
    return 0


def _make_importable() -> None:
    """`dovetail bench` loads this file by its path: let it find the package it belongs to."""
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
