"""Exhibits of the paper on joins within a window that are studies of `bench window`, or more than that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.paper.exhibit import Effort, Made
from bench.paper.intra_window_findings import ALONE, EARLY, HALF, LATE, PARTITIONING, RATE, WRITTEN
from bench.paper.plots import bars
from bench.tables import Table

EARLY_SHARE = 0.1
"""Share of the matches that `EARLY` waits for."""


def study(name: str, phases: bool = False, least: float = 0.0) -> Callable[[Effort], Made]:
    """One of the studies of `bench window`, as tables with a line for each algorithm. `phases`: also where
    the time of a row goes. `least`: the share of the paper's rates that is sent in any case, where that is
    little."""

    def make(effort: Effort) -> Made:
        from bench.window_report import PREFIX, draw
        from bench.window_studies import Size, run_study, studies
        from dovetail.intra_window.join import ALGORITHMS

        scale = 0.002 if effort.quick else max(effort.scale, least)
        size = Size(scale, effort.data, effort.seed, (effort.threads,))
        found = next(one for one in studies(size) if one.name == name)
        algorithms, repeat = (ALGORITHMS, 3)
        if effort.quick:
            found = replace(found, points=found.points[:1])
            algorithms, repeat = ("prj", "shj_jm", "pmj_jb"), 1
        runs = run_study(found, (effort.threads,), algorithms, repeat, lambda line: None)
        pictures = ()
        if effort.out is not None:
            draw(found, runs, effort.out)
            pictures = (f"{PREFIX}-{found.figure}.svg",)
        measures: dict[str, Callable[[Any], float | None]] = {RATE: lambda run: run.rows_per_s / 1e6}
        if found.moving:
            measures |= {LATE: lambda run: run.p95_latency_ms, HALF: lambda run: run.half_ms}
        values = {
            caption: {
                point.label: {run.algorithm: value(run) for run in runs if run.point == point.label}
                for point in found.points
            }
            for caption, value in measures.items()
        }
        sent = f"{scale:g} of the paper's" if scale != 1 else "the paper's"
        of = f"at {sent} rates" if found.moving else _rows_of(found.points[0].make(), scale)
        if name == "workloads":
            of += f" (of Stock all rows, of Rovio {scale / 5:g} of them)"
        tables = {f"{caption}, {of}": _grid(found.axis, by_point) for caption, by_point in values.items()}
        if name == "workloads" and not effort.quick:
            tables["beside the paper's text, ms until half of the matches"] = _beside(values[HALF])
        if phases:
            tables |= _phases(runs)
            values["phases"] = {(run.point, run.algorithm): run.phases_ns_per_row for run in runs}
        return Made(tables, pictures, values, all(run.right for run in runs), size.scale)

    return make


def _beside(half: Mapping[str, Mapping[str, float | None]]) -> Table:
    rows = [
        ("Stock, SHJ-JM (5.2)", "674", _cell(half["stock"]["shj_jm"])),
        ("Stock, NPJ, the fastest lazy one there (5.2)", "1,014", _cell(half["stock"]["npj"])),
        ("Rovio, MPass (5.2)", "11,699", f"{_cell(half['rovio']['mpass'])} (fewer rows)"),
    ]
    return Table(("", "paper", "here"), rows)


def _grid(axis: str, by_point: Mapping[str, Mapping[str, float | None]]) -> Table:
    names = list(dict.fromkeys(name for cells in by_point.values() for name in cells))
    rows = [(name, *(_cell(cells.get(name)) for cells in by_point.values())) for name in names]
    return Table((axis, *by_point), rows)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _phases(runs: Sequence[Any]) -> dict[str, Table]:
    """Figure 7: where the time of a row goes, by workload."""
    phases = list(runs[0].phases_ns_per_row)
    return {
        f"ns per input row by phase, {point}": Table(
            ("", *phases),
            [
                (run.algorithm, *(f"{run.phases_ns_per_row[phase]:,.0f}" for phase in phases))
                for run in runs
                if run.point == point
            ],
        )
        for point in dict.fromkeys(run.point for run in runs)
    }


def both_ways(name: str, measured: Callable[[Effort], Made], most: float) -> Callable[[Effort], Made]:
    """A study with two tables more, of such rows at rest: pairs counted, where rows of one key are
    multiplied, and every pair looked at. `most`: the largest share of the paper's rows for these two."""

    def make(effort: Effort) -> Made:
        from bench.paper.speed import looked_at
        from bench.window_studies import Point, Size, Study, run_study, studies

        made = measured(effort)
        share = 0.002 if effort.quick else min(effort.scale, most)
        size = Size(share, effort.data, effort.seed, (effort.threads,))
        found = next(one for one in studies(size) if one.name == name)
        points = found.points[:1] if effort.quick else found.points
        rest = tuple(
            Point(point.label, lambda make=point.make: make().at_rest(), point.algorithms) for point in points
        )
        counting = Study(name, found.figure, found.sentence, found.axis, False, rest)
        algorithms = points[0].algorithms
        runs = run_study(counting, (effort.threads,), algorithms, 1 if effort.quick else 3, lambda line: None)
        counted: dict[str, dict[str, float]] = {}
        for run in runs:
            counted.setdefault(run.point, {})[run.algorithm] = run.rows_per_s / 1e6
        looked, right = looked_at(rest, effort.threads, 1 if effort.quick else 3)
        of = f"at rest, {_rows_of(rest[0].make(), share)}"
        tables = {
            **made.tables,
            f"{RATE}, {of}, pairs counted": _grid(found.axis, counted),
            f"{RATE}, {of}, every pair looked at": _grid(found.axis, looked),
        }
        values = {**made.values, "counted": counted, WRITTEN: looked}
        right = right and made.right and all(run.right for run in runs)
        return Made(tables, made.pictures, values, right, made.scale)

    return make


