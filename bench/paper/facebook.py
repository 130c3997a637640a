"""*Providing Streaming Joins as a Service at Facebook* (VLDB 2018): section 7."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.paper.exhibit import Effort, Exhibit, Finding, Made, Paper
from bench.tables import Table


def _settings(effort: Effort) -> Any:
    from bench.accuracy_figures import Settings

    if not effort.quick:
        return Settings(seed=effort.seed)
    return Settings(
        seed=effort.seed,
        days=1,
        window_days=1,
        per_s=0.05,
        window_hours=(1, 6),
        estimate_per_s=2.0,
        estimate_hours=2.0,
        lag_hours=1.0,
    )


def _drawn(effort: Effort, **made: Any) -> None:
    if effort.out is not None:
        from bench.accuracy_figures import Report
        from bench.accuracy_plots import draw

        draw(Report(_settings(effort), **made), effort.out)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def figure_8(effort: Effort) -> Made:
    from bench.accuracy_figures import BATCH, REALTIME
    from bench.accuracy_figures import figure_8 as accuracy

    found = accuracy(_settings(effort))
    names = (*BATCH, REALTIME)
    paper = dict(zip(names, (0.9323, 0.9407, 0.9249, 0.9244), strict=True))
    rows = [
        ("paper", *(_percent(paper[name]) for name in names)),
        ("here", *(_percent(found.mean[name]) for name in names)),
    ]
    _drawn(effort, figure_8=found)
    table = Table(
        ("mean of the days", *(name.replace("-ws-", " ").replace("-", " ", 1) for name in names)), rows
    )
    values = {
        "batch": found.mean[BATCH[-1]],
        "realtime": found.mean[REALTIME],
        "day": found.mean[BATCH[0]],
        "two": found.mean[BATCH[1]],
    }
    return Made({"": table}, ("facebook-2018-figure-8.svg",), values)


def figures_9_and_10(effort: Effort) -> Made:
    """Memory in rows, and in bytes as the index of a real join holds them."""
    from bench.accuracy_figures import figures_9_and_10 as windows

    found = windows(_settings(effort))
    per_row = bytes_per_row(effort)
    rows = [
        (
            f"{one.hours:g} h",
            f"{one.peak_rows:,}",
            f"{one.peak_rows * per_row / 2**20:,.1f}",
            _percent(one.success),
            _percent(one.batch),
        )
        for one in found
    ]
    heads = ("window", "rows held, peak", "MiB of index, peak", "success", "batch, same window")
    first, last = found[0], found[-1]
    growth = last.peak_rows / first.peak_rows
    gained = 100 * (last.success - first.success)
    beside = Table(
        (f"from {first.hours:g} h to {last.hours:g} h", "paper", "here"),
        [
            ("memory at the peak", "about 10 GB to more than 50 GB", f"{growth:.1f} times"),
            ("success rate, points", "+1.24", f"{gained:+.2f} (the batch joins are set near the paper's)"),
        ],
        figures=False,
    )
    _drawn(effort, figures_9_and_10=found, row_bytes=per_row)
    values = {"growth": growth, "hours": last.hours / first.hours, "gained": gained, "found": found}
    return Made(
        {"": Table(heads, rows), "Beside the paper": beside}, ("facebook-2018-figures-9-10.svg",), values
    )


def bytes_per_row(effort: Effort) -> float:
    """For an index that really holds many rows."""
    from bench.memory import measure

    return float(measure(5_000 if effort.quick else 2_000_000)["index_bytes_per_row"])


def figure_11(effort: Effort) -> Made:
    """A join over a full window is killed while rows go on arriving, and its index is lost."""
    import tempfile
    from pathlib import Path

    from bench.recovery_figure import Plan
    from bench.recovery_figure import figure_11 as restart
    from bench.recovery_window import WindowSize

    plan = Plan(WindowSize(20_000_000, 100_000, seed=effort.seed))
    if effort.quick:
        plan = Plan(WindowSize(20_000, 5_000, seed=effort.seed), 2_000, 1.0, 4.0)
    with tempfile.TemporaryDirectory(prefix="dovetail-papers-") as folder:
        found = restart(plan, Path(folder), lambda line: None)
    pictures = ()
    if effort.out is not None:
        from bench.recovery_plots import draw

        draw(found, effort.out)
        pictures = ("facebook-2018-figure-11.svg",)
    line = found.line
    before = max((size for at, size in zip(line["s"], line["index_bytes"], strict=True) if at < 0), default=0)
    after = max((size for at, size in zip(line["s"], line["index_bytes"], strict=True) if at >= 0), default=0)
    rows = [
        ("window", "3 hours", f"{found.rows:,} rows"),
        ("memory of the window", "about 20 GB", f"{before / 2**20:,.0f} MiB of index"),
        (
            "until the state is rebuilt",
            "minutes 31-32, after a restart in minute 28",
            f"{_seconds(found.down_s)}, of which {_seconds(found.replay_s)} are the rebuild",
        ),
        ("peak of memory after it", "yes, while the backlog is worked off", f"{after / 2**20:,.0f} MiB"),
        (
            "until the backlog is gone",
            "minute 37, nine minutes after the restart",
            _seconds(found.caught_up_s)
            if found.caught_up_s is None
            else f"{found.caught_up_s:.1f} s after the kill",
        ),
    ]
    values = {"before": before, "after": after, "down_s": found.down_s, "caught_up_s": found.caught_up_s}
    return Made({"": Table(("", "paper", "here"), rows, figures=False)}, pictures, values)


def figure_11_spark(effort: Effort) -> Made:
    """The same over Spark, from the start of the process to the first step that is done."""
    import tempfile
    from pathlib import Path

    from bench.recovery_restart import restart
    from bench.recovery_window import WindowSize

    size, spark_rows = WindowSize(20_000_000, 100_000, seed=effort.seed), 500_000
    if effort.quick:
        size, spark_rows = WindowSize(20_000, 5_000, seed=effort.seed), 1_000
    with tempfile.TemporaryDirectory(prefix="dovetail-papers-") as folder:
        found = restart(size, spark_rows, Path(folder), lambda line: None)
    rows = [
        (
            one.what,
            f"{one.rows:,}",
            f"{one.first_step_s:.1f}",
            "" if one.state_s is None else f"{one.state_s:.1f}",
        )
        for one in found
    ]
    values = {one.what: one for one in found}
    heads = ("", "rows held", "seconds", "of which the state and the step")
    return Made({"": Table(heads, rows)}, values=values)


def text_5_2(effort: Effort) -> Made:
    """What pacing holds when one stream lags by hours."""
    from bench.accuracy_figures import lagging

    found = lagging(_settings(effort))
    rows = [
        (one.pacing, f"{one.peak_rows:,}", f"{one.peak_rows / one.window_rows:.2f}", _percent(one.success))
        for one in found
    ]
    rows.append(("batch", "", "", _percent(found[0].batch)))
    _drawn(effort, lagging=found)
    heads = ("pacing", "rows held, peak", "of what window and slack hold", "left rows with a partner")
    values = {one.pacing: one for one in found}
    return Made({"": Table(heads, rows)}, ("facebook-2018-pacing.svg",), values)


def _seconds(seconds: float | None) -> str:
    return "not seen" if seconds is None else f"{seconds:.1f} s"


def figure_12(effort: Effort) -> Made:
    from bench.accuracy_figures import figure_12 as estimates

    found = estimates(_settings(effort))
    paper = {"A": ("16 to 31 min", "up to 73"), "B": ("5 to 6 s", "1")}
    rows = []
    for one in found:
        delay, window = paper[one.stream[0]]
        rows += [
            (f"{one.stream}: paper", delay, window, "a plot only"),
            (
                f"{one.stream}: here",
                f"{_time(one.delay_s[0])} to {_time(one.delay_s[1])}",
                f"{one.window[0]:.2f} to {one.window[1]:.2f}",
                _percent(one.accuracy),
            ),
        ]
    _drawn(effort, figure_12=found)
    heads = ("stream", "delay of its time", "window, micro-batches", "accuracy")
    values: dict[str, Any] = {one.stream[0]: one for one in found}
    night = {one.stream[0]: _by_night(one.line) for one in found}
    hours = [
        (
            one.stream,
            *(_time(delay) for delay in night[one.stream[0]][0]),
            *(f"{window:.2f}" for window in night[one.stream[0]][1]),
        )
        for one in found
    ]
    heads_of_hours = ("stream", "delay, 22 to 6 h", "other hours", "window, 22 to 6 h", "other hours")
    tables = {"": Table(heads, rows), "Means by time of day": Table(heads_of_hours, hours)}
    return Made(tables, ("facebook-2018-figure-12.svg",), {**values, "night": night})


def _by_night(line: dict[str, list[float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean delay and window from 22 to 6 h, and at other times. Hours of the line are since noon."""
    at_night = np.array([10 <= hour < 18 for hour in line["hour"]])

    def means(name: str) -> tuple[float, float]:
        values = np.array(line[name])
        return tuple(  # type: ignore[return-value]
            float(values[which].mean()) if which.any() else float("nan") for which in (at_night, ~at_night)
        )

    return means("delay_s"), means("window")


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 60 else f"{seconds:.1f} s"


