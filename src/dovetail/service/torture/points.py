"""The crash points that processes pass, by kind of file: see `dovetail/crash_points.py`."""

from __future__ import annotations

_FILE = ("begun", "whole", "named")

QUICK = {
    "category": _FILE,
    "segment": _FILE,
    "dictionary": _FILE,
    "rejected": _FILE,
    "commit": _FILE,
    "reader": _FILE,
    "first": _FILE,
    "bundle": (*_FILE, "deleted"),
    "pack": (*_FILE, "deleted"),
    "table": _FILE,
    "snapshot": (*_FILE, "deleted"),
    "local_snapshot": ("whole", "named"),
    "record": _FILE,
    "query": _FILE,
    "index": ("whole", "named", "deleted"),
    "other": _FILE,  # the offset log and the sink
}
"""Passed by a join without Spark."""

SPARK = {
    "segment": _FILE,
    "commit": _FILE,
    "reader": _FILE,
    "snapshot": (*_FILE, "deleted"),
    "local_snapshot": ("whole", "named"),
    "record": _FILE,
    "metrics": _FILE,
    "index": ("whole", "named", "deleted"),
    "coordinator": ("begun", "planned", "done"),
    "sink": ("begun", "written", "committed"),
}
"""Passed by an application that runs on Spark: by its driver, its sources or its workers."""


def on_spark(dataframes: bool) -> dict[str, tuple[str, ...]]:
    """A program that joins DataFrames writes no metrics."""
    return {kind: steps for kind, steps in SPARK.items() if not (dataframes and kind == "metrics")}


_SELDOM = ("category", "dictionary", "first", "bundle", "pack", "table", "query")


def seldom(point: str) -> bool:
    """A join comes to it once or twice in its life."""
    return point.startswith(_SELDOM)


def named(points: dict[str, tuple[str, ...]]) -> list[str]:
    return [f"{kind}.{progress}" for kind, steps in points.items() for progress in steps]
