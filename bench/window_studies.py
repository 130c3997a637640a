"""What `dovetail bench window` measures: a study is one of the paper's figures, with the points of its axis.

Studies at rest count matches of rows that are all there, as the authors' harness does; those in motion let
rows arrive by the clock and look at every match, for latency and progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.window_workloads import WORKLOADS, Micro, Window
from dovetail.intra_window.join import ALGORITHMS
from dovetail.intra_window.knobs import Knobs

EAGER_JB = ("shj_jb", "pmj_jb")
DEFAULTS = Knobs()


@dataclass(frozen=True)
class Point:
    """One value of a study's axis."""

    label: str
    make: Callable[[], Window]
    algorithms: tuple[str, ...] = ALGORITHMS
    knobs: Knobs = DEFAULTS
    threads: tuple[int, ...] | None = None
    """None: those that were asked for."""


@dataclass(frozen=True)
class Study:
    name: str
    figure: str
    sentence: str
    axis: str
    moving: bool
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Size:
    """How large: `scale` is a share of the paper's rates and rows."""

    scale: float
    folder: Path | None
    seed: int
    threads: tuple[int, ...]

    def rate(self, per_ms: int) -> int:
        return max(1, int(per_ms * self.scale))

    def share(self, workload: str) -> float:
        """Stock is small as it is; the matches of Rovio grow with the square of its rows."""
        return {"stock": 1.0, "rovio": self.scale / 5}.get(workload, self.scale)

    def micro(self, left: int, right: int, **more: object) -> Callable[[], Window]:
        spec = Micro(self.rate(left), self.rate(right), seed=self.seed, **more)  # type: ignore[arg-type]
        return spec.make


def studies(size: Size) -> Iterator[Study]:
    """In the order of the paper."""
    yield Study(
        "workloads", "figures-5-6-7", "throughput, latency, progress and time by phase", "workload", True,
        tuple(
            Point(name, lambda name=name: WORKLOADS[name](size.share(name), size.folder, size.seed)) for
            name in WORKLOADS
        ),
    )  # fmt: skip
    yield Study(
        "rate", "figure-9", "rate of both streams", "rows/ms", True,
        tuple(Point(f"{v}", size.micro(v, v)) for v in (1600, 3200, 6400, 12_800, 25_600)),
    )  # fmt: skip
    yield Study(
        "relative_rate", "figure-10", "rate of S, that of R at 1600", "rows/ms", True,
        tuple(Point(f"{v}", size.micro(1600, v)) for v in (1600, 3200, 6400, 12_800, 25_600)),
    )  # fmt: skip
    yield Study(
        "duplicates", "figure-11", "duplicates of a key", "rows of a key", True,
        tuple(Point(f"{n}", size.micro(6400, 6400, duplicates=n)) for n in (1, 10, 50, 100)),
    )  # fmt: skip
    yield Study(
        "time_skew", "figure-12", "skew of arrival", "Zipf", True,
        tuple(Point(f"{z}", size.micro(1600, 1600, time_skew=z)) for z in (0.0, 0.4, 0.8, 1.2, 1.6)),
    )  # fmt: skip
    yield Study(
        "key_skew", "figure-13", "skew of keys", "Zipf", False,
        tuple(
            Point(f"{z}", size.micro(12_800, 12_800, key_skew=z, at_rest=True)) for z in (0.0, 0.4, 0.8,
            1.2, 1.6)
        ),
    )  # fmt: skip
    yield Study(
        "window", "figure-14", "length of the window", "ms", True,
        tuple(Point(f"{w}", size.micro(12_800, 12_800, window_ms=w)) for w in (500, 1000, 1500, 2000, 2500)),
    )  # fmt: skip
    rest = size.micro(12_800, 12_800, at_rest=True)
    yield Study(
        "sorting_step", "figure-15", "PMJ: rows gathered before they are sorted", "share", False,
        tuple(
            Point(f"{d}", rest, ("pmj_jm", "pmj_jb"), Knobs(sorting_step=d)) for d in (0.05, 0.1, 0.2, 0.3,
            0.5, 1.0)
        ),
    )  # fmt: skip
    most = max(size.threads)
    yield Study(
        "group_size", "figure-16", "JB: threads that share a group of keys", "threads", False,
        tuple(
            Point(f"{g}", rest, EAGER_JB, Knobs(group_size=g), (max(2, most),)) for g in range(1, max(2,
            most) + 1)
        ),
    )  # fmt: skip
    yield Study(
        "physical", "figure-17", "SHJ-JM: rows handed over by number or by value", "", False,
        tuple(
            Point("by value" if by_value else "by number", rest, ("shj_jm",), Knobs(physical=by_value))
            for by_value in (False, True)
        ),
    )  # fmt: skip
    yield Study(
        "radix_bits", "figure-18", "PRJ: bits by which rows are partitioned", "bits", False,
        tuple(Point(f"{b}", rest, ("prj",), Knobs(radix_bits=b)) for b in (4, 6, 8, 10, 11, 12, 13, 14, 16)),
    )  # fmt: skip
    yield Study(
        "speed", "speed", "data at rest, matches counted", "rows a side, duplicates", False,
        tuple(
            Point(f"{size.rate(per_ms) * 1000:,} x {n}", size.micro(per_ms, per_ms, duplicates=n,
            at_rest=True)) for per_ms in (1_280, 12_800)
            for n in (1, 10, 100)
        ),
    )  # fmt: skip