KEPT = "dovetail run, index kept"
"""As `bench/recovery_restart.py` calls a restart on the same host."""

FIGURE_8_FOUND = (
    Finding(
        "7.1",
        "streaming is very close to the batch join of the same interval (0.05 points below)",
        "within a quarter of a point",
        lambda v: abs(v["realtime"] - v["batch"]) <= 0.0025,
    ),
    Finding(
        "7.1",
        "the interval costs less than a point against a day",
        "less than a point (put in: the batch rates are set near the paper's)",
        lambda v: 0 <= v["day"] - v["batch"] < 0.01,
    ),
)
WINDOWS_FOUND = (
    Finding(
        "7.2",
        "memory is proportional to the window (figure 9)",
        "it grows by 0.7 to 1.1 of what the window grows by",
        lambda v: 0.7 <= v["growth"] / v["hours"] <= 1.1,
    ),
    Finding(
        "7.2",
        "the improvement in success from 1 hour to 6 is not large (1.24 points)",
        "more than 0 and less than 2 points (put in: what the batch joins gain is set near it)",
        lambda v: 0 < v["gained"] < 2,
    ),
    Finding(
        "7.2",
        "the difference is small because late rows find their windows evicted; only a much larger window "
        "would still have these",
        "streaming is closer to batch with the largest window than with the smallest",
        lambda v: v["found"][-1].batch - v["found"][-1].success < v["found"][0].batch - v["found"][0].success,
    ),
)
FIGURE_11_FOUND = (
    Finding(
        "7.3",
        "reading the window again from the log leaves no backlog that is never cleared",
        "the backlog is gone before the run ends",
        lambda v: v["caught_up_s"] is not None,
    ),
    Finding(
        "7.3",
        "memory peaks while the backlog is worked off",
        "the index takes at least a tenth more than before the kill",
        lambda v: None if v["down_s"] is None else v["after"] >= 1.1 * v["before"],
    ),
)
FIGURE_11_SPARK_FOUND = (
    Finding(
        "7.3",
        "with host-level stickiness the state can be recovered in just a few seconds (there that of the left "
        "stream; the window is read again)",
        "the state, with the index of the window kept, in less than 5 seconds",
        lambda v: None if v[KEPT].state_s is None else v[KEPT].state_s < 5,
    ),
)
TEXT_5_2_FOUND = (
    Finding(
        "5.2",
        "the join synchronizes its streams by pausing the one whose time is too far ahead of the other's",
        "with pacing at most a fifth above what window and slack hold, without it at least twice that",
        lambda v: v["on"].peak_rows <= 1.2 * v["on"].window_rows <= 0.6 * v["off"].peak_rows,
    ),
)
FIGURE_12_FOUND = (
    Finding(
        "7.4",
        "the disordered stream needs a much larger window and delay than the ordered one",
        "its delay is a hundred times as long, its window ten times as large",
        lambda v: v["A"].delay_s[1] >= 100 * v["B"].delay_s[1] and v["A"].window[1] >= 10 * v["B"].window[1],
    ),
    Finding(
        "7.4",
        "the ordered stream's window is always 1",
        "1 in every quarter of an hour, as a mean",
        lambda v: v["B"].window == (1, 1),
    ),
    Finding(
        "7.4",
        "stream A's delay has a bump at night",
        "its mean from 22 to 6 h is above that of the other hours (put in: clients upload later at night)",
        lambda v: v["night"]["A"][0][0] > v["night"]["A"][0][1],
    ),
    Finding(
        "7.4",
        "adapting gives a good accuracy at percentile 5",
        "at least 95 % for both (by design: the estimate learns how many rows to leave behind)",
        lambda v: min(v["A"].accuracy, v["B"].accuracy) >= 0.95,
    ),
)

