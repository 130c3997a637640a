"""Law: of the candidate partners of one left row, exactly one is picked, the same in whatever order they
come.

Candidates come as parallel arrays: `group` says whose they are (any dense numbering of left rows), `time` and
`row` are the right row's event time and row number. The order of preference ends in the row number, which is
unique.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.fingerprint import pick_print
from dovetail.kernels.flags import kernel

FIRST, NEAREST, EARLIEST, LATEST = 0, 1, 2, 3
RULES = {"first": FIRST, "nearest": NEAREST, "earliest": EARLIEST, "latest": LATEST}
NO_ROW = -1

Int64s = NDArray[np.int64]


@kernel
def prefer(
    rule: int,
    groups: Int64s,
    left_times: Int64s,
    times: Int64s,
    rows: Int64s,
    best_time: Int64s,
    best_row: Int64s,
) -> int:
    """Fold candidates into `best_time`, `best_row` (indexed by group; NO_ROW = none so far). Returns what is
    added by that to the fingerprint of a ring, where groups are its slots."""
    change = np.uint64(0)
    for i in range(len(groups)):
        group = groups[i]
        held = best_row[group]
        if held != NO_ROW:
            time, was = times[i], best_time[group]
            if rule == NEAREST:
                now, before = abs(time - left_times[i]), abs(was - left_times[i])
                better = now < before or (now == before and (time < was or (time == was and rows[i] < held)))
            elif rule == EARLIEST:
                better = time < was or (time == was and rows[i] < held)
            elif rule == LATEST:
                better = time > was or (time == was and rows[i] < held)
            else:
                better = rows[i] < held
            if not better:
                continue
        change -= pick_print(group, best_time[group], held)
        best_time[group] = times[i]
        best_row[group] = rows[i]
        change += pick_print(group, times[i], rows[i])
    return int(np.int64(change))


@kernel
def replace(groups: Int64s, times: Int64s, rows: Int64s, best_time: Int64s, best_row: Int64s) -> int:
    """Set the choices of groups, each named once. Returns what is added by that to the fingerprint."""
    change = np.uint64(0)
    for i in range(len(groups)):
        group = groups[i]
        change -= pick_print(group, best_time[group], best_row[group])
        best_time[group] = times[i]
        best_row[group] = rows[i]
        change += pick_print(group, times[i], rows[i])
    return int(np.int64(change))
