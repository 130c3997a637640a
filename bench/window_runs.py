"""One run of one algorithm over one window, and what it gave: figures, memory over time, whether it was
right."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.window_studies import Point, Study
from bench.window_workloads import Window
from dovetail.intra_window.join import match
from dovetail.intra_window.metrics import PHASES, PhaseTimes, measure

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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
    tell: Callable[[str], None],
) -> list[Run]:
    found = []
    for point in study.points:
        window = point.make()
        expected = window.matches
        for algorithm in (name for name in point.algorithms if name in algorithms):
            for count in point.threads or threads:
                tell(f"{study.name} {point.label}: {algorithm}, {count} threads")
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
        matches = match(window.left, window.right, algorithm, threads, point.knobs, stopwatch=watch)
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
