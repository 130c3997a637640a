"""What `bench soak` says: each figure's level and slope after the warm-up, as JSON or as a table."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, Self

from rich.console import Console

from bench.slope import Slope, slope_of
from bench.tables import Table


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

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Self:
        """From what `to_json` gave."""
        return cls(said["samples"], said["warm_up_s"], said["missing"], said["wrong"])

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

    @property
    def minutes(self) -> float:
        """How long it went on after the warm-up."""
        seconds, _ = self.series("total_bytes")
        return (seconds[-1] - seconds[0]) / 60 if seconds else 0.0

    def table(self) -> Table:
        """With one standard error of each slope."""
        rows = []
        for line in LINES:
            slope = self.slope_per_hour(line)
            if slope is None:
                continue
            form = ",.2f" if line.unit == "s" else ",.1f"
            figures = [format(value, form) for value in (self.mean(line), slope.per_x, slope.error)]
            label = f"{line.label}, {line.unit}" if line.unit else line.label
            rows.append([label, *figures, "SLOPE" if self.grows(line) else "no slope"])
        return Table(["", "mean", "per hour", "error", "verdict"], rows)


def show(found: Soaked) -> None:
    console = Console(highlight=False, width=120)
    console.print(found.table().rich(f"{found.minutes:.0f} minutes after the warm-up"))
    console.print(_outcome(found))


def shown(found: Soaked, picture: str) -> str:
    """Plot and table for a page, as Markdown. Prose is under 100 characters wide there."""
    before = (
        f"One run, {found.minutes:.0f} minutes after a warm-up of {found.warm_up_s / 60:.0f}, which is gray:"
    )
    plot = f"![Memory, files, handles and latency over time]({picture})"
    after = textwrap.fill(f"In all: {_outcome(found)}.", 99)
    return "\n\n".join((before, plot, found.table().markdown(), after))


def _outcome(found: Soaked) -> str:
    return f"{verdict(found)}; {found.missing:,} pairs were not out at the end, {found.wrong:,} were wrong"


def verdict(found: Soaked) -> str:
    growing = [line.label for line in LINES if found.grows(line)]
    return f"slope of {', '.join(growing)}" if growing else "no slope"
