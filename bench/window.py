"""Joins within a window: eight algorithms on five workloads, and what their settings do.

`speed` counts matches of rows at rest; `adaptive` and `changing` set the choice that learns beside the best
of the eight; the other studies are the figures of *Parallelizing Intra-Window Join on Multicores*. See
`docs/papers/intra-window-2021.md`.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import Command, finish, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.window_adaptive import Changing, Say, Settled
    from bench.window_studies import Size


def command(names: tuple[str, ...], algorithms: tuple[str, ...]) -> Command:
    made = Command("window", __doc__)
    made.parts(names)
    made.number("--scale", 0.1, "share of the paper's rates and rows")
    made.number("--repeat", 3, "runs of each count, of which the best is taken, and rounds of choices")
    made.count("--seed", 1, "random seed of the generators")
    add = made.add_argument
    add("--threads", type=int, action="append", help="repeat for several (default: 1 and one per core)")
    add("--algorithm", choices=algorithms, action="append", help="run only this one; repeat for several")
    add("--data", type=Path, help="folder with the authors' stock and rovio files (default: generated)")
    add("--out", type=Path, help="folder for the plots, as SVG (default: draw none)")
    return made


def main(argv: list[str]) -> int:
    from bench.window_report import draw, show, show_changing, show_settled
    from bench.window_studies import Size, run_study, studies
    from dovetail.intra_window.join import ALGORITHMS

    names = tuple(study.name for study in studies(Size(0.1, None, 1, (1,))))
    args = command((*names, *CHOICES), ALGORITHMS).parse_args(argv)
    threads = tuple(dict.fromkeys(args.threads or (1, os.cpu_count() or 1)))
    asked = Size(args.scale, args.data, args.seed, threads)

    def say(line: str) -> None:
        tell(f"{line} ...")

    wanted = args.only or (*names, *CHOICES)
    found = {
        study: run_study(study, threads, tuple(args.algorithm or ALGORITHMS), args.repeat, say)
        for study in studies(asked)
        if study.name in wanted
    }
    choices = {name: make(asked, args.repeat, say) for name, make in CHOICES.items() if name in wanted}
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        for study, runs in found.items():
            if runs:
                draw(study, runs, args.out)
    settled, changed = choices.get("adaptive", []), choices.get("changing")
    document = {
        "scale": args.scale,
        "threads": threads,
        "studies": {study.name: [asdict(run) for run in runs] for study, runs in found.items()},
        "adaptive": [asdict(one) for one in settled],
        "changing": changed and asdict(changed),
    }

    def show_all() -> None:
        show(found)
        if settled:
            show_settled(settled)
        if changed:
            show_changing(changed)

    finish(args.json, document, show_all)
    right = [run.right for runs in found.values() for run in runs] + [one.right for one in settled]
    return 0 if all(right) and (changed is None or changed.same) else 1


def _settled(size: Size, rounds: int, say: Say) -> list[Settled]:
    from bench.window_adaptive import settled
    from bench.window_workloads import WORKLOADS

    windows = [make(size.share(name), size.folder, size.seed) for name, make in WORKLOADS.items()]
    return settled(windows, max(size.threads), rounds, say)


def _changing(size: Size, rounds: int, say: Say) -> Changing:
    from bench.window_adaptive import changing

    return changing(size.scale, max(size.threads), rounds, 12, size.seed, say)


CHOICES: dict[str, Callable[[Size, int, Say], Any]] = {"adaptive": _settled, "changing": _changing}
"""What is no study of one window: rounds of all algorithms and of the choice that learns."""
