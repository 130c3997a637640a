"""The figures of an application while it runs, and its summary at the end: numbers only.

Times are microseconds since the epoch, UTC. Histories are rates, oldest first, one for each report; a rate
is the mean of the last few of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

HISTORY_LENGTH = 60
RECENT = 10
"""A rate is the mean over this many reports: rows arrive in micro-batches, and a number should hold still."""


@dataclass(frozen=True)
class StreamFigures:
    """One input of a join: `name` is the table in the query, `side` is "left" or "right"."""

    name: str
    side: str
    rows_in: int = 0
    rows_per_s: float = 0.0
    stream_time_us: int | None = None
    backlog_rows: int = 0
    rejected_rows: int = 0
    rate_history: tuple[float, ...] = ()


@dataclass(frozen=True)
class RebuildFigures:
    """A rebuild in progress: the share of the right window that has been read. `left_s` None: not known."""

    share: float
    rows_per_s: float
    left_s: float | None


@dataclass(frozen=True)
class EstimateSummary:
    """An estimated stream time: the window it is taken over, in observations, and the share of rows that
    were not behind it when they came."""

    window: int
    accuracy: float | None


@dataclass(frozen=True)
class JoinFigures:
    """One join: rows held now (open left rows, retained right rows), and totals since the application was
    first started.

    `match_rate` is the share of decided left rows that have a partner; None while none is decided. `waited`:
    the share of the last minutes in which the left and the right stream waited for the other. While there is
    a `replay`, the join waits for its window to be rebuilt.
    """

    name: str
    open_rows: int = 0
    retained_rows: int = 0
    matches: int = 0
    left_alone: int = 0
    right_alone: int = 0
    late_rows: int = 0
    match_rate: float | None = None
    index_bytes: int = 0
    left_rows: int = 0
    right_rows: int = 0
    void_rows: int = 0
    invalid_rows: int = 0
    capped_rows: int = 0
    rejected_rows: int = 0
    vanished_files: int = 0
    missed: int = 0
    buffered_rows_peak: int = 0
    index_bytes_peak: int = 0
    rebuilds: int = 0
    left_estimate: EstimateSummary | None = None
    right_estimate: EstimateSummary | None = None
    waited: tuple[float, float] = (0.0, 0.0)
    advice: tuple[str, ...] = ()
    replay: RebuildFigures | None = None

    @property
    def out_rows(self) -> int:
        return self.matches + self.left_alone + self.right_alone

    @property
    def state_bytes_per_row(self) -> float:
        return self.index_bytes_peak / self.buffered_rows_peak if self.buffered_rows_peak else 0.0


@dataclass(frozen=True)
class MemoryUse:
    """Memory of a process and all below it. `kind` is "PSS" (proportional: a page that n processes share
    counts 1/n in each) or, where the kernel does not say that, "RSS" (resident: it counts in each)."""

    bytes: int = 0
    kind: str = "PSS"


@dataclass(frozen=True)
class RunFigures:
    """The whole application. `phase`: starting, slicing, joining, draining, stopped, or a caller's own words.
    `waiting`: what the application waits for, in words; empty while it does not wait."""

    application: str
    elapsed_s: float
    phase: str
    streams: tuple[StreamFigures, ...] = ()
    joins: tuple[JoinFigures, ...] = ()
    out_rows: int = 0
    out_rows_per_s: float = 0.0
    out_rate_history: tuple[float, ...] = ()
    memory: MemoryUse = MemoryUse()
    output: str = ""
    waiting: str = ""


@dataclass(frozen=True)
class RunSummary:
    """How a run went: its joins at the end, where their rows are, and how long it took."""

    application: str
    mode: str
    elapsed_s: float
    phases_s: dict[str, float]
    first_result_s: float | None
    joins: tuple[JoinFigures, ...]
    outputs: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self)
        for join, made in zip(self.joins, fields["joins"], strict=True):
            made["state_bytes_per_row"] = join.state_bytes_per_row
        return fields


def extended(history: tuple[float, ...], rate: float) -> tuple[float, ...]:
    """The history with one more rate, cut to its length."""
    return (*history, rate)[-HISTORY_LENGTH:]


def recent(history: tuple[float, ...]) -> float:
    """The mean of the last rates."""
    last = history[-RECENT:]
    return sum(last) / len(last) if last else 0.0
