"""The same work with and without vector instructions: a process each, because kernels are compiled once.

Without them means: for a plain x86-64 processor, with LLVM's vectorizers turned off. Kernels of such a
process are kept in a folder of its own, and are gone with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.paper.exhibit import Effort, Finding, Made
from bench.paper.plots import bars
from bench.tables import Table

PLAIN = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
}

Rates = dict[str, dict[str, float]]
"""By `without` and `with`, then by name."""

_SORTING = """
import json, sys, time
from bench.window_studies import Size
from dovetail.intra_window.join import match
scale, threads, repeat = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
window = Size(scale, None, 1, (threads,)).micro(12_800, 12_800, at_rest=True)()
rates = {}
for name in ("mway", "mpass", "pmj_jm", "pmj_jb"):
    match(window.left[:64], window.right[:64], name, threads)
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        found = match(window.left, window.right, name, threads)
        best = min(best, time.perf_counter() - began)
    assert found == window.matches
    rates[name] = window.rows / best
print(json.dumps(rates))
"""

_SCANNING = """
import json, sys
from bench.sliding_rates import Case, measured
seconds, window = float(sys.argv[1]), int(sys.argv[2])
print(json.dumps({"handshake": measured(Case("handshake", 1, window, seconds=seconds)).taken_rows_per_s}))
"""


def figure_21(effort: Effort) -> Made:
    """The intra-window paper's: sorting joins with and without AVX."""
    scale, repeat = (0.002, "1") if effort.quick else (effort.scale, "3")
    turns = _turns(effort, _SORTING, str(scale), str(effort.threads), repeat)
    unit = (
        f"million input rows/s, {int(12_800 * scale) * 1000:,} rows a side at rest ({scale:g} of the paper's)"
    )
    return _made(effort, "intra-window-2021-figure-21", unit, 1e6, turns)


def handshake_15(effort: Effort) -> Made:
    """The handshake paper's: the scan with and without SIMD, one core."""
    seconds, window = (0.02, 1 << 10) if effort.quick else (effort.seconds, 1 << 16)
    turns = _turns(effort, _SCANNING, str(seconds), str(window))
    unit = f"thousand rows/s, windows of 2^{window.bit_length() - 1} rows"
    return _made(effort, "handshake-2011-figure-15", unit, 1e3, turns)


def _turns(effort: Effort, program: str, *arguments: str) -> list[Rates]:
    """Without and with vectors by turns, a process each. Without them everything is compiled once more, which
    takes a minute: in the first turn, before anything is timed."""
    with tempfile.TemporaryDirectory() as kernels:
        plain = {**PLAIN, "NUMBA_CACHE_DIR": kernels}
        return [
            {"without": _run(program, arguments, plain), "with": _run(program, arguments, {})}
            for _ in range(1 if effort.quick else 5)
        ]


def _run(program: str, arguments: tuple[str, ...], environment: dict[str, str]) -> dict[str, float]:
    root = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join([root, *(os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the child failed: {done.stderr[-2000:]}")
    rates: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return rates


def gains_of(turns: list[Rates]) -> dict[str, float]:
    """Medians of the turns' ratios."""
    return {
        name: median(turn["with"][name] / turn["without"][name] for turn in turns)
        for name in turns[0]["with"]
    }


def _made(effort: Effort, picture: str, unit: str, per: float, turns: list[Rates]) -> Made:
    gains = gains_of(turns)
    rates = {
        how: {name: median(turn[how][name] for turn in turns) for name in gains}
        for how in ("without", "with")
    }
    rows = [
        (name, f"{rates['without'][name] / per:.1f}", f"{rates['with'][name] / per:.1f}", f"{gain:.2f}")
        for name, gain in gains.items()
    ]
    heads = ("", "without", "with vector instructions", "gain")
    shown = {how: {name: rate / per for name, rate in by_name.items()} for how, by_name in rates.items()}
    caption = f"{unit}, medians of {len(turns)} turn{'s' if len(turns) > 1 else ''}"
    pictures = bars(effort, picture, {unit.partition(",")[0]: shown})
    return Made({caption: Table(heads, rows)}, pictures, {"gains": gains})


FIGURE_21_FOUND = (
    Finding(
        "5.6",
        "SIMD gains 1.2 to 2.5 times, for PMJ only 1.2",
        "all gain at least 1.2 times, and MWay and MPass more than PMJ",
        lambda v: (
            min(v["gains"].values()) >= 1.2
            and min(v["gains"]["mway"], v["gains"]["mpass"]) > max(v["gains"]["pmj_jm"], v["gains"]["pmj_jb"])
        ),
    ),
)
HANDSHAKE_15_FOUND = (
    Finding(
        "5.3",
        "with SIMD it sustains more than double the load (windows of 15 minutes)",
        "more than four times the rows per second: a window of rows does not grow with the rate, and of a "
        "time window twice the rate is four times the comparisons",
        lambda v: v["gains"]["handshake"] > 4,
    ),
)
