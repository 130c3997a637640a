"""The band scan beside the same loop in C, compiled by gcc -O3 -march=native on this machine: one row a pass,
and four."""

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
from dovetail.sliding.kernels.scan import scan, scan_four

WINDOWS = (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 21)
_WORK = 1 << 25
_C = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 *
t.tv_nsec; } __attribute__((noinline)) int one(const int32_t *x, const float *y, int n, int32_t lx, int32_t
hx, float ly, float hy) {
  int found = 0;
  for (int i = 0; i < n; i++) found += (x[i] >= lx) & (x[i] <= hx) & (y[i] >= ly) & (y[i] <= hy);
  return found;
}
__attribute__((noinline)) int four(const int32_t *x, const float *y, int n, const int32_t *lx, const float
*ly) {
  int found = 0;
  int32_t a = lx[0], b = lx[1], c = lx[2], d = lx[3];
  float e = ly[0], f = ly[1], g = ly[2], h = ly[3];
  for (int i = 0; i < n; i++) {
    int32_t u = x[i]; float v = y[i];
    found += ((u >= a) & (u <= a + 20) & (v >= e) & (v <= e + 20)) + ((u >= b) & (u <= b + 20) & (v >= f) & (v
    <= f + 20))
           + ((u >= c) & (u <= c + 20) & (v >= g) & (v <= g + 20)) + ((u >= d) & (u <= d + 20) & (v >= h) & (v
           <= h + 20));
  }
  return found;
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), repeats = atoi(argv[2]), found = 0;
  int32_t *x = aligned_alloc(64, 4 * (size_t)n); float *y = aligned_alloc(64, 4 * (size_t)n);
  for (int i = 0; i < n; i++) { x[i] = 1 + rand() % 10000; y[i] = 1 + rand() % 10000; }
  int32_t lx[4] = {50, 500, 900, 7000}; float ly[4] = {50, 80, 90, 1000};
  double t = now();
  for (int k = 0; k < repeats; k++) found += one(x, y, n, 50 + k % 7, 70 + k % 7, 50, 70);
  double alone = now() - t;
  t = now();
  for (int k = 0; k < repeats; k++) { lx[0] = 50 + k % 7; found += four(x, y, n, lx, ly); }
  double together = now() - t;
  printf("%.9f %.9f %d\n", alone, together, found);
  return 0;
}
"""


def compared(repeat: int) -> list[dict[str, Any]]:
    """By turns, so that what else the machine does meets both; medians of `repeat` turns."""
    compiler = shutil.which("gcc")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "scan"
        if compiler:
            Path(folder, "scan.c").write_text(_C)
            subprocess.run(
                [compiler, "-O3", "-march=native", "-o", str(program), str(Path(folder, "scan.c"))],
                check=True,
            )
        return [_window(rows, repeat, program if compiler else None) for rows in WINDOWS]


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
            found[f"ratio_{passes}"] = median(
                mine / other for mine, other in zip(ours[passes], theirs[passes], strict=True)
            )
    return found


def _work(rows: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(1)
    keys = rng.integers(1, 10_001, (2, rows)).astype(np.uint32)
    low = np.array([[50, 50], [500, 80], [900, 90], [7000, 1000]], np.uint32)
    return keys, low, np.full((4, 2), 20, np.uint32)


def _ours(keys: Any, low: Any, width: Any, times: int) -> tuple[float, float]:
    """With what C's loop leaves out: the places of what is found are written down."""
    found, counts = np.empty((4, 4096), np.int64), np.zeros(4, np.int64)
    began = time.perf_counter()
    _scan_often(keys, low[0].copy(), width[0], found[0], times)
    alone = time.perf_counter() - began
    began = time.perf_counter()
    _scan_four_often(keys, low.copy(), width, found, counts, times)
    return alone, time.perf_counter() - began


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
