"""What a machine's operations cost. All nanoseconds enter the simulator here.

Law: costs are finite and not negative, and a comparison takes time. The defaults are PLACEHOLDERS: round
numbers of the order that one core of a present server shows. `dovetail simulate --costs FILE` takes measured
ones (`costs_file.py`), `paper_costs.py` has those that follow from the SplitJoin paper's own statements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from dovetail.errors import SettingError

CompareLevels = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of one thread. `compare_ns` is the cost of one comparison by the size of the sub-window it
    scans, because a scan that outgrows a cache level slows down: pairs of rows and cost, rows ascending.
    """

    compare_ns: CompareLevels = ((1 << 14, 0.12), (1 << 20, 0.12), (1 << 21, 0.20), (1 << 23, 0.25))
    timestamp_ns: float = 0.03
    """Added to a comparison in a time window: each stored row carries a time."""
    hop_ns: float = 100.0
    """One message over one queue, written by one thread and read by another: the papers' T_CL."""
    remote_ns: float = 100.0
    """What a message costs in addition if it goes to another NUMA region."""
    row_ns: float = 100.0
    """A row taken up by a core, whatever it is then compared with: all cores do it for all rows."""
    store_ns: float = 10.0
    """A row filed in a sub-window."""
    expire_ns: float = 5.0
    """A row removed from a sub-window by the core that holds it (active expiration)."""
    monitor_ns: float = 50.0
    """What a core of low-latency handshake join does about rows in flight before it forwards: T_ML."""
    expiry_ns: float = 50.0
    """An explicit expiry message, beside its hop: low-latency handshake join sends one for each row."""
    result_ns: float = 20.0
    """A match put out by a core."""
    merge_ns: float = 20.0
    """A match passed on by a merger or collector."""
    punctuation_ns: float = 10.0
    """A star put out by a core, or taken by a merger."""
    partition_ns: float = 200.0
    """CellJoin's coordinator, for each core, when it divides the windows again."""
    timeslice_ns: float = 3_000_000.0
    """How long a thread runs when it shares a physical core."""
    switch_ns: float = 3_000.0
    """Lost when a physical core goes from one thread to the next."""
    source: str = "placeholders"
    """Where the numbers come from, in words."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_ns") and field.name != "compare_ns" and not _is_cost(value):
                raise SettingError(
                    f"{value!r} is not a cost", where=field.name, expected="nanoseconds, finite, from 0 on"
                )
        levels = self.compare_ns
        rows = [level[0] for level in levels]
        if not levels or rows != sorted(set(rows)) or rows[0] < 1:
            raise SettingError(
                "the costs of a comparison are not in order",
                where="compare_ns",
                expected="one or more pairs (rows of a sub-window, ns), rows ascending from 1 or more",
            )
        if not all(_is_cost(level[1]) and level[1] > 0 for level in levels):
            raise SettingError(
                f"{[level[1] for level in levels]} are not all costs of a comparison",
                where="compare_ns",
                expected="nanoseconds above 0",
            )
        if self.timeslice_ns <= self.switch_ns:
            raise SettingError(
                "a time slice is all spent on switching",
                where="timeslice_ns",
                expected=f"more than switch_ns, {self.switch_ns:g}",
            )

    def comparison_ns(self, sub_window_rows: float, timed: bool) -> float:
        """Between two measured sizes it goes with the logarithm of the size; beyond the ends it stays."""
        below = self.compare_ns[0]
        cost = below[1]
        for level in self.compare_ns:
            if sub_window_rows >= level[0]:
                below, cost = level, level[1]
                continue
            if sub_window_rows > below[0]:
                part = math.log(sub_window_rows / below[0]) / math.log(level[0] / below[0])
                cost = below[1] + part * (level[1] - below[1])
            break
        return cost + (self.timestamp_ns if timed else 0.0)


def _is_cost(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]
