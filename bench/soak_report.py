"""What `bench soak` says: each figure's level and slope after the warm-up, as JSON or as a table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.slope import Slope, slope_of


class Line(NamedTuple):
    """A figure, its unit, the samples per unit, and how much it may grow per hour, as a share of its level.
    None: it may, because kept results or history make it grow."""

    name: str
    label: str
    unit: str
    scale: float
    drift: float | None


LINES = (
    Line("driver_bytes", "memory of the driver's Python", "MiB", 2**20, 0.02),
    Line("jvm_bytes", "memory of the JVM", "MiB", 2**20, 0.02),
    Line("workers_bytes", "memory of the workers", "MiB", 2**20, 0.02),
    Line("total_bytes", "memory in all", "MiB", 2**20, 0.02),
    Line("handles", "open handles", "", 1, 0.02),
    Line("processes", "processes", "", 1, 0.02),
    Line("files", "files", "", 1, 0.02),
    Line("file_bytes", "bytes of files", "MiB", 2**20, 0.02),
    Line("p50_s", "latency, p50", "s", 1, 0.05),
    Line("p99_s", "latency, p99", "s", 1, 0.05),
)
"""Two percent per hour doubles a figure in two days; below that a half hour of samples cannot tell."""


@dataclass(frozen=True)
class Soaked:
    """All samples; those before `warm_up_s` are drawn but not judged."""

    samples: list[dict[str, float]]
    warm_up_s: float
    missing: int
    wrong: int

    def series(self, name: str) -> tuple[list[float], list[float]]:
        """Seconds and values after the warm-up."""
        known = [one for one in self.samples if one["s"] >= self.warm_up_s and name in one]
        return [one["s"] for one in known], [one[name] for one in known]

    def slope_per_hour(self, line: Line) -> Slope | None:
        seconds, values = self.series(line.name)
        found = slope_of(seconds, [value / line.scale for value in values])
        return Slope(3600 * found.per_x, 3600 * found.error) if found else None

    def mean(self, line: Line) -> float:
        _, values = self.series(line.name)
        return fmean(values) / line.scale if values else float("nan")

    def grows(self, line: Line) -> bool:
        """Surely, and by more than it may."""
        slope = self.slope_per_hour(line)
        if slope is None or line.drift is None:
            return False
        return slope.per_x - 2 * slope.error > line.drift * self.mean(line)

    @property
    def level(self) -> bool:
        return not any(self.grows(line) for line in LINES)

    def to_json(self) -> dict[str, Any]:
        slopes = {
            line.name: {"mean": self.mean(line), "per_hour": slope.per_x, "error": slope.error}
            | {"unit": line.unit, "grows": self.grows(line)}
            for line in LINES
            if (slope := self.slope_per_hour(line)) is not None
        }
        return {
            "slopes": slopes,
            "level": self.level,
            "verdict": verdict(self),
            "missing": self.missing,
            "wrong": self.wrong,
            "warm_up_s": self.warm_up_s,
            "samples": self.samples,
        }


def show(found: Soaked) -> None:
    Console(highlight=False, width=120).print(table(found))


def table(found: Soaked) -> Table:
    seconds, _ = found.series("total_bytes")
    minutes = (seconds[-1] - seconds[0]) / 60 if seconds else 0
    made = Table(title=f"{minutes:.0f} minutes after the warm-up: slopes with one standard error")
    for head in ("", "mean", "unit", "per hour", "error", "verdict"):
        made.add_column(head, justify="left" if head in ("", "unit") else "right")
    for line in LINES:
        slope = found.slope_per_hour(line)
        if slope is None:
            continue
        form = ",.2f" if line.unit == "s" else ",.1f"
        made.add_row(
            line.label,
            format(found.mean(line), form),
            line.unit,
            format(slope.per_x, form),
            format(slope.error, form),
            "SLOPE" if found.grows(line) else "no slope",
        )
    made.caption = (
        f"{verdict(found)}; {found.missing:,} pairs were not out at the end, {found.wrong:,} were wrong"
    )
    return made


def verdict(found: Soaked) -> str:
    growing = [line.label for line in LINES if found.grows(line)]
    return f"slope of {', '.join(growing)}" if growing else "no slope"
