"""What rate a design holds on this machine, how long its stages take, and that its result is right.

A rate is *held* if rows that are handed over at that pace do not fall behind it. It is searched from above:
first as fast as the join takes rows, then at a little less, until it is held. Windows are full throughout,
and results are read after each push: what nobody reads fills memory, and fresh memory costs more than a pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import numpy as np

from bench.sliding_work import BAND, DOMAIN, R, S, arrivals
from dovetail.errors import RunError
from dovetail.model.sliding import Window
from dovetail.sliding.engine import SlidingJoin
from dovetail.sliding.topology import BASIC_ROWS, BATCH_ROWS

SHARES = (0.97, 0.9, 0.8, 0.72, 0.65, 0.58, 0.5, 0.42, 0.35, 0.25)
MOST_UNREAD = 1 << 22
"""Results that wait to be read: 256 MiB of them."""
_LAG = 0.05  # behind its pace at the end of a run by no more than this share of it


@dataclass(frozen=True)
class Case:
    design: str = "split"
    cores: int = 1
    window: int = 1 << 16  # rows a side
    access: str = "scan"
    order: str = "none"
    every: int = 1
    group: int = 1
    by_time: bool = False
    domain: int = DOMAIN
    predicate: str = BAND
    seconds: float = 2.0
    batch: int = 256
    together: bool = True  # rows that wait scan the window four at a time
    deal_rows: int = 1  # of a stream, kept by one core of SplitJoin before the next one's turn
    batch_rows: int = BATCH_ROWS  # of CellJoin: dealt out together
    basic_rows: int = BASIC_ROWS  # and the least that a worker gets


@dataclass
class Measured:
    case: Case
    taken_rows_per_s: float
    held_rows_per_s: float
    comparisons_per_s: float
    pairs: int
    latency_us: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self.case), **{k: v for k, v in asdict(self).items() if k != "case"}}


def made(case: Case, timed: bool = False, hold_rows_per_s: float | None = None) -> SlidingJoin:
    # A time window of as many units as both streams have rows in it holds as many rows a side.
    window = Window(time=2 * case.window) if case.by_time else Window(rows=case.window)
    return SlidingJoin(
        case.predicate,
        left=R,
        right=S,
        window=window,
        design=case.design,  # type: ignore[arg-type]
        cores=case.cores,
        access=case.access,  # type: ignore[arg-type]
        order=case.order,  # type: ignore[arg-type]
        every=case.every,
        group=case.group,
        hold_rows_per_s=hold_rows_per_s,
        deal_rows=case.deal_rows,
        batch_rows=case.batch_rows,
        basic_rows=case.basic_rows,
        time="t" if case.by_time else None,
        timed=timed,
        together=case.together,
        most_pending=MOST_UNREAD,
    )


def filled(case: Case, timed: bool = False) -> SlidingJoin:
    join = made(case, timed)
    fill(join, case)
    return join


def made_holding(case: Case, rows_per_s: float | None) -> SlidingJoin:
    """Filled; its precision follows the load so that this rate is held."""
    join = made(case, hold_rows_per_s=rows_per_s)
    fill(join, case)
    return join


def fill(join: SlidingJoin, case: Case) -> None:
    for batch in arrivals(1, 2 * case.window, case.batch, case.domain):
        _push(join, batch)
    _flush(join)
    join.pairs()


def _push(join: SlidingJoin, batch: dict[str, Any]) -> int:
    """How many pairs were read. With a punctuation for each row of the window a batch has millions of
    results: the join refuses more rows until they are read, and then goes on where it was."""
    return _reading(join, lambda: join.push(**batch), join.push) + len(join.pairs())


def _flush(join: SlidingJoin) -> None:
    _reading(join, join.flush, join.flush)


def _reading(join: SlidingJoin, work: Callable[[], None], rest: Callable[[], None]) -> int:
    """`rest` does what is left of `work` after a refusal. Returns how many pairs were read."""
    pairs = 0
    while True:
        try:
            work()
        except RunError:
            if not join.unread:
                raise  # it was refused for another reason
            pairs += len(join.pairs())
            work = rest
        else:
            return pairs


def measured(case: Case) -> Measured:
    """Saturate, then search."""
    join = filled(case)
    with join:
        began_rows = [2 * case.window]
        taken, pairs = _saturated(join, case, began_rows)
        held = 0.0
        for share in SHARES:
            if _holds(join, case, share * taken, began_rows):
                held = share * taken
                break
    return Measured(case, taken, held, taken * case.window, pairs)


def _saturated(join: SlidingJoin, case: Case, at: list[int]) -> tuple[float, int]:
    """Rows per second when the join alone sets the pace; the same rows are made beforehand."""
    rate, pairs = 0.0, 0
    rows = max(case.batch * 4, 2048)
    while True:
        ready = list(arrivals(at[0], rows, case.batch, case.domain, at[0]))
        at[0] += rows
        began, pairs = time.perf_counter(), 0
        for batch in ready:
            pairs += _push(join, batch)
        _flush(join)
        spent = time.perf_counter() - began
        rate = rows / spent
        pairs += len(join.pairs())
        if spent >= case.seconds / 2:
            return rate, pairs
        rows = int(rows * min(8.0, 1.2 * case.seconds / max(spent, 1e-3) + 1))


def full_speed(
    join: SlidingJoin, case: Case, seconds: float, clock: Callable[[], float], seed: int = 0
) -> float:
    """Rows per second by that clock when the join alone sets the pace, for about `seconds`."""
    rows = max(2 * case.batch, int(seconds * 15e9 / case.window) // (2 * case.batch) * 2 * case.batch)
    ready = list(arrivals(seed, rows, case.batch, case.domain, 2 * case.window))
    began = clock()
    for batch in ready:
        _push(join, batch)
    _flush(join)
    return rows / (clock() - began)


def _holds(join: SlidingJoin, case: Case, rows_per_s: float, at: list[int]) -> bool:
    rows = int(rows_per_s * case.seconds)
    if rows < case.batch:
        return False
    ready = list(arrivals(at[0], rows, case.batch, case.domain, at[0]))
    at[0] += rows
    began, pushed = time.perf_counter(), 0
    for batch in ready:
        wait = began + pushed / rows_per_s - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        _push(join, batch)
        pushed += next(iter(batch.values())).num_rows
    _flush(join)
    behind = time.perf_counter() - (began + pushed / rows_per_s)
    join.pairs()
    return behind <= _LAG * case.seconds


def latency(case: Case, rows_per_s: float, rows: int) -> dict[str, float]:
    """Median microseconds of each stage when rows come one at a time at that rate, after a burst that filled
    the windows. Reads follow pushes at once.

    *Visiting* is from the moment at which the later row of a pair is handed over until the two are compared,
    in the middle of a scan on average. A design in which rows wait for others to push them on must be asked
    for it at a steady rate (`steady_latency`): after a burst its median only says where the burst ended."""
    with filled(case, timed=True) as join:
        return _stages(join, case, rows_per_s, rows, first_time=2 * case.window)


def steady_latency(case: Case, rows_per_s: float, windows: int = 2) -> dict[str, float]:
    """The same when rows have come at that rate from the beginning: one window fills both sides, and pairs
    that come out during the `windows` after it count."""
    fills = 2 * case.window
    with made(case, timed=True) as join:
        return _stages(join, case, rows_per_s, (1 + windows) * fills, counted_from=fills)


def _stages(
    join: SlidingJoin, case: Case, rows_per_s: float, rows: int, first_time: int = 0, counted_from: int = 0
) -> dict[str, float]:
    stages: dict[str, list[Any]] = {}

    def read(number: int) -> None:
        for stage, values in join.latencies_us().items():
            if number >= counted_from:
                stages.setdefault(stage, []).append(values)

    # Made beforehand: else making the next row would count as time in which results wait to be read.
    ready = [
        {side: row.to_pylist()[0]}
        for batch in arrivals(7, rows, 1, case.domain, first_time)
        for side, row in batch.items()
    ]
    began = time.perf_counter()
    for number, row in enumerate(ready):
        due = began + number / rows_per_s
        while time.perf_counter() < due:
            read(number)
        join.push(**row)
        read(number)
    join.flush()
    read(rows)
    whole = {stage: np.concatenate(values) for stage, values in stages.items()}
    medians = {stage: float(median(values)) for stage, values in whole.items() if len(values)}
    # On two cores half of handshake join's pairs meet at once: its median sits on a jump, its mean does not.
    return {**medians, "visiting_mean": float(whole["visiting"].mean())} if medians else medians


def from_push_us(case: Case, rows_per_s: float, rows: int) -> list[float]:
    """For rows that come one at a time and find a partner: microseconds from the call of `push` until its
    pairs are in hand. Other than the stages, it has what making a message of a row takes."""
    found = []
    with filled(case) as join:
        ready = [
            {side: row.to_pylist()[0]}
            for batch in arrivals(7, rows, 1, case.domain, 2 * case.window)
            for side, row in batch.items()
        ]
        began = time.perf_counter()
        for number, row in enumerate(ready):
            while time.perf_counter() < began + number / rows_per_s:
                pass
            called = time.perf_counter()
            join.push(**row)
            pairs = join.pairs()
            if len(pairs):
                found.append(1e6 * (time.perf_counter() - called))
    return found


def pairs_of(case: Case, rows: int) -> tuple[int, int]:
    """How many pairs a design makes of a stream, and a checksum of them: the same for all that are right."""
    total, checksum = 0, 0
    with made(case) as join:
        for batch in arrivals(3, rows, 97, case.domain):
            join.push(**batch)
        join.settle()
        pairs = join.pairs()
        total += len(pairs)
        mixed = pairs[:, 0].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ pairs[:, 1].astype(np.uint64)
        checksum = int((mixed * (mixed | np.uint64(1))).sum(dtype=np.uint64))
    return total, checksum