PAPER = Paper(
    "facebook",
    "facebook-2018.md",
    (
        Exhibit(
            "figure_8",
            "accuracy over seven days",
            "7.1",
            "simulated clock",
            figure_8,
            FIGURE_8_FOUND,
            "generated streams whose batch rates are set near the paper's",
        ),
        Exhibit(
            "figures_9_and_10",
            "window size, memory and success",
            "7.2",
            "simulated clock",
            figures_9_and_10,
            WINDOWS_FOUND,
            "the index alone: rows stay in the log",
        ),
        Exhibit(
            "figure_11",
            "a restart with a large window",
            "7.3",
            "measured",
            figure_11,
            FIGURE_11_FOUND,
            "without Spark: a restart over it is in the next table",
        ),
        Exhibit(
            "figure_11_spark",
            "the same over Spark, beside Spark's own join",
            "7.3",
            "measured",
            figure_11_spark,
            FIGURE_11_SPARK_FOUND,
            "from the start of the process, Spark's own included; Spark's join holds a fortieth of the rows",
        ),
        Exhibit("figure_12", "the estimate over a day", "7.4", "simulated clock", figure_12, FIGURE_12_FOUND),
        Exhibit(
            "text_5_2",
            "pacing, with one stream hours behind",
            "5.2",
            "simulated clock",
            text_5_2,
            TEXT_5_2_FOUND,
        ),
    ),
)
