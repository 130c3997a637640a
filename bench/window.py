"""Joins within a window: eight algorithms on five workloads, and what their settings do.

`speed` counts matches of rows at rest; `adaptive` and `changing` set the choice that learns beside the best
of the eight; the other studies are the figures of *Parallelizing Intra-Window Join on Multicores*. See
`docs/papers/intra-window-2021.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.window_adaptive import Changing, Settled, Tell
    from bench.window_studies import Size


def parser(names: tuple[str, ...], algorithms: tuple[str, ...]) -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="dovetail bench window", description=__doc__)
    add = parse.add_argument
    add("--scale", type=float, default=0.1, help="share of the paper's rates and rows (default: %(default)s)")
    add("--threads", type=int, action="append", help="may be given again (default: 1 and the cores)")
    add("--algorithm", choices=algorithms, action="append", help="some alone; may be given again")
    add("--only", choices=names, action="append", help="some studies alone; may be given again")
    add(
        "--repeat",
        type=int,
        default=3,
        help="of runs that count (the best is taken), and rounds of choices (default: %(default)s)",
    )
    add("--data", type=Path, help="a folder with the authors' stock and rovio files (default: generated)")
    add("--seed", type=int, default=1, help="of the generators (default: %(default)s)")
    add("--out", type=Path, help="a folder for the plots, as SVG (default: none are drawn)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the tables")
    return parse


def main(argv: list[str]) -> int:
    _make_importable()
    from bench.window_report import show, show_changing, show_settled
    from bench.window_runs import run_study
    from bench.window_studies import Size, studies
    from dovetail.intra_window.join import ALGORITHMS

    names = tuple(study.name for study in studies(Size(0.1, None, 1, (1,))))
    parse = parser((*names, *CHOICES), ALGORITHMS)
    args = parse.parse_args(argv)
    if args.scale <= 0 or args.repeat <= 0:
        parse.error("--scale and --repeat must be positive")
    threads = tuple(dict.fromkeys(args.threads or (1, os.cpu_count() or 1)))
    asked = Size(args.scale, args.data, args.seed, threads)

    def tell(line: str) -> None:
        print(f"{line} ...", file=sys.stderr, flush=True)

    wanted = args.only or (*names, *CHOICES)
    found = {
        study: run_study(study, threads, tuple(args.algorithm or ALGORITHMS), args.repeat, tell)
        for study in studies(asked)
        if study.name in wanted
    }
    choices = {name: make(asked, args.repeat, tell) for name, make in CHOICES.items() if name in wanted}
    if args.out:
        from bench.window_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        for study, runs in found.items():
            if runs:
                draw(study, runs, args.out)
    settled, changed = choices.get("adaptive", []), choices.get("changing")
    if args.json:
        said = {
            "scale": args.scale,
            "threads": threads,
            "studies": {study.name: [run.to_json() for run in runs] for study, runs in found.items()},
            "adaptive": [one.to_json() for one in settled],
            "changing": changed and changed.to_json(),
        }
        print(json.dumps(said, indent=1))
    else:
        show(found)
        if settled:
            show_settled(settled)
        if changed:
            show_changing(changed)
    right = [run.right for runs in found.values() for run in runs] + [one.right for one in settled]
    return 0 if all(right) and (changed is None or changed.same) else 1


def _settled(size: Size, rounds: int, tell: Tell) -> list[Settled]:
    from bench.window_adaptive import settled
    from bench.window_workloads import WORKLOADS

    windows = [make(size.share(name), size.folder, size.seed) for name, make in WORKLOADS.items()]
    return settled(windows, max(size.threads), rounds, tell)


def _changing(size: Size, rounds: int, tell: Tell) -> Changing:
    from bench.window_adaptive import changing

    return changing(size.scale, max(size.threads), rounds, 12, size.seed, tell)


CHOICES: dict[str, Callable[[Size, int, Tell], Any]] = {"adaptive": _settled, "changing": _changing}
"""What is no study of one window: rounds of all algorithms and of the choice that learns."""


def _make_importable() -> None:
    """`dovetail bench` loads this file by its path: let it find the package it belongs to."""
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
