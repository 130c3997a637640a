"""Recovery: how fast a window is replayed, what snapshots cost, and the paper's restart (figure 11).

`replay` rebuilds a right window from the log beside merely reading it; `snapshots` times them against their
steps; `figure_11` kills a join while input goes on arriving; `restart` kills `dovetail run` and Spark's own
join and starts each again on its state. See `docs/how-to/benchmark.md` and `docs/papers/facebook-2018.md`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.command import Command, finish, tell

PARTS = ("replay", "snapshots", "figure_11", "restart")


def command() -> Command:
    made = Command("recovery", __doc__)
    made.number("--rows", 20_000_000, "right rows in the window")
    made.number("--commit-rows", 100_000, "rows of a commit")
    made.count("--seed", 1, "random seed")
    made.number("--repeat", 3, "replays")
    made.number("--step-rows", 200_000, "rows per side of a step, for snapshots")
    made.number("--rate", 40_000, "right rows per second of figure 11")
    made.number("--calm", 10.0, "seconds before the kill of figure 11")
    made.number("--after", 30.0, "seconds after it")
    made.count("--spark-rows", 2_000_000, "right rows in the state of Spark's own join; 0 leaves it out")
    made.parts(PARTS)
    made.add_argument("--work", type=Path, help="a folder with room for the log; default: a temporary one")
    made.add_argument("--out", type=Path, help="draw the plot, as SVG, into this folder")
    return made


def main(argv: list[str]) -> int:
    from bench import recovery_report
    from bench.recovery_window import WindowSize

    args = command().parse_args(argv)
    size = WindowSize(args.rows, args.commit_rows, seed=args.seed)
    report = recovery_report.Report()
    for part in args.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="dovetail-recovery-", dir=args.work) as folder:
            setattr(report, part, _made(part, args, size, Path(folder)))
    if args.out and report.figure_11:
        from bench.recovery_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        draw(report.figure_11, args.out)
    finish(args.json, report.to_json(), lambda: recovery_report.show(report))
    return 0 if report.sound else 1


def _made(part: str, args: argparse.Namespace, size: object, work: Path) -> object:
    from bench.recovery_figure import Plan, figure_11
    from bench.recovery_replay import replay
    from bench.recovery_snapshots import snapshots

    def say(line: str) -> None:
        tell(f"{part.replace('_', ' ')}: {line} ...")

    if part == "replay":
        return replay(size, work, args.repeat, say)
    if part == "snapshots":
        return snapshots(args.step_rows, 10, args.seed, work, say)
    if part == "figure_11":
        return figure_11(Plan(size, args.rate, args.calm, args.after), work, say)
    from bench.recovery_restart import restart

    return restart(size, args.spark_rows, work, say)
