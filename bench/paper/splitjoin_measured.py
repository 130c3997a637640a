"""SplitJoin and the other designs on the cores of this machine, as exhibits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.paper.exhibit import Effort, Made
from bench.paper.plots import bars, lines
from bench.tables import Table

BAND_SHARE = 21 * 20
"""Share of all pairs of values: x is an integer, so 21 of its values are within 10; y is a float, so a
stretch of 20 of its range is."""


def measured(part: str, picture: str, label: Callable[[dict[str, Any]], str]) -> Callable[[Effort], Made]:
    """A part of `bench sliding`: SplitJoin on real cores."""

    def make(effort: Effort) -> Made:
        import os

        from bench.sliding_parts import Asked, equal_pairs
        from bench.sliding_parts import part as run

        cores = [min(2, os.cpu_count() or 1)]
        seconds, window = (0.05, 1 << 10) if effort.quick else (effort.seconds, 1 << 14)
        asked = Asked([window], cores, ["split"], 1 << 16, seconds, 1, None)
        right = equal_pairs(asked)["same"]
        found = run(part, asked)
        rows = [
            (
                label(one),
                f"{one['taken_rows_per_s']:,.0f}",
                f"{one['held_rows_per_s']:,.0f}",
                f"{one['pairs']:,}",
            )
            for one in found
        ]
        heads = ("", "rows/s at full speed", "held", "results of the last run")
        values = {label(one): one["taken_rows_per_s"] for one in found}
        caption = f"{cores[0]} cores, windows of 2^{window.bit_length() - 1}"
        pictures = bars(effort, f"splitjoin-2016-{picture}", {heads[1]: {"": values}})
        return Made({caption: Table(heads, rows)}, pictures, values, bool(right))

    return make


def _all_designs(effort: Effort) -> Any:
    import os

    from bench.sliding_parts import Asked

    cores = sorted({1, min(2, os.cpu_count() or 1)})
    windows, seconds = ([1 << 8], 0.02) if effort.quick else ([1 << 14, 1 << 16, 1 << 18], effort.seconds)
    return Asked(windows, cores, None, 1 << 16, seconds, 1, None)


def designs(effort: Effort) -> Made:
    """Every design on real cores with the same scan: four rows that wait in one pass, and one row a pass."""
    from bench.sliding_parts import equal_pairs
    from bench.sliding_parts import part as run

    asked = _all_designs(effort)
    right = equal_pairs(asked)["same"]
    found = run("designs", asked)
    rows = [
        (
            one["design"],
            f"{one['cores']}",
            f"2^{one['window'].bit_length() - 1}",
            f"{one['taken_rows_per_s']:,.0f}",
            f"{one['held_rows_per_s']:,.0f}",
            f"{one['taken_alone_rows_per_s']:,.0f}",
        )
        for one in found
    ]
    heads = ("design", "cores", "window", "rows/s, four rows a pass", "held", "rows/s, one row a pass")
    values = {
        (one["design"], one["cores"], one["window"]): (
            one["taken_rows_per_s"],
            one["taken_alone_rows_per_s"],
        )
        for one in found
    }
    shown = {
        title: {
            f"{design}, {cores}": {
                f"2^{window.bit_length() - 1}": rates[number]
                for (name, count, window), rates in values.items()
                if (name, count) == (design, cores)
            }
            for design, cores in dict.fromkeys((name, count) for name, count, _ in values)
        }
        for number, title in enumerate(("rows/s, four rows a pass", "rows/s, one row a pass"))
    }
    pictures = lines(effort, "splitjoin-2016-figure-12-measured", "window", shown, log=True)
    return Made({"": Table(heads, rows)}, pictures, values, bool(right))


def visiting(effort: Effort) -> Made:
    """Visiting latency on real cores, at a steady rate over two windows."""
    from bench.sliding_parts import VISITING_ROWS_PER_S
    from bench.sliding_parts import part as run

    found = run("visiting", _all_designs(effort))
    rows = [
        (
            one["design"],
            f"{one['cores']}",
            *(f"{one[stage]:,.0f}" for stage in ("distribution", "execution", "visiting", "visiting_mean")),
            f"{one['walk']:,.0f}" if one["walk"] else "",
        )
        for one in found
        if "visiting" in one
    ]
    heads = (
        "design",
        "cores",
        "distribution",
        "execution",
        "visiting",
        "visiting, mean",
        "handshake's formula (mean)",
    )
    caption = (
        f"median microseconds, {VISITING_ROWS_PER_S:,} rows/s, "
        f"windows of 2^{found[0]['window'].bit_length() - 1}"
    )
    values = {(one["design"], one["cores"]): one for one in found}
    shown = {
        f"{cores} core{'s' if cores > 1 else ''}": {
            one["design"].replace("_", " "): one["visiting_mean"] / 1000
            for one in found
            if one["cores"] == cores and "visiting_mean" in one
        }
        for cores in dict.fromkeys(one["cores"] for one in found)
    }
    panels = {"visiting latency, mean, ms": shown}
    pictures = bars(effort, "splitjoin-2016-figure-13-measured", panels, log=True)
    return Made({caption: Table(heads, rows)}, pictures, values)


def order_of(one: dict[str, Any]) -> str:
    return {"none": "no order", "outer": f"outer, every {one['every']}"}.get(
        one["order"], f"inner, groups of {one['group']}"
    )


def share_of(one: dict[str, Any]) -> str:
    return f"1 in {round(one['domain'] ** 2 / BAND_SHARE):,}"


def kind_of(one: dict[str, Any]) -> str:
    return "by time" if one["by_time"] else "by count"


def dealt(effort: Effort) -> Made:
    """Round robin over batches: how many rows of a stream a core keeps before it is the next one's turn."""
    return _varied(
        effort,
        "splitjoin-2016-text-1-measured",
        {f"{rows:,}": {"deal_rows": rows} for rows in ((1, 64) if effort.quick else (1, 16, 64, 256, 1024))},
        "rows in a row for one core",
    )


