"""How a run went: what it read, what came out, what it held, and how long it took."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class EstimateSummary:
    """An estimated stream time at the end: the window it was taken over, in observations, and the share of
    rows that were not behind it when they came."""

    window: int
    accuracy: float | None


@dataclass(frozen=True)
class JoinSummary:
    """Totals of one join since its application was first started (rows), and what it held at the peak."""

    name: str
    left_rows: int
    right_rows: int
    matches: int
    left_alone: int
    right_alone: int
    match_rate: float | None
    late_rows: int
    void_rows: int
    invalid_rows: int
    capped_rows: int
    rejected_rows: int
    open_rows: int
    retained_rows: int
    buffered_rows_peak: int
    index_bytes_peak: int
    rebuilds: int
    left_estimate: EstimateSummary | None = None
    right_estimate: EstimateSummary | None = None
    missed: int = 0
    advice: tuple[str, ...] = ()

    @property
    def state_bytes_per_row(self) -> float:
        return self.index_bytes_peak / self.buffered_rows_peak if self.buffered_rows_peak else 0.0


@dataclass(frozen=True)
class RunSummary:
    application: str
    mode: str
    elapsed_s: float
    phases_s: dict[str, float]
    first_result_s: float | None
    joins: tuple[JoinSummary, ...]
    outputs: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self)
        for join, made in zip(self.joins, fields["joins"], strict=True):
            made["state_bytes_per_row"] = join.state_bytes_per_row
        return fields