def _rows_of(window: Any, share: float) -> str:
    """For a caption. Figures 15 to 18 of the paper have ten times as many rows in S."""
    of = f"{share:g} of the paper's R" if share != 1 else "the paper's R"
    return f"{len(window.left):,} rows a side ({of})"


def key_skew(effort: Effort) -> Made:
    """Figure 13 at rest, and the same with keys of S alone skewed: the paper does not say which sides are. R
    has each key once then, so that every row of S has one partner whatever the skew."""
    from bench.paper.speed import looked_at
    from bench.window_studies import SKEWS, Point, Size

    made = both_ways("key_skew", study("key_skew"), 0.02)(effort)
    share = 0.002 if effort.quick else effort.scale
    size = Size(share, None, effort.seed, (effort.threads,))
    points = [
        Point(f"{z}", size.micro(12_800, 12_800, key_skew=z, right_alone=True, at_rest=True))
        for z in (SKEWS[-1:] if effort.quick else SKEWS)
    ]
    looked, right = looked_at(points, effort.threads, 1 if effort.quick else 3)
    of = f"at rest, {_rows_of(points[0].make(), share)}, S alone skewed, every pair looked at"
    tables = {**made.tables, f"{RATE}, {of}": _grid("Zipf", looked)}
    return Made(tables, made.pictures, {**made.values, ALONE: looked}, made.right and right, made.scale)


def sorting_step(effort: Effort) -> Made:
    """Figure 15, and how soon the first matches are there, every pair looked at."""
    from bench.window_studies import Size, studies
    from dovetail.intra_window.metrics import measure

    made = study("sorting_step")(effort)
    size = Size(0.002 if effort.quick else effort.scale, None, effort.seed, (effort.threads,))
    found = next(one for one in studies(size) if one.name == "sorting_step")
    early: dict[str, dict[str, float | None]] = {}
    right = made.right
    for point in found.points[:1] if effort.quick else found.points:
        window = point.make()
        # Small chunks, as a match counts from the time at which its chunk is handed on.
        knobs = replace(point.knobs, chunk_pairs=1 << 12)
        for name in point.algorithms:
            measure(window.left[:64], window.right[:64], name, effort.threads, knobs)
            best = float("inf")
            for _ in range(1 if effort.quick else 3):
                seen = measure(window.left, window.right, name, effort.threads, knobs)
                right &= seen.matches == window.matches
                best = min(best, (seen.until_share_us(EARLY_SHARE) or 0) / 1000)
            early.setdefault(point.label, {})[name] = best
    of = _rows_of(found.points[0].make(), size.scale)
    tables = {**made.tables, f"{EARLY}, at rest, {of}": _grid(found.axis, early)}
    return Made(tables, made.pictures, {**made.values, EARLY: early}, right, made.scale)


def group_size(effort: Effort) -> Made:
    """Figure 16, with the router of the paper and the join-matrix beside it."""
    from bench.window_studies import Point, Size, Study, run_study
    from dovetail.intra_window.knobs import Knobs

    size = Size(0.002 if effort.quick else effort.scale, None, effort.seed, (effort.threads,))
    rest = size.micro(12_800, 12_800, at_rest=True)
    points = [
        *(
            Point(f"group of {g}", rest, ("shj_jb", "pmj_jb"), Knobs(group_size=g))
            for g in range(1, effort.threads + 1)
        ),
        *(
            Point(f"group of {g}, router", rest, ("shj_jb", "pmj_jb"), Knobs(group_size=g, router=True))
            for g in range(1, effort.threads + 1)
        ),
        Point("join matrix", rest, ("shj_jm", "pmj_jm")),
    ]
    made = Study("group_size", "figure-16", "", "", False, tuple(points))
    runs = run_study(
        made,
        (effort.threads,),
        ("shj_jb", "pmj_jb", "shj_jm", "pmj_jm"),
        1 if effort.quick else 5,
        lambda line: None,
    )
    measures: dict[str, Callable[[Any], float]] = {
        RATE: lambda run: run.rows_per_s / 1e6,
        PARTITIONING: lambda run: run.phases_ns_per_row["partition"],
    }
    values = {
        caption: {
            point.label: {run.algorithm[:3]: value(run) for run in runs if run.point == point.label}
            for point in points
        }
        for caption, value in measures.items()
    }
    of = _rows_of(rest(), size.scale)
    tables = {f"{caption}, {of}": _grid("", by_point) for caption, by_point in values.items()}
    shown = {
        caption: {name: {p: cells[name] for p, cells in by_point.items()} for name in ("shj", "pmj")}
        for caption, by_point in values.items()
    }
    pictures = bars(effort, "intra-window-2021-figure-16", shown)
    return Made(tables, pictures, values, all(run.right for run in runs))