def cuts(effort: Effort) -> Made:
    """CellJoin: rows that are dealt out together, and the least that a worker gets of a window."""
    sizes = ((16, 1024), (64, 64))
    if not effort.quick:
        sizes = ((1, 1024), (16, 1024), (64, 1024), (256, 1024), (16, 64), (16, 8192))  # type: ignore[assignment]
    named = {
        f"{batch} a batch, {basic} a basic window": {
            "design": "cell",
            "batch_rows": batch,
            "basic_rows": basic,
        }
        for batch, basic in sizes
    }
    return _varied(effort, "handshake-2011-text-2-2-measured", named, "CellJoin's sizes, rows")


def _varied(effort: Effort, picture: str, cases: Mapping[str, Mapping[str, Any]], head: str) -> Made:
    """A setting of the join on all cores; all must find the same pairs of one stream."""
    import os

    from bench.sliding_rates import Case, measured, pairs_of

    cores = min(2, os.cpu_count() or 1)
    seconds, window = (0.02, 1 << 10) if effort.quick else (effort.seconds, 1 << 14)
    found = {
        name: measured(Case(**{"cores": cores, "window": window, "seconds": seconds, **case}))
        for name, case in cases.items()
    }
    same = {
        pairs_of(Case(**{"cores": cores, "window": 300, "domain": 200, **case}), 4_000)
        for case in cases.values()
    }
    rows = [
        (name, f"{one.taken_rows_per_s:,.0f}", f"{one.held_rows_per_s:,.0f}") for name, one in found.items()
    ]
    rates = {name: one.taken_rows_per_s for name, one in found.items()}
    caption = f"{cores} cores, windows of 2^{window.bit_length() - 1}"
    pictures = bars(effort, picture, {"rows/s at full speed": {"": rates}})
    heads = (head, "rows/s at full speed", "held")
    right = len(same) == 1
    return Made({caption: Table(heads, rows)}, pictures, {**rates, "same pairs": right}, right)


def adapted(effort: Effort) -> Made:
    """Precision that follows the load: a rate is asked for, and the groups of the window are as small as it
    allows."""
    import os
    import time

    from bench.sliding_rates import Case, full_speed, made_holding

    cores = min(2, os.cpu_count() or 1)
    window, seconds = (1 << 8, 0.002) if effort.quick else (1 << 14, effort.seconds)
    wanted = (None, 1_000) if effort.quick else (None, 20_000, 100_000, 300_000)
    case = Case(cores=cores, window=window, order="inner", group=64, batch=64)
    rows, values = [], {}
    for target in wanted:
        with made_holding(case, target) as join:
            rate, group = 0.0, case.group
            stop = time.perf_counter() + 4 * seconds
            while time.perf_counter() < stop:
                rate = full_speed(join, case, seconds / 20, time.perf_counter)
                group = join.group
        values[target] = (rate, group)
        rows.append(("none" if target is None else f"{target:,}", f"{rate:,.0f}", f"{group:,}"))
    caption = f"{cores} cores, windows of 2^{window.bit_length() - 1}, groups of 64 rows or more"
    heads = ("rows/s asked for", "rows/s reached", "rows a group at the end")
    return Made({caption: Table(heads, rows)}, values=values)
