"""What `dovetail bench window` measures: a study is one of the paper's figures, with the points of its axis;
a run is one algorithm over the window of one point.

Studies at rest count the matches of rows that are all there, as the authors' harness does. Those in motion
let rows arrive by the clock and look at every match, for latency and progress.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.window_workloads import WORKLOADS, Micro, Window
from dovetail.intra_window.join import ALGORITHMS, match
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.memory import Memory
from dovetail.intra_window.metrics import PHASES, PhaseTimes, measure

Windows = dict[Any, Callable[[], Window]]
"""By the label of a point."""

DEFAULTS = Knobs()
SKEWS = (0.0, 0.4, 0.8, 1.2, 1.6)
"""Zipf's exponents, of keys and of arrivals."""
RADIX_BITS = (4, 6, 8, 10, 11, 12, 13, 14, 16, 18)
"""The paper has 8 to 18."""
MEMORY = Memory(3 << 30)
"""For runs at rest, which are repeated: as of windows that follow each other, memory is fresh once."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


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
    micro, rest, most = size.micro, size.micro(12_800, 12_800, at_rest=True), max(2, *size.threads)
    rates = (1600, 3200, 6400, 12_800, 25_600)
    jb, pmj = ("shj_jb", "pmj_jb"), ("pmj_jm", "pmj_jb")

    def workload(name: str) -> Callable[[], Window]:
        return lambda: WORKLOADS[name](size.share(name), size.folder, size.seed)

    def moving(name: str, figure: str, sentence: str, axis: str, windows: Windows) -> Study:
        points = tuple(Point(f"{label}", make) for label, make in windows.items())
        return Study(name, figure, sentence, axis, True, points)

    def at_rest(name: str, figure: str, sentence: str, axis: str, points: Iterable[Point]) -> Study:
        return Study(name, figure, sentence, axis, False, tuple(points))

    yield moving(
        "workloads", "figures-5-6-7", "throughput, latency, progress and time by phase", "workload",
        {name: workload(name) for name in WORKLOADS},
    )  # fmt: skip
    yield moving(
        "rate", "figure-9", "rate of both streams", "rows/ms", {v: micro(v, v) for v in rates}
    )  # fmt: skip
    yield moving(
        "relative_rate", "figure-10", "rate of S, that of R at 1600", "rows/ms",
        {v: micro(1600, v) for v in rates},
    )  # fmt: skip
    yield moving(
        "duplicates", "figure-11", "duplicates of a key", "rows of a key",
        {n: micro(6400, 6400, duplicates=n) for n in (1, 10, 50, 100, 200)},
    )  # fmt: skip
    yield moving(
        "time_skew", "figure-12", "skew of arrival", "Zipf",
        {z: micro(1600, 1600, time_skew=z) for z in SKEWS},
    )  # fmt: skip
    yield at_rest(
        "key_skew", "figure-13", "skew of keys", "Zipf",
        (Point(f"{z}", micro(12_800, 12_800, key_skew=z, at_rest=True)) for z in SKEWS),
    )  # fmt: skip
    yield moving(
        "window", "figure-14", "length of the window", "ms",
        {w: micro(12_800, 12_800, window_ms=w) for w in (500, 1000, 1500, 2000, 2500)},
    )  # fmt: skip
    yield at_rest(
        "sorting_step", "figure-15", "PMJ: rows gathered before they are sorted", "share",
        (Point(f"{d}", rest, pmj, Knobs(sorting_step=d)) for d in (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)),
    )  # fmt: skip
    yield at_rest(
        "group_size", "figure-16", "JB: threads that share a group of keys", "threads",
        (Point(f"{g}", rest, jb, Knobs(group_size=g), (most,)) for g in range(1, most + 1)),
    )  # fmt: skip
    yield at_rest(
        "physical", "figure-17", "SHJ-JM: rows handed over by number or by value", "",
        (Point(f"by {by}", rest, ("shj_jm",), Knobs(physical=by == "value")) for by in ("number", "value")),
    )  # fmt: skip
    yield at_rest(
        "radix_bits", "figure-18", "PRJ: bits by which rows are partitioned", "bits",
        (Point(f"{b}", rest, ("prj",), Knobs(radix_bits=b)) for b in RADIX_BITS),
    )  # fmt: skip
    yield at_rest(
        "speed", "speed", "data at rest, matches counted", "rows a side, duplicates",
        (
            Point(f"{size.rate(v) * 1000:,} x {n}", micro(v, v, duplicates=n, at_rest=True))
            for v in (1_280, 12_800)
            for n in (1, 10, 100)
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class Run:
    study: str
    point: str
    algorithm: str
    threads: int
    rows: int
    matches: int
    right: bool
    """It found as many matches as there are."""

    rows_per_s: float
    p95_latency_ms: float | None = None
    half_ms: float | None = None
    """Until half of the matches were there."""

    progress: list[tuple[int, float]] = field(default_factory=list)
    phases_ns_per_row: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    memory: list[tuple[float, int]] = field(default_factory=list)
    rows_per_cpu_s: float | None = None
    """By the CPU time of all threads: on a machine that others use too it says more than rows per second."""


class MemoryLine:
    """Resident memory over time, above what there was at the start. Reads `/proc` (Linux)."""

    def __init__(self, every_s: float = 0.01) -> None:
        self.line: list[tuple[float, int]] = []
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True, name="memory-line")
        self._base = _resident()
        self._began = time.perf_counter()

    def _sample(self) -> None:
        while not self._stop.wait(self._every_s):
            self.line.append((time.perf_counter() - self._began, max(0, _resident() - self._base)))

    def __enter__(self) -> MemoryLine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def peak(self) -> int:
        return max((size for _, size in self.line), default=0)


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def run_study(
    study: Study,
    threads: tuple[int, ...],
    algorithms: tuple[str, ...],
    repeat: int,
    say: Callable[[str], None],
) -> list[Run]:
    found = []
    for point in study.points:
        window = point.make()
        expected = window.matches
        for algorithm in (name for name in point.algorithms if name in algorithms):
            for count in point.threads or threads:
                say(f"{study.name} {point.label}: {algorithm}, {count} threads")
                run = _moving if study.moving else _counted
                found.append(run(study, point, window, expected, algorithm, count, repeat))
    return found


def _counted(
    study: Study, point: Point, window: Window, expected: int, algorithm: str, threads: int, repeat: int
) -> Run:
    """The best of several: what disturbs a run only makes it slower."""
    best, least_cpu, phases, matches = float("inf"), float("inf"), PhaseTimes(), 0
    match(window.left[:64], window.right[:64], algorithm, threads, point.knobs)  # loads the kernels
    for _ in range(repeat):
        watch = PhaseTimes()
        began, cpu = time.perf_counter(), time.process_time()
        matches = match(
            window.left, window.right, algorithm, threads, point.knobs, stopwatch=watch, memory=MEMORY
        )
        took = time.perf_counter() - began
        least_cpu = min(least_cpu, time.process_time() - cpu)
        if took < best:
            best, phases = took, watch
    return Run(
        study.name, point.label, algorithm, threads, window.rows, matches, matches == expected,
        window.rows / best, phases_ns_per_row=_by_row(phases.seconds, window.rows),
        rows_per_cpu_s=window.rows / max(least_cpu, 1e-9),
    )  # fmt: skip


def _moving(
    study: Study, point: Point, window: Window, expected: int, algorithm: str, threads: int, repeat: int
) -> Run:
    match(window.left[:64], window.right[:64], algorithm, threads, point.knobs)
    with MemoryLine() as memory:
        seen = measure(
            window.left, window.right, algorithm, threads, point.knobs, window.left_us, window.right_us
        )
    late, half = seen.latency_us["p95"], seen.until_share_us(0.5)
    return Run(
        study.name, point.label, algorithm, threads, window.rows, seen.matches, seen.matches == expected,
        seen.rows_per_s,
        None if late is None else late / 1000,
        None if half is None else half / 1000,
        seen.progress,
        _by_row(seen.phases_s, window.rows),
        memory.peak,
        memory.line[:: max(1, len(memory.line) // 100)],
    )  # fmt: skip


def _by_row(seconds: dict[str, float], rows: int) -> dict[str, float]:
    return {name: seconds.get(name, 0.0) / max(1, rows) * 1e9 for name in PHASES}
