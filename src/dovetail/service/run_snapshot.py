"""What a running application looks like at one moment: numbers only, made by the runner, drawn by the live
view.

Rows are counted since the application started this time. Times are microseconds since the epoch, UTC.
Histories are rates, oldest first, one a snapshot; a rate is the mean of the last few of them.
"""

from __future__ import annotations

from dataclasses import dataclass

HISTORY_LENGTH = 60
RECENT = 10
"""How many snapshots a rate is the mean of: micro-batches come and go, a number should be readable."""


@dataclass(frozen=True)
class StreamSnapshot:
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
class ReplaySnapshot:
    """A rebuild that is under way: the share of the right window that is read. `left_s` None: not known."""

    share: float
    rows_per_s: float
    left_s: float | None


@dataclass(frozen=True)
class JoinSnapshot:
    """One join: what it holds now (open left rows, retained right rows) and what it has given so far.

    `match_rate` is the share of decided left rows that have a partner; None while none is decided. `waited`:
    the share of the last minutes in which the left and the right stream had to wait for the other. `advice`
    says what could be set better. `replay`: the join cannot go on before its window is rebuilt.
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
    missed: int = 0
    invalid_rows: int = 0
    capped_rows: int = 0
    waited: tuple[float, float] = (0.0, 0.0)
    advice: tuple[str, ...] = ()
    replay: ReplaySnapshot | None = None


@dataclass(frozen=True)
class RunSnapshot:
    """The whole application. `phase` is one word: starting, slicing, joining, draining, stopped."""

    application: str
    elapsed_s: float
    phase: str
    streams: tuple[StreamSnapshot, ...] = ()
    joins: tuple[JoinSnapshot, ...] = ()
    out_rows: int = 0
    out_rows_per_s: float = 0.0
    out_rate_history: tuple[float, ...] = ()
    rss_bytes: int = 0
    output: str = ""


def extended(history: tuple[float, ...], rate: float) -> tuple[float, ...]:
    """The history with one more rate, cut to its length."""
    return (*history, rate)[-HISTORY_LENGTH:]


def recent(history: tuple[float, ...]) -> float:
    """The mean of the last rates."""
    last = history[-RECENT:]
    return sum(last) / len(last) if last else 0.0
