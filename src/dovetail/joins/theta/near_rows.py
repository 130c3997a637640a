"""Finds rows of a category by their event time, in whole columns."""

from __future__ import annotations

import numpy as np

from dovetail.joins.rows.arrivals import TIME
from dovetail.log.category import Category
from dovetail.model.time_codes import FIRST_TIME


def rows_near(category: Category, time_us: int, within_us: int) -> list[int]:
    """The numbers of the rows within a distance of a time; if there are none, of those nearest to it."""
    rows, distances, nearest = [np.empty(0, np.int64)], [np.empty(0, np.int64)], None
    for commit in category.commits(category.first_commit(), category.next_commit()):
        for info in commit.segments:
            times = category.open_segment(info).mapped.column(TIME).to_numpy()
            there = np.flatnonzero(times >= FIRST_TIME)
            away = np.abs(times[there] - time_us)
            if len(away):
                nearest = int(away.min() if nearest is None else min(nearest, away.min()))
                kept = away <= max(within_us, nearest)
                rows.append(info.first_row + there[kept])
                distances.append(away[kept])
    chosen = np.concatenate(distances) <= max(within_us, nearest or 0)
    found: list[int] = np.concatenate(rows)[chosen].tolist()
    return found
