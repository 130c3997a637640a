"""What the benchmark says: one JSON document, or one table, from the same outcomes.

Every figure of a system is the median of its repeats; `ratio` is that of the two medians of rows per second.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.child import SYSTEMS, Join, System
from bench.measure import Figures
from bench.reference import Counts


@dataclass(frozen=True)
class Outcome:
    """One repeat of one system: what its process reported, and its peak memory seen from outside."""

    system: System
    figures: Figures
    cpu_s: float
    cold_start_s: float | None
    peak_rss_bytes: int

    @property
    def counts(self) -> Counts:
        return Counts(self.figures.matched, self.figures.unmatched)

    def figure(self, name: str) -> float | None:
        """One of its own, or of those that its process reported."""
        found: float | None = getattr(self if hasattr(self, name) else self.figures, name)
        return found

    def to_json(self) -> dict[str, Any]:
        said = asdict(self.figures) | {name: self.figure(name) for _, name, _ in _LINES}
        return {name: value for name, value in said.items() if name not in ("first_result_at", "input_rows")}


@dataclass(frozen=True)
class Report:
    """All outcomes of one run of the benchmark, beside the batch join of the same files."""

    rows: int
    window_minutes: float
    max_delay_s: float
    cores: int
    repeats: int
    expected: Counts
    outcomes: tuple[Outcome, ...]
    versions: dict[str, str]
    spark_setup: dict[str, Any]
    join: Join = "interval"

    @property
    def equal(self) -> bool:
        """Every repeat of every system gave the counts of the batch join."""
        return bool(self.outcomes) and all(outcome.counts == self.expected for outcome in self.outcomes)

    def of(self, system: System) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.system == system]

    def middle(self, system: System, figure: str) -> float | None:
        values = [outcome.figure(figure) for outcome in self.of(system)]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    @property
    def ratio(self) -> float | None:
        ours, theirs = self.middle("dovetail", "rows_per_s"), self.middle("spark", "rows_per_s")
        return ours / theirs if ours and theirs else None

    def to_json(self) -> dict[str, Any]:
        return {
            "rows_per_s": self.middle("dovetail", "rows_per_s"),
            "spark_rows_per_s": self.middle("spark", "rows_per_s"),
            "ratio": self.ratio,
            "cold_start_s": self.middle("dovetail", "cold_start_s"),
            "spark_cold_start_s": self.middle("spark", "cold_start_s"),
            "peak_rss_bytes": self.middle("dovetail", "peak_rss_bytes"),
            "spark_peak_rss_bytes": self.middle("spark", "peak_rss_bytes"),
            "state_bytes_per_row": self.middle("dovetail", "state_bytes_per_row"),
            "spark_state_bytes_per_row": self.middle("spark", "state_bytes_per_row"),
            "matched": self.expected.matched,
            "unmatched": self.expected.unmatched,
            "equal": self.equal,
            "rows": self.rows,
            "join": self.join,
            "window_minutes": self.window_minutes,
            "max_delay_s": self.max_delay_s,
            "cores": self.cores,
            "repeats": self.repeats,
            "versions": self.versions,
            "spark_setup": self.spark_setup,
            "systems": {
                system: [outcome.to_json() for outcome in self.of(system)]
                for system in SYSTEMS
                if self.of(system)
            },
        }

    def table(self) -> Table:
        systems = [system for system in SYSTEMS if self.of(system)]
        table = Table(
            title=f"{2 * self.rows:,} rows, left join, {self._window}, {self.cores} cores",
            caption=f"{'equal' if self.equal else 'NOT equal'} to the batch join over the same files",
        )
        for heading in ("", *systems, "batch join"):
            table.add_column(heading, justify="right" if heading else "left")
        for name, figure, form in _LINES:
            table.add_row(name, *[_cell(self.middle(system, figure), form) for system in systems], "")
            if figure == "rows_per_s":
                if self.repeats > 1:
                    table.add_row("  from .. to", *[self._spread(system) for system in systems], "")
                table.add_row("  ratio", *[self._ratio_to_spark(system) for system in systems], "")
        for name in ("matched", "unmatched"):
            found = [self._counted(system, name) for system in systems]
            table.add_row(f"{name} rows", *found, f"{getattr(self.expected, name):,}")
        return table

    @property
    def _window(self) -> str:
        minutes = f"{self.window_minutes:g} min"
        return f"±{minutes}" if self.join == "interval" else f"{self.join} windows of {minutes}"

    def _ratio_to_spark(self, system: System) -> str:
        speed, theirs = self.middle(system, "rows_per_s"), self.middle("spark", "rows_per_s")
        return f"{speed / theirs:.1f}" if speed and theirs else "-"

    def _spread(self, system: System) -> str:
        speeds = sorted(outcome.figures.rows_per_s for outcome in self.of(system))
        return f"{speeds[0]:,.0f} .. {speeds[-1]:,.0f}"

    def _counted(self, system: System, name: str) -> str:
        return " / ".join(
            f"{count:,}" for count in sorted({getattr(o.counts, name) for o in self.of(system)})
        )


_LINES = (
    ("rows/s", "rows_per_s", "{:,.0f}"),
    ("seconds", "elapsed_s", "{:,.1f}"),
    ("CPU seconds", "cpu_s", "{:,.1f}"),
    ("cold start, s", "cold_start_s", "{:,.1f}"),
    ("peak RSS, bytes", "peak_rss_bytes", "{:,.0f}"),
    ("buffered rows, peak", "state_rows", "{:,.0f}"),
    ("state bytes/row", "state_bytes_per_row", "{:,.0f}"),
)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def show(report: Report) -> None:
    Console().print(report.table())
