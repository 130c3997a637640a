"""The band scan beside the same loops in C (`scan.c`), compiled by gcc -O3 -march=native on this machine: one
row a pass, and four. Both by CPU time: what else the machine does counts less."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dovetail.kernels.flags import kernel
from dovetail.sliding.kernels.scan import keys_room, scan, scan_four

WINDOWS = (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 21)
_WORK = 1 << 25
SOURCE = Path(__file__).parent / "scan.c"


def compared(repeat: int, windows: tuple[int, ...] | None = None) -> list[dict[str, Any]]:
    """By turns, so that what else the machine does meets both; medians of `repeat` turns. `ratio_one` and
    `ratio_four` are medians of the turns' ratios, which need not be the ratio of the medians; `ratios_one`
    and `ratios_four` are those."""
    compiler = shutil.which("gcc")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "scan"
        if compiler:
            subprocess.run([compiler, "-O3", "-march=native", "-o", str(program), str(SOURCE)], check=True)
        return [_window(rows, repeat, program if compiler else None) for rows in windows or WINDOWS]


def _window(rows: int, repeat: int, program: Path | None) -> dict[str, Any]:
    times = max(_WORK // rows, 1)
    ours: dict[str, list[float]] = {"one": [], "four": []}
    theirs: dict[str, list[float]] = {"one": [], "four": []}
    keys, low, width = _work(rows)
    _ours(keys, low, width, 1)
    for _ in range(repeat):
        one, four = _ours(keys, low, width, times)
        ours["one"].append(times * rows / one)
        ours["four"].append(4 * times * rows / four)
        if program:
            asked = [str(program), str(rows), str(times)]
            done = subprocess.run(asked, capture_output=True, text=True, check=True)
            alone, together = (float(word) for word in done.stdout.split()[:2])
            theirs["one"].append(times * rows / alone)
            theirs["four"].append(4 * times * rows / together)
    found: dict[str, Any] = {"window": rows}
    for passes in ("one", "four"):
        found[f"ours_{passes}"] = median(ours[passes])
        if program:
            found[f"c_{passes}"] = median(theirs[passes])
            ratios = [mine / other for mine, other in zip(ours[passes], theirs[passes], strict=True)]
            found[f"ratios_{passes}"], found[f"ratio_{passes}"] = ratios, median(ratios)
    return found


def four_rows_per_s(rows: int, seconds: float) -> float:
    """Rows per second of CPU that scan a window of `rows` rows, four in a pass."""
    keys, low, width = _work(rows)
    _ours(keys, low, width, 1)
    times = max(1, int(seconds * 4e9 / rows))
    _, four = _ours(keys, low, width, times)
    return 4 * times / four


def halves_over_whole(rows: int, seconds: float) -> tuple[float, float]:
    """Rows per second by the clock that scan a window of `rows` rows, four in a pass: one thread the whole,
    and two threads at once a half each. What two cores that only scan would make of this machine."""
    from concurrent.futures import ThreadPoolExecutor

    times = max(1, int(seconds * 4e9 / rows))
    whole, halves = _work(rows), (_work(rows // 2), _work(rows // 2))

    def scanned(work: tuple[Any, Any, Any]) -> None:
        keys, low, width = work
        _scan_four_often(keys, low, width, np.empty((4, 4096), np.int64), np.zeros(4, np.int64), times)

    with ThreadPoolExecutor(2) as both:
        list(both.map(scanned, halves))  # loads the kernel, and starts the threads
        began = time.perf_counter()
        scanned(whole)
        alone = time.perf_counter() - began
        began = time.perf_counter()
        list(both.map(scanned, halves))
        return 4 * times / alone, 4 * times / (time.perf_counter() - began)


def _work(rows: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    keys = keys_room(2, rows, np.uint32)
    keys[:] = rng.integers(1, 10_001, (2, rows))
    low = np.array([[50, 50], [500, 80], [900, 90], [7000, 1000]], np.uint32)
    return keys, low, np.full((4, 2), 20, np.uint32)


def _ours(keys: Any, low: Any, width: Any, times: int) -> tuple[float, float]:
    found, counts = np.empty((4, 4096), np.int64), np.zeros(4, np.int64)
    began = time.thread_time()
    _scan_often(keys, low[0].copy(), width[0], found[0], times)
    alone = time.thread_time() - began
    began = time.thread_time()
    _scan_four_often(keys, low.copy(), width, found, counts, times)
    return alone, time.thread_time() - began


@kernel
def _scan_often(keys: Any, low: Any, width: Any, found: Any, times: int) -> int:
    total = 0
    for turn in range(times):
        low[0] = 50 + turn % 7
        total += scan(keys, 0, keys.shape[1], low, width, 0, found, 0)
    return total


@kernel
def _scan_four_often(keys: Any, low: Any, width: Any, found: Any, counts: Any, times: int) -> int:
    total = 0
    for turn in range(times):
        low[0, 0] = 50 + turn % 7
        counts[:] = 0
        scan_four(keys, 0, keys.shape[1], low, width, 0, found, counts)
        total += counts.sum()
    return total
