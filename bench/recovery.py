"""Recovery: how fast a window is replayed, what snapshots cost, and the paper's restart (figure 11).

`replay` rebuilds a right window from the log beside merely reading it; `snapshots` times them against their
steps; `figure_11` kills a join while input goes on arriving; `restart` kills `dovetail run` and Spark's own
join and starts each again on its state. See `docs/how-to/benchmark.md` and `docs/papers/facebook-2018.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

PARTS = ("replay", "snapshots", "figure_11", "restart")


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="dovetail bench recovery", description=__doc__)
    add = parse.add_argument
    add("--rows", type=int, default=20_000_000, help="right rows in the window (default: %(default)s)")
    add("--commit-rows", type=int, default=100_000, help="rows of a commit (default: %(default)s)")
    add("--seed", type=int, default=1, help="of the generator (default: %(default)s)")
    add("--repeat", type=int, default=3, help="of the replay (default: %(default)s)")
    add(
        "--step-rows",
        type=int,
        default=200_000,
        help="rows a side of a step, for snapshots (default: %(default)s)",
    )
    add("--rate", type=int, default=40_000, help="right rows per second of figure 11 (default: %(default)s)")
    add(
        "--calm", type=float, default=10.0, help="seconds before the kill of figure 11 (default: %(default)s)"
    )
    add("--after", type=float, default=30.0, help="seconds after it (default: %(default)s)")
    add(
        "--spark-rows",
        type=int,
        default=2_000_000,
        help="right rows in the state of Spark's own join; 0 leaves it out (default: %(default)s)",
    )
    add("--only", choices=PARTS, action="append", help="some parts alone; may be given again")
    add("--work", type=Path, help="a folder with room for the log (default: the temporary directory)")
    add("--out", type=Path, help="a folder for the plot, as SVG (default: none is drawn)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the tables")
    return parse


def main(argv: list[str]) -> int:
    _make_importable()
    from bench import recovery_report
    from bench.recovery_window import WindowSize

    parse = parser()
    args = parse.parse_args(argv)
    for name in ("rows", "commit_rows", "repeat", "step_rows", "rate", "calm", "after"):
        if getattr(args, name) <= 0:
            parse.error(f"--{name.replace('_', '-')} must be positive")
    size = WindowSize(args.rows, args.commit_rows, seed=args.seed)
    report = recovery_report.Report()
    for part in args.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="dovetail-recovery-", dir=args.work) as folder:
            setattr(report, part, _made(part, args, size, Path(folder)))
    if args.out and report.figure_11:
        from bench.recovery_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        draw(report.figure_11, args.out)
    if args.json:
        print(json.dumps(report.to_json(), indent=1))
    else:
        recovery_report.show(report)
    return 0 if report.sound else 1


def _made(part: str, args: argparse.Namespace, size: object, work: Path) -> object:
    from bench.recovery_figure import Plan, figure_11
    from bench.recovery_replay import replay
    from bench.recovery_snapshots import snapshots

    def tell(line: str) -> None:
        print(f"{part.replace('_', ' ')}: {line} ...", file=sys.stderr, flush=True)

    if part == "replay":
        return replay(size, work, args.repeat, tell)
    if part == "snapshots":
        return snapshots(args.step_rows, 10, args.seed, work, tell)
    if part == "figure_11":
        return figure_11(Plan(size, args.rate, args.calm, args.after), work, tell)
    from bench.recovery_restart import restart

    return restart(size, args.spark_rows, work, tell)


def _make_importable() -> None:
    """`dovetail bench` loads this file by its path: let it find the package it belongs to."""
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
