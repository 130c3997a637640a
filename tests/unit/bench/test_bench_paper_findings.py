"""Findings of the papers: values as the paper on joins within a window describes them hold each, and each can
fail; and tables of values for what is asked of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from bench.paper import splitjoin_findings as splitjoin
from bench.paper.catalog import PAPERS
from bench.paper.exhibit import Finding
from bench.paper.handshake import EARLIER_9, FIGURE_13, TABLE_1, TEXT_5_1
from bench.paper.intra_window_findings import (
    ALONE,
    EAGER,
    EARLY,
    HALF,
    LATE,
    LAZY,
    PARTITIONING,
    RATE,
    WRITTEN,
)

NAMES = (*LAZY, *EAGER)
PHASES = ("wait", "partition", "build/sort", "merge", "probe", "other")
STEPS, SKEWS = ("0.05", "0.1", "0.2", "0.5"), ("0.0", "0.4", "0.8", "1.2", "1.6")


def each(npj: float, prj: float, mway: float, mpass: float, *eager: float) -> dict[str, float]:
    """Values of the lazy joins, and of SHJ-JM, SHJ-JB, PMJ-JM and PMJ-JB: one for all, or four."""
    return dict(zip(NAMES, (npj, prj, mway, mpass, *(eager if len(eager) == 4 else eager * 4)), strict=True))


def phases(point: str, name: str) -> dict[str, float]:
    ns = dict.fromkeys(PHASES, 1.0 if name in LAZY else 10.0)
    ns["wait"] = 1000.0 if point == "stock" else 0.0
    if name.endswith("_jb"):
        ns["partition"] = 30.0
    if name in ("npj", "prj") and point in ("rovio", "debs"):
        ns["probe"] = 5.0
    if name in ("mway", "mpass"):
        ns["build/sort"] = 2.0
    return ns


POINTS = ("stock", "rovio", "ysb", "debs")
AS_IN_THE_PAPER: dict[str, dict[str, Any]] = {
    "figures_5_6_7": {
        RATE: {
            "stock": each(1, 1, 1, 1, 1),
            "rovio": each(3, 3, 5, 5, 1, 1, 2, 2),
            "ysb": each(9, 9, 8, 8, 5, 5, 4, 4),
            "debs": each(8, 8, 9, 9, 1.5, 1.5, 3, 3),
        },
        LATE: {
            "stock": each(900, 900, 950, 950, 1, 1, 9, 9),
            "rovio": each(900, 900, 700, 700, 1500),
            "ysb": each(900, 900, 950, 950, 1, 1, 9, 9),
            "debs": each(100, 100, 90, 90, 200),
        },
        HALF: {
            "stock": each(1014, 1100, 1100, 1100, 674, 700, 900, 900),
            "rovio": each(15_000, 15_000, 12_000, 11_699, 20_000),
            "ysb": each(1014, 1100, 1100, 1100, 500),
            "debs": each(100, 100, 90, 90, 200),
        },
        "phases": {(point, name): phases(point, name) for point in POINTS for name in NAMES},
    },
    "figure_9": {
        RATE: {
            "1600": each(3, 3, 3, 3, 3),
            "12800": each(20, 20, 19, 19, 9),
            "25600": each(40, 40, 39, 39, 9),
        },
        LATE: {
            "1600": each(900, 900, 900, 900, 1),
            "12800": each(900, 900, 900, 900, 100),
            "25600": each(1500, 1500, 1500, 1500, 3000),
        },
        HALF: {
            "1600": each(900, 900, 900, 900, 500),
            "12800": each(1100, 1100, 1100, 1100, 900),
            "25600": each(1500, 1500, 1500, 1500, 3000),
        },
    },
    "figure_10": {
        RATE: {p: each(3, 3, 3, 3, 3) for p in ("1600", "25600")},
        LATE: {"1600": each(9, 9, 9, 9, 1, 5, 5, 5), "25600": each(9, 9, 9, 9, 1, 50, 5, 50)},
        HALF: {p: each(900, 900, 900, 900, 1, 500, 700, 700) for p in ("1600", "25600")},
    },
    "figure_11": {
        RATE: {p: each(3, 3, 5, 5, 2, 2, 4, 6) for p in ("50", "100", "200")},
        LATE: {p: each(9, 9, 5, 5, 12, 12, 6, 4) for p in ("50", "100", "200")},
        HALF: {p: each(9, 9, 5, 5, 12, 12, 6, 4) for p in ("50", "100", "200")},
    },
    "figure_12": {
        RATE: {
            z: each(3, 3, 3, 3, shj_jm, 3, 3, 3)
            for z, shj_jm in zip(SKEWS, (3.0, 3.0, 3.0, 3.2, 3.8), strict=True)
        },
        LATE: {z: each(900, 900, 900, 900, 1, 1, 700, 700) for z in SKEWS},
    },
    "figure_13": {
        rates: {"0.0": each(9, 9, 9, 9, 9), "1.6": each(9, 4, 9, 9, 11, 9, 9, 9)}
        for rates in (WRITTEN, ALONE)
    },
    "figure_14": {
        RATE: {"500": each(9, 9, 9, 9, 5), "2500": each(9, 9, 9, 9, 4.8)},
        LATE: {"500": each(400, 400, 400, 400, 300), "2500": each(900, 900, 900, 900, 950)},
    },
    "figure_15": {
        RATE: {s: {"pmj_jm": r, "pmj_jb": r} for s, r in zip(STEPS, (3.0, 4.0, 6.0, 5.0), strict=True)},
        EARLY: {s: {"pmj_jm": ms, "pmj_jb": ms} for s, ms in zip(STEPS, (9.0, 8.0, 5.0, 9.0), strict=True)},
    },
    "figure_16": {
        RATE: {
            "group of 1, router": {"shj": 5.0, "pmj": 5.0},
            "group of 2, router": {"shj": 4.0, "pmj": 4.0},
            "join matrix": {"shj": 6.0, "pmj": 6.0},
        },
        PARTITIONING: {
            "group of 1": {"shj": 5.0, "pmj": 5.0},
            "group of 1, router": {"shj": 20.0, "pmj": 20.0},
        },
    },
    "figure_17": {
        RATE: {"by number": {"shj_jm": 5.0}, "by value": {"shj_jm": 4.8}},
        "phases": {
            ("by number", "shj_jm"): {"partition": 5.0, "build/sort": 40.0, "merge": 0.0},
            ("by value", "shj_jm"): {"partition": 15.0, "build/sort": 30.0, "merge": 0.0},
        },
    },
    "figure_18": {RATE: {"8": {"prj": 5.0}, "10": {"prj": 6.0}, "14": {"prj": 4.0}}},
    "figure_19b": {n: {"peak": p} for n, p in each(2, 1, 1.5, 1.5, 5, 5, 4, 3).items()},
    "table_6": {
        n: {"cpu": share} for n, share in each(0.98, 0.25, 0.55, 0.59, 0.99, 0.8, 0.97, 0.91).items()
    },
    "figure_20": {
        "gains": {
            **dict.fromkeys(("mpass, stock", "shj_jm, stock", "mpass, ysb", "shj_jm, ysb"), 1.02),
            **{"mpass, rovio": 1.8, "shj_jm, rovio": 1.95, "mpass, debs": 1.85, "shj_jm, debs": 1.9},
        },
        "threads": 2,
    },
    "figure_21": {"gains": {"mway": 2.5, "mpass": 2.0, "pmj_jm": 1.2, "pmj_jb": 1.2}},
}

(INTRA_WINDOW,) = (paper for paper in PAPERS if paper.name == "intra-window")
FINDINGS = {
    f"{exhibit.name}: {finding.says}, {finding.relation}": (exhibit.name, finding)
    for exhibit in INTRA_WINDOW.exhibits
    for finding in exhibit.findings
    if exhibit.name not in ("table_3", "figure_3")
}


def every(values: Any, change: Callable[[float, int], float], at: int = 0) -> Any:
    """Each number, changed by its place."""
    if isinstance(values, Mapping):
        return {key: every(value, change, at + place) for place, (key, value) in enumerate(values.items())}
    return change(values, at)


def upside_down(value: float, at: int) -> float:
    return 1 / value if value else 1e6


def spread(value: float, at: int) -> float:
    return value * 3.0**at


def drawn_in(value: float, at: int) -> float:
    return value / 3.0**at


@pytest.mark.parametrize("name", FINDINGS)
def test_it_holds_for_values_as_in_the_paper_and_can_fail(name: str) -> None:
    exhibit, finding = FINDINGS[name]
    values = AS_IN_THE_PAPER[exhibit]
    assert finding.holds(values) is True
    assert False in [finding.holds(every(values, change)) for change in (upside_down, spread, drawn_in)]


@pytest.mark.parametrize(
    ("ratios", "held"),
    [
        ({4: 1.2, 28: 1.6, 32: 1.5}, [True, True]),
        ({4: 1.2, 28: 1.6, 32: 2.0}, [True, False]),
        ({4: 1.8, 28: 1.6, 32: 1.5}, [True, False]),
        ({4: 1.2, 28: 1.8, 32: 1.5}, [False, True]),
    ],
)
def test_up_to_60_percent_is_a_most_over_all_numbers_of_cores(
    ratios: dict[int, float], held: list[bool]
) -> None:
    values = {
        (splitjoin.RATE, "SJ 15 min"): ratios,
        (splitjoin.RATE, "LH 15 min"): dict.fromkeys(ratios, 1.0),
    }
    assert [finding.holds(values) for finding in splitjoin.FIGURE_12[:2]] == held


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        ([(2.6, 8.4), (0.6, 5.0)], True),
        ([(2.6, 5.0), (0.6, 8.4)], False),
        ([(0.6, 5.0)], False),
    ],
)
def test_both_ratios_of_visiting_latency_are_of_one_row(rows: list[tuple[float, float]], held: bool) -> None:
    (finding,) = splitjoin.TEXT_7_4
    assert finding.holds({f"{at}": row for at, row in enumerate(rows)}) is held


@pytest.mark.parametrize(("rate", "held"), [(1.4, False), (1.3, True), (0.76, True), (0.7, False)])
def test_within_a_third_is_the_same_both_ways(rate: float, held: bool) -> None:
    finding = splitjoin.MEASURED_19[0]
    assert finding.holds({"inner, groups of 16384": rate, "outer, every 1": 1.0}) is held


@pytest.mark.parametrize(
    ("findings", "values"),
    [
        (FIGURE_13, lambda part: {"rates": {1: part / 1000, 150: part / 7}}),
        (TABLE_1, lambda part: {"clocks": {1: 50 / part, 10: 5 / part}, "paper": {1: 50, 10: 5}}),
    ],
)
@pytest.mark.parametrize(("part", "held"), [(1, [True, False]), (2, [False, True]), (0.1, [False, False])])
def test_rows_of_both_streams_are_not_rows_of_each(
    findings: tuple[Finding, ...], values: Callable[[float], Any], part: float, held: list[bool]
) -> None:
    """`part`: how many rows of both streams a segment's clocks take."""
    assert [finding.holds(values(part)) for finding in findings] == held


@pytest.mark.parametrize(("gain", "held"), [(1.1, True), (0.3, False)])
def test_merge_join_is_beside_the_scan_of_its_own_turn(gain: float, held: bool) -> None:
    (finding,) = EARLIER_9
    assert finding.holds({"gain": gain}) is held


def test_what_follows_from_the_costs_of_messages_says_so() -> None:
    assert all("put in" in finding.relation for finding in TEXT_5_1)
