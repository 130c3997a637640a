"""Samples for the scaler, from what a run has measured of its joins."""

from __future__ import annotations

from typing import Any

from dovetail.service.scaler.sample import LoadSample


def samples_of(figures: dict[str, Any] | None, at_s: float) -> dict[str, LoadSample]:
    """By join. One that has planned no step yet has no tasks, and is left out."""
    joins = (figures or {}).get("joins", [])
    return {join["name"]: _sample(join, at_s) for join in joins if join.get("tasks")}


def _sample(join: dict[str, Any], at_s: float) -> LoadSample:
    left, right = join["left"], join["right"]
    hot = None if join.get("splits_keys", True) else _hottest(left, right)
    return LoadSample(
        at_s,
        join["tasks"],
        left["rows_per_s"],
        right["rows_per_s"],
        left["backlog_rows"],
        right["backlog_rows"],
        join.get("row_us"),
        join.get("replay") is not None,
        hot_key=", ".join(hot["key"]) if hot else None,
        hot_share=hot["share"] if hot else 0.0,
        unsliced_rows=sum((side.get("source") or {}).get("rows") or 0 for side in (left, right)),
        memory_bytes=join["totals"].get("index_bytes", 0),
    )


def _hottest(*sides: dict[str, Any]) -> dict[str, Any] | None:
    frequent = [key for side in sides for key in side.get("frequent", ())]
    return max(frequent, key=lambda key: float(key["share"]), default=None)
