"""A figure as numbers: panels of series, each simulated or modelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Series:
    name: str
    source: Literal["simulated", "modelled"]
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    panels: tuple[Panel, ...]

    def find(self, name: str, source: str = "simulated", panel: int = 0) -> Series:
        """By name, for whoever compares."""
        return next(one for one in self.panels[panel].series if (one.name, one.source) == (name, source))


def series(
    name: str, source: Literal["simulated", "modelled"], x: Sequence[float], value: Callable[[float], float]
) -> Series:
    return Series(name, source, tuple(float(at) for at in x), tuple(float(value(at)) for at in x))
