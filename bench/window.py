"""Joins within a window: eight algorithms on five workloads, and what their settings do.

`speed` counts matches of rows at rest; the other studies are the figures of *Parallelizing Intra-Window
Join on Multicores*. See `docs/papers/intra-window-2021.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.window_choice import Judged
    from bench.window_runs import Run
    from bench.window_studies import Study


def parser(names: tuple[str, ...], algorithms: tuple[str, ...]) -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="dovetail bench window", description=__doc__)
    add = parse.add_argument
    add("--scale", type=float, default=0.1, help="share of the paper's rates and rows (default: %(default)s)")
    add("--threads", type=int, action="append", help="may be given again (default: 1 and the cores)")
    add("--algorithm", choices=algorithms, action="append", help="some alone; may be given again")
    add("--only", choices=names, action="append", help="some studies alone; may be given again")
    add("--repeat", type=int, default=3, help="of runs that count; the best is taken (default: %(default)s)")
    add("--data", type=Path, help="a folder with the authors' stock and rovio files (default: generated)")
    add("--seed", type=int, default=1, help="of the generators (default: %(default)s)")
    add("--out", type=Path, help="a folder for the plots, as SVG (default: none are drawn)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the tables")
    return parse


def main(argv: list[str]) -> int:
    _make_importable()
    from bench.window_report import show, show_choices
    from bench.window_runs import run_study
    from bench.window_studies import Size, studies
    from dovetail.joins.window.join import ALGORITHMS

    names = tuple(study.name for study in studies(Size(0.1, None, 1, (1,))))
    parse = parser(names, ALGORITHMS)
    args = parse.parse_args(argv)
    if args.scale <= 0 or args.repeat <= 0:
        parse.error("--scale and --repeat must be positive")
    threads = tuple(dict.fromkeys(args.threads or (1, os.cpu_count() or 1)))
    asked = Size(args.scale, args.data, args.seed, threads)

    def tell(line: str) -> None:
        print(f"{line} ...", file=sys.stderr, flush=True)

    found = {
        study: run_study(study, threads, tuple(args.algorithm or ALGORITHMS), args.repeat, tell)
        for study in studies(asked)
        if study.name in (args.only or names)
    }
    judged = [
        one for study, runs in found.items() if study.name == "workloads" for one in _judged(study, runs)
    ]
    if args.out:
        from bench.window_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        for study, runs in found.items():
            if runs:
                draw(study, runs, args.out)
    if args.json:
        said = {study.name: [run.to_json() for run in runs] for study, runs in found.items()}
        choices = [one.to_json() for one in judged]
        print(
            json.dumps(
                {"scale": args.scale, "threads": threads, "studies": said, "choices": choices}, indent=1
            )
        )
    else:
        show(found)
        if judged:
            show_choices(judged)
    return 0 if all(run.right for runs in found.values() for run in runs) else 1


def _judged(study: Study, runs: list[Run]) -> list[Judged]:
    """With the most threads that were measured; the costs are those of this machine, now."""
    from bench.window_choice import judge
    from dovetail.joins.window.cost import calibrate

    return judge(study, runs, calibrate(max(run.threads for run in runs))) if runs else []


def _make_importable() -> None:
    """`dovetail bench` loads this file by its path: let it find the package it belongs to."""
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
