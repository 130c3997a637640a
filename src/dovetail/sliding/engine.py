"""The sliding-window join as people use it: push rows of either stream, read pairs.

    join = SlidingJoin(
        "abs(left.x - right.a) <= 10 and abs(left.y - right.b) <= 10",
        left={"x": "int32", "y": "float32"}, right={"a": "int32", "b": "float32"},
        window=Window(rows=1_000_000), cores=2,
    )
    with join:
        join.push(left={"x": xs, "y": ys})
        join.push(right={"a": 5, "b": 7.5})      # one row
        table = join.results()                   # what is out by now
        table = join.finish()                    # the rest

Whoever pushes or reads also moves messages through the network of the design; only the cores have threads. A
single core has none unless `threads` says so: it works while rows are pushed, and nobody waits for a thread
to wake up. A push waits while the cores are behind, and takes results out meanwhile; if they are never read
it says so instead of filling the memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.errors import InputError, RunError, SettingError
from dovetail.model.sliding import Access, Design, Order, Predicate, Window
from dovetail.sliding.batches import (
    Batch,
    Schema,
    as_numbers,
    as_record_batch,
    as_schema,
    dtypes_of,
    is_single,
    single_columns,
)
from dovetail.sliding.designs import DESIGNS
from dovetail.sliding.driver import Driver, interleaved
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.kernels.join_core import MOST_CORES
from dovetail.sliding.kernels.layout import (
    PAIR_FOUND,
    PAIR_IN,
    PAIR_KIND,
    PAIR_ORDER,
    PAIR_R,
    PAIR_S,
    PAIR_TAKEN,
    PAIR_WORDS,
    STAMP,
    STAR_R,
    S,
)
from dovetail.sliding.kernels.stamp import cycles_per_us, now
from dovetail.sliding.payload import Payload
from dovetail.sliding.precision import Precision
from dovetail.sliding.room import Room
from dovetail.sliding.split_join import SplitJoin
from dovetail.sliding.threads import CoreThreads
from dovetail.sliding.topology import Job, Messages, Topology

MOST_PENDING = 50_000_000  # pairs that nobody has read
_STEP = 1024
_READ_PAIRS = 65_536
_SPINS = 50
_NAP_S = 20e-6
_RATE_S = 0.05
_NO_TIME = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Punctuation:
    """All results of rows of `side` up to arrival number `order` have been read."""

    side: str
    order: int


class SlidingJoin:
    """See the module. `window` is for both sides, or `left_window` and `right_window` for each."""

    def __init__(
        self,
        on: str | Predicate,
        *,
        left: Schema,
        right: Schema,
        window: Window | None = None,
        left_window: Window | None = None,
        right_window: Window | None = None,
        design: Design = "split",
        cores: int = 1,
        order: Order = "none",
        every: int = 1,
        group: int = 1,
        hold_rows_per_s: float | None = None,
        access: Access = "auto",
        time: str | None = None,
        timed: bool = False,
        threads: bool | None = None,
        most_pending: int = MOST_PENDING,
    ) -> None:
        self.schemas = {"left": as_schema(left), "right": as_schema(right)}
        self._check(design, cores, order, every, group)
        left_window, right_window = left_window or window, right_window or window
        if left_window is None or right_window is None:
            raise SettingError(
                "a sliding-window join needs a window",
                where="window",
                expected="window=Window(...), or left_window and right_window",
                hint="Window(rows=1_000_000) or Window(time=600)",
            )
        self._time = time
        if (left_window.time, right_window.time) != (None, None) and time is None:
            raise SettingError(
                "a window by time needs to know which column is the time",
                where="time",
                expected="the name of a column that both streams have",
                hint='time="t", in the unit of the window',
            )
        predicate = parsed(on) if isinstance(on, str) else on
        self._dtypes = {side: dtypes_of(schema) for side, schema in self.schemas.items()}
        self.encoding = Encoding(predicate, self._dtypes["left"], self._dtypes["right"], access)
        self.job = Job(self.encoding, left_window, right_window, cores, order, group, timed)
        self.topology: Topology = DESIGNS[design](self.job)
        self._driver = Driver(self.job, self.topology.wants_first)
        self._driver.every = every
        self._precision = None if hold_rows_per_s is None else Precision(hold_rows_per_s, every)
        self._payload = {side: Payload(schema) for side, schema in self.schemas.items()}
        self._pending: list[Messages] = []
        self._pending_pairs = 0
        self._room = Room(self.job.inbox_rows)
        self._unsent: Messages | None = None
        self._most_pending = most_pending
        self._buffer = np.empty((_READ_PAIRS, PAIR_WORDS), np.int64)
        self._rate_began, self._rate_rows, self._rate_waited = _clock(), 0, False
        self.lost: dict[int, int] = {}
        with_threads = cores > 1 if threads is None else threads
        self._threads = CoreThreads(self.topology.cores) if with_threads else None
        self._closed = False

    @staticmethod
    def _check(design: str, cores: int, order: str, every: int, group: int) -> None:
        if design not in DESIGNS:
            raise SettingError(
                f"there is no design {design!r}",
                where="design",
                expected=", ".join(DESIGNS),
                hint="split is the fastest",
            )
        most = 1 if design == "kang" else MOST_CORES
        if not 1 <= cores <= most:
            raise SettingError(
                f"{design} cannot have {cores} cores",
                where="cores",
                expected=f"1 to {most}" if most > 1 else "1",
                hint="as many as the machine has to spare",
            )
        if order not in ("none", "outer", "inner") or (order != "none" and design not in ("kang", "split")):
            raise SettingError(
                f"results of {design} cannot be ordered: {order}",
                where="order",
                expected="none, outer or inner, with split",
                hint='design="split"',
            )
        if every < 1 or group < 1 or (every > 1 and order == "inner"):
            raise SettingError(
                "every and group count rows from 1, and order inner punctuates every row",
                where=f"every={every}, group={group}, order={order!r}",
                expected="1 or more; every = 1 with inner",
                hint="every=100 with order outer punctuates each 100 rows",
            )

    # --- rows in ---

    def push(self, left: Batch | None = None, right: Batch | None = None) -> None:
        """Rows of one stream, or of both: those are taken in the order of their times, left first where they
        are the same."""
        if self._closed:
            raise RunError(
                "the join is closed",
                where="push",
                expected="a join that runs",
                hint="make a new one; finish() and close() end a join",
            )
        given = [(side, batch) for side, batch in (("left", left), ("right", right)) if batch is not None]
        if len(given) == 2 and self._time is None:
            raise InputError(
                "two batches at once need a time to be put in order",
                where="push",
                expected="one batch a call, or a join with time=...",
                hint="push them one after the other in the order of arrival",
            )
        if len(given) == 1 and is_single(given[0][1]):
            self._push_row(*given[0])
            return
        batches = [(side, as_record_batch(batch, self.schemas[side], side)) for side, batch in given]
        made = [self._messages(side, batch) for side, batch in batches]
        if not made:
            return
        messages, times = made[0] if len(made) == 1 else interleaved(*made)
        self._driver.number(messages, times)
        for side, batch in batches:
            self._payload[side].add(batch)
        self._send(messages)

    def _push_row(self, side: str, row: Mapping[str, Any]) -> None:
        """One row, without the way through Arrow: it is made part of a batch when a result needs it."""
        columns, blank = single_columns(row, self.encoding.columns(side), self._dtypes[side], side)
        messages = self.encoding.messages(side, columns, blank, 1)
        times: npt.NDArray[Any] = _NO_TIME
        if self._time is not None:
            times = single_columns(row, [self._time], {self._time: np.dtype(np.int64)}, side)[0][self._time]
        self._driver.number(messages, times)
        self._payload[side].add_row(dict(row))
        self._send(messages)

    def _messages(self, side: str, batch: pa.RecordBatch) -> tuple[Messages, npt.NDArray[np.int64]]:
        columns: dict[str, npt.NDArray[np.generic]] = {}
        nulls: npt.NDArray[np.bool_] | None = None
        for name in self.encoding.columns(side):
            columns[name], of_column = as_numbers(batch.column(name))
            if of_column is not None:
                nulls = of_column if nulls is None else nulls | of_column
        messages = self.encoding.messages(side, columns, nulls, batch.num_rows)
        if self._time is None:
            return messages, np.zeros(batch.num_rows, np.int64)
        times, no_time = as_numbers(batch.column(self._time))
        if no_time is not None or times.dtype.kind not in "iu":
            raise InputError(
                f"the time of a row must be a whole number or a timestamp: {self._time}",
                where=f"pushed to the {side} stream",
                expected="no nulls, integers or timestamps",
                hint="leave such rows out",
            )
        return messages, times.astype(np.int64)

    def _send(self, messages: Messages) -> None:
        """What is left when results must be read first is kept, and sent before anything else."""
        if self.job.timed:
            messages[:, STAMP] = now()
        if self._unsent is not None:
            messages, self._unsent = np.concatenate([self._unsent, messages]), None
        first = 0
        while first < len(messages):
            moved = self._move()  # makes room
            sent = self.topology.offer(messages, first)
            first += sent
            self._room.rows += sent
            if self._pending_pairs > self._most_pending:
                self._unsent = messages[first:]
                self._refuse_more()
            if first < len(messages) and not (self._threads is None and (sent or moved)):
                self._rate_waited = True
                time.sleep(self._room.nap_s())
        self._move()
        self._adapt(len(messages))

    def _refuse_more(self) -> None:
        raise RunError(
            f"{self._pending_pairs:,} results have not been read",
            where="push",
            expected=f"at most {self._most_pending:,} (most_pending)",
            hint="read them with results() and go on: no row is lost; read between pushes",
        )

    def _adapt(self, rows: int) -> None:
        if self._precision is None:
            return
        self._rate_rows += rows
        passed = _clock() - self._rate_began
        if passed >= _RATE_S:
            self._driver.every = self._precision.observed(self._rate_rows / passed, self._rate_waited)
            self._rate_began, self._rate_rows, self._rate_waited = _clock(), 0, False

    @property
    def every(self) -> int:
        """Rows of a stream that share a punctuation, now."""
        return self._driver.every

    def _move(self) -> bool:
        """Have messages go on, cores step where they have no threads, and results come in; whether anything
        moved."""
        moved = False
        for part in self.topology.network:
            moved |= part.step(_STEP)
        if self._threads is None:
            for core in self.topology.cores:
                moved |= core.step(_STEP)
        else:
            self._look_after()
        while (taken := self.topology.take_pairs(self._buffer)) > 0:
            moved = True
            self._pending.append(self._buffer[:taken].copy())
            self._pending_pairs += taken
            if taken < len(self._buffer):
                break
        return moved

    @staticmethod
    def _wait(idle: int) -> None:
        """For the cores: first by looking again, then by giving them the processor."""
        time.sleep(0 if idle < _SPINS else _NAP_S)

    # --- cores that fail ---

    def _look_after(self) -> None:
        assert self._threads is not None
        for number, error in list(self._threads.failed.items()):
            if number in self.lost:
                continue
            if not isinstance(self.topology, SplitJoin):
                raise RunError(
                    f"core {number} has failed: {error}",
                    where=type(self.topology).__name__,
                    expected="cores that live as long as the join",
                    hint="with the design split the others go on",
                ) from error
            self.lose(number)

    def lose(self, core: int) -> int:
        """Go on without a core. Its part of the windows is gone; how many rows that is, is returned and kept
        in `lost`."""
        if not isinstance(self.topology, SplitJoin):
            raise SettingError(
                "only SplitJoin can go on without a core",
                where=type(self.topology).__name__,
                expected="design = split",
                hint="cores of other designs need each other",
            )
        if self._threads is not None and core not in self._threads.failed:
            self._threads.stop_one(core)
        self.lost[core] = self.topology.lose(core)
        members = self.topology.members()
        if members is None:
            self._closed = True
            raise RunError(
                "all cores have failed",
                where="SplitJoin",
                expected="one core that lives",
                hint="make the join anew",
            )
        while not self.topology.offer(members, 0):
            self._move()
        return self.lost[core]

    # --- pairs out ---

    def pairs(self) -> npt.NDArray[np.int64]:
        """What is out by now, as row numbers of both streams: an array of n x 2."""
        taken = self._taken()
        taken = taken[taken[:, PAIR_KIND] < STAR_R]
        return taken[:, [PAIR_R, PAIR_S]]

    def latencies_us(self) -> dict[str, npt.NDArray[np.float64]]:
        """Of the pairs that are out by now, with `timed`: how long each stage took the later of the two rows,
        as the SplitJoin paper has them (7.3). `visiting` is distribution and execution, `end_to_end` all
        three."""
        taken = self._taken()
        read = now()
        taken = taken[taken[:, PAIR_KIND] < STAR_R]
        entered, begun, found = (taken[:, [PAIR_IN, PAIR_TAKEN, PAIR_FOUND]] / self._cycles_per_us).T
        out = read / self._cycles_per_us
        return {
            "distribution": begun - entered,
            "execution": found - begun,
            "gathering": out - found,
            "visiting": found - entered,
            "end_to_end": out - entered,
        }

    @cached_property
    def _cycles_per_us(self) -> float:
        return cycles_per_us()

    def results(self) -> pa.Table:
        """What is out by now, as rows: the left columns, then the right ones."""
        return self._table(self._taken())

    def punctuated(self) -> Iterator[pa.Table | Punctuation]:
        """What is out by now, in order, with the punctuations between."""
        taken = self._taken()
        stars = np.flatnonzero(taken[:, PAIR_KIND] >= STAR_R)
        begin = 0
        for star in stars.tolist():
            if star > begin:
                yield self._table(taken[begin:star])
            side = "right" if taken[star, PAIR_KIND] == STAR_R + S else "left"
            yield Punctuation(side, int(taken[star, PAIR_ORDER]))
            begin = star + 1
        if begin < len(taken):
            yield self._table(taken[begin:])

    def _taken(self) -> Messages:
        self._move()
        taken = np.concatenate([*self._pending, np.empty((0, PAIR_WORDS), np.int64)])
        self._pending, self._pending_pairs = [], 0
        return taken

    def _table(self, taken: Messages) -> pa.Table:
        taken = taken[taken[:, PAIR_KIND] < STAR_R]
        left = self._payload["left"].gather(taken[:, PAIR_R])
        right = self._payload["right"].gather(taken[:, PAIR_S])
        names = [
            *left.schema.names,
            *[name if name not in left.schema.names else f"right_{name}" for name in right.schema.names],
        ]
        return pa.Table.from_arrays([*left.columns, *right.columns], names=names)

    def flush(self) -> None:
        """Wait until everything pushed so far has been worked off. Then rows that no result can name are let
        go."""
        self._send(np.empty((0, self.encoding.layout.words), np.int64))
        closing = self._driver.close_block(self.encoding.layout.words)
        while closing is not None and not self.topology.offer(closing, 0):
            self._move()
        idle = 0
        while not self.topology.settled():
            idle = 0 if self._move() else idle + 1
            if self._pending_pairs > self._most_pending:
                self._refuse_more()
            if idle:
                self._wait(idle)
        self._move()
        if not self._pending:
            self._forget()

    def _forget(self) -> None:
        for side, window in (("left", self.job.left), ("right", self.job.right)):
            if window.rows is not None:
                self._payload[side].forget(self._payload[side].rows - window.rows)

    def finish(self) -> pa.Table:
        """No more rows: the rest of the results. The join is closed."""
        self.settle()
        rest = self.results()
        self.close()
        return rest

    def settle(self) -> None:
        """Have all pairs meet that should; nothing may be pushed after it."""
        idle = 0
        while not self.topology.finish():
            idle = 0 if self._move() else idle + 1
            if idle:
                self._wait(idle)
        self.flush()

    def close(self) -> None:
        if not self._closed and self._threads is not None:
            self._threads.stop()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _clock() -> float:
    return time.perf_counter()
