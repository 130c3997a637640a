"""What the engine's operations cost on this machine, for the simulator; and the simulator beside the
measurement."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from bench.sliding_rates import Case, filled, measured
from bench.sliding_work import arrivals
from dovetail.simulate.costs import Costs
from dovetail.simulate.run import sustained_rate
from dovetail.simulate.setup import Setup, WindowSize
from dovetail.sliding.kernels.channel import channel, send_rows, take_rows
from dovetail.sliding.kernels.layout import PAIR_WORDS

COMPARE_WINDOWS = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 19)
_SMALL = 64
_HOPS = 1 << 20


def costs(repeat: int) -> Costs:
    """From Kang's procedure: a row's time grows by one comparison a row of the window; what a row costs with
    hardly any window is a message, and taking it up. Storing it is part of that, and is not separated: so
    all cores are thought to store all rows. A result's cost is what many matches add."""
    base = _row_ns(Case(design="kang", window=_SMALL), repeat)
    levels = tuple(
        (window, max((_row_ns(Case(design="kang", window=window), repeat) - base) / window, 1e-3))
        for window in COMPARE_WINDOWS
    )
    hop = hop_ns(repeat)
    many = Case(design="kang", window=1 << 12, domain=100)
    few = Case(design="kang", window=1 << 12, domain=1_000_000)
    matches = (1 << 12) * (21 / 100) ** 2
    result = max((_row_ns(many, repeat) - _row_ns(few, repeat)) / matches, 0.1)
    return Costs(
        compare_ns=levels,
        timestamp_ns=0.0,
        hop_ns=hop,
        row_ns=max(base - hop, 1.0),
        store_ns=0.0,
        result_ns=result,
        merge_ns=_merge_ns(repeat),
        source=f"measured by dovetail bench sliding on {os.cpu_count()} processors",
    )


def _row_ns(case: Case, repeat: int) -> float:
    """Nanoseconds of CPU a row, of a core that has no thread: what others do on the machine does not
    count."""
    join = filled(case)
    rates = []
    with join:
        rows = int(np.clip(2e9 / (0.15 * case.window + 400), 2_000, 400_000) / 8)
        for turn in range(repeat):
            ready = list(arrivals(turn, rows, 512, case.domain, 2 * case.window))
            spent = 0.0
            for messages in [join.prepared(**one) for one in ready]:
                began = time.thread_time()
                join.send(messages)
                spent += time.thread_time() - began
                join.pairs()
            rates.append(1e9 * spent / rows)
    return median(rates)


def hop_ns(repeat: int) -> float:
    """One message over one channel between two threads that do nothing else."""
    rows, into = np.zeros((4096, 24), np.int64), np.empty((4096, 24), np.int64)
    spent = []
    for _ in range(repeat):
        line = channel(1024, 24)

        def sender(to: Any = line) -> None:
            sent = 0
            while sent < _HOPS:
                sent += send_rows(to, rows, 0)

        thread = threading.Thread(target=sender)
        began = time.perf_counter()
        thread.start()
        taken = 0
        while taken < _HOPS:
            taken += take_rows(line, into)
        thread.join()
        spent.append(1e9 * (time.perf_counter() - began) / taken)
    return median(spent)


def _merge_ns(repeat: int) -> float:
    """A result passed from one channel to the next."""
    rows, into = np.zeros((4096, PAIR_WORDS), np.int64), np.empty((4096, PAIR_WORDS), np.int64)
    line, spent = channel(4096, PAIR_WORDS), []
    for _ in range(repeat):
        began = time.thread_time()
        for _ in range(64):
            send_rows(line, rows, 0)
            take_rows(line, into)
        spent.append(1e9 * (time.thread_time() - began) / (64 * len(rows)))
    return median(spent)


def driver_ns(repeat: int) -> float:
    """CPU of the thread that pushes rows and reads results, a row, beside two cores: it sleeps while they
    have enough to do."""
    case, rows, spent = Case(cores=2, window=1 << 14), 100_000, []
    with filled(case) as join:
        for turn in range(repeat):
            ready = list(arrivals(turn, rows, case.batch, case.domain, 2 * case.window))
            began = time.thread_time()
            for batch in ready:
                join.push(**batch)
            join.flush()
            spent.append(1e9 * (time.thread_time() - began) / rows)
            join.pairs()
    return median(spent)


def beside(measured_costs: Costs, windows: list[int], seconds: float, repeat: int) -> list[dict[str, Any]]:
    """Measured, and simulated with these costs on as many processors as there are: one core and two. The
    simulator's other threads poll, the driver's does not: a single core has no thread of its own but the
    driver's; and where no processor is left to the driver, it shares that of one core, for which the others
    then wait: in a profile by thread of two cores on two processors, one worked and the other polled for a
    fifth of the time."""
    processors, found = os.cpu_count() or 1, []
    driver = driver_ns(repeat)
    for window in windows:
        for cores in (1, 2):
            more = driver if cores == 1 or cores >= processors else 0.0
            taken = measured(Case(cores=cores, window=window, seconds=seconds)).taken_rows_per_s
            setup = Setup(
                "split",
                cores,
                WindowSize(rows=window),
                physical_cores=processors,
                other_threads=0,
                fan_out=8,
                fan_in=8,
            )
            simulated = sustained_rate(setup, replace(measured_costs, row_ns=measured_costs.row_ns + more))
            found.append(
                {
                    "window": window,
                    "cores": cores,
                    "measured": taken,
                    "simulated": simulated,
                    "ratio": simulated / taken,
                }
            )
    return found
