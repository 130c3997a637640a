"""The paper's experiments on accuracy, memory and stream time, on generated streams of the paper's shapes.

Figures 8, 9, 10 and 12 of the Facebook paper, what pacing does to a stream that lags by hours, and what each
kind of stream time costs over all arrival processes. The join runs on a simulated clock, without Spark. See
`docs/papers/facebook-2018.md` and `docs/concepts/time.md`.
"""

from __future__ import annotations

from pathlib import Path

from bench.command import Command, finish, tell

FIGURES = ("figure_8", "figures_9_and_10", "figure_12", "lagging", "defaults")


def command() -> Command:
    made = Command("accuracy", __doc__)
    made.count("--seed", 1, "random seed")
    made.number("--days", 7, "days of figure 8")
    made.number("--window-days", 3, "days of figures 9 and 10")
    made.number("--per-second", 3.0, "searches per second, on average")
    made.number("--estimate-per-second", 50.0, "rows per second of figure 12")
    made.number("--estimate-hours", 24.0, "hours of figure 12")
    made.number("--lag-hours", 3.0, "lag of the stream that lags")
    made.number("--defaults-hours", 3.0, "hours of each process, for the defaults")
    made.number("--defaults-per-second", 5.0, "rows per second of each process, for the defaults")
    made.number("--defaults-sparse-per-second", 0.1, "the same for the sparse ones")
    made.add_argument("--each", action="store_true", help="for the defaults, also a line per process")
    made.parts(FIGURES)
    made.add_argument("--out", type=Path, help="draw plots, as SVG, into this folder")
    return made


def main(argv: list[str]) -> int:
    from bench import accuracy_figures as figures
    from bench.accuracy_report import show

    args = command().parse_args(argv)
    settings = figures.Settings(
        seed=args.seed,
        days=args.days,
        window_days=args.window_days,
        per_s=args.per_second,
        estimate_per_s=args.estimate_per_second,
        estimate_hours=args.estimate_hours,
        lag_hours=args.lag_hours,
        defaults_hours=args.defaults_hours,
        defaults_per_s=args.defaults_per_second,
        defaults_sparse_per_s=args.defaults_sparse_per_second,
    )
    made = {}
    for name in args.only or FIGURES:
        tell(f"{name.replace('_', ' ')} ...")
        made[name] = getattr(figures, name)(settings)
    report = figures.Report(settings, **made)
    if args.out:
        from bench.accuracy_plots import draw

        args.out.mkdir(parents=True, exist_ok=True)
        draw(report, args.out)
    finish(args.json, report.to_json(), lambda: show(report, each=args.each))
    return 0
