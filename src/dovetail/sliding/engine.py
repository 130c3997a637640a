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

Pushing and reading also move messages through the network of the design; only the cores have threads. A
single core has none unless `threads` says so: it works while rows are pushed, and nobody waits for a thread
to wake up. A push waits while the cores are behind, and takes results out meanwhile. If nobody reads them, it
raises an error before they fill the memory.
"""

from __future__ import annotations

import logging
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
    Cell,
    RowForm,
    Schema,
    as_numbers,
    as_record_batch,
    as_schema,
    dtypes_of,
    is_single,
    result_names,
    single_row,
)
from dovetail.sliding.designs import DESIGNS
from dovetail.sliding.driver import Driver, interleaved
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.handshake import Handshake
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
from dovetail.sliding.release import Trace
from dovetail.sliding.room import Room
from dovetail.sliding.settings import (
    check_blocks,
    check_cuts,
    check_design,
    check_most_pending,
    check_punctuation,
    check_windows,
)
from dovetail.sliding.split_join import SplitJoin
from dovetail.sliding.threads import CoreThreads
from dovetail.sliding.topology import BASIC_ROWS, BATCH_ROWS, Messages, SlidingJob, Topology
from dovetail.sliding.units import check_units

log = logging.getLogger(__name__)
MOST_PENDING = 50_000_000  # pairs that nobody has read
_STEP = 1024
_READ_PAIRS = 65_536
_SPINS = 50
_NAP_S = 20e-6
_RELEASE_ROWS = 4096
"""Rows that come between two looks at which payload can go."""
_NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Punctuation:
    """All results of rows of `side` up to arrival number `order` have been read."""

    side: str
    order: int


class SlidingJoin:
    """See the module. `window` is for both sides, or `left_window` and `right_window` for each.

    `deal_rows`: rows of a stream in a row that one core of SplitJoin keeps (round robin over batches).
    `batch_rows`, `basic_rows`: of CellJoin, rows that are dealt out together, and those of a basic window.
    `together`: rows that wait scan a window four at a time, in every design.
    """

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
        block_rows: int = 1,
        deal_rows: int = 1,
        batch_rows: int = BATCH_ROWS,
        basic_rows: int = BASIC_ROWS,
        together: bool = True,
        time: str | None = None,
        timed: bool = False,
        threads: bool | None = None,
        most_pending: int = MOST_PENDING,
    ) -> None:
        self.schemas = {"left": as_schema(left, "left"), "right": as_schema(right, "right")}
        self._forms = {side: RowForm(schema) for side, schema in self.schemas.items()}
        self._names = result_names(*self.schemas.values())
        check_design(design, cores, order)
        check_blocks(design, block_rows)
        check_cuts(design, deal_rows, batch_rows, basic_rows)
        check_punctuation(order, every, group, hold_rows_per_s)
        check_most_pending(most_pending)
        left_window, right_window = check_windows(
            left_window or window, right_window or window, time, self.schemas
        )
        self._time = time
        predicate = on if isinstance(on, Predicate) else parsed(on)
        check_units(predicate, self.schemas)
        dtypes = {side: dtypes_of(schema) for side, schema in self.schemas.items()}
        self.encoding = Encoding(predicate, dtypes["left"], dtypes["right"], access)
        self.job = SlidingJob(
            self.encoding, left_window, right_window, cores, order, group, timed, deal_rows, together,
            batch_rows, basic_rows,
        )  # fmt: skip
        self.topology: Topology = (
            DESIGNS[design](self.job) if block_rows == 1 else Handshake(self.job, block_rows)
        )
        self._driver = Driver(self.job, self.topology.wants_first)
        self._driver.every = every
        self.precision = None if hold_rows_per_s is None else Precision(hold_rows_per_s, every)
        self._payload = {side: Payload(schema) for side, schema in self.schemas.items()}
        self._pending: list[Messages] = []
        self._pending_pairs = 0
        self._unread_from, self._looked_at = [_NEVER, _NEVER], 0  # see _oldest_unread
        self._flow = self.topology.flow()
        self._trace: Trace | None = None
        self._since_trace = 0
        self._room = Room(self.job.inbox_rows)
        self._unsent: Messages | None = None
        self._most_pending = most_pending
        self._buffer = np.empty((_READ_PAIRS, PAIR_WORDS), np.int64)
        self.lost: dict[int, int] = {}
        """For each core that is gone: how many rows it held or was about to get."""
        self.failures: dict[int, BaseException] = {}
        """For each core that failed: why."""
        with_threads = cores > 1 if threads is None else threads
        self._threads = CoreThreads(self.topology.cores, self.failures) if with_threads else None
        self._closed = False

    # --- rows in ---

    def push(self, left: Batch | None = None, right: Batch | None = None) -> None:
        """Rows of one stream, or of both: those are taken in the order of their times, left first where they
        are the same."""
        self.send(self.prepared(left, right))

    def prepared(self, left: Batch | None = None, right: Batch | None = None) -> Messages:
        """The first half of a push: rows as the cores see them, with their numbers. They are sent in the
        order in which they were prepared, and before results are read as rows."""
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
        if len(given) == 1 and is_single(given[0][1], self._forms[given[0][0]]):
            return self._prepared_row(*given[0])
        batches = [(side, as_record_batch(batch, self.schemas[side], side)) for side, batch in given]
        made = [
            self._messages(side, dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)
            for side, batch in batches
        ]
        if not made:
            return self._no_rows()
        messages, times = made[0] if len(made) == 1 else interleaved(*made)
        self._driver.number(messages, times)
        for (side, batch), (_, of_side) in zip(batches, made, strict=True):
            self._payload[side].add(batch, int(of_side[-1]) if len(of_side) else 0)
        return messages

    def _prepared_row(self, side: str, row: Mapping[str, Any]) -> Messages:
        """One row. It becomes part of a batch when a result needs it."""
        columns = single_row(row, self._forms[side], side)
        messages, times = self._messages(side, columns, 1)
        self._driver.number(messages, times)
        self._payload[side].add_row(columns, int(times[0]))
        return messages

    def _no_rows(self) -> Messages:
        return np.empty((0, self.encoding.layout.words), np.int64)

    def _messages(
        self, side: str, given: Mapping[str, Cell], rows: int
    ) -> tuple[Messages, npt.NDArray[np.int64]]:
        columns: dict[str, npt.NDArray[np.generic]] = {}
        nulls: npt.NDArray[np.bool_] | None = None
        for name in self.encoding.columns[side]:
            columns[name], of_column = as_numbers(given[name])
            if of_column is not None:
                nulls = of_column if nulls is None else nulls | of_column
        messages = self.encoding.messages(side, columns, nulls, rows)
        if self._time is None:
            return messages, np.zeros(rows, np.int64)
        times, no_time = as_numbers(given[self._time])
        whole = times.astype(np.int64)
        if no_time is not None or (times.dtype == np.uint64 and (whole < 0).any()):
            raise InputError(
                f"the time of a row must be a whole number or a timestamp: {self._time}",
                where=f"pushed to the {side} stream",
                expected=f"no nulls, and at most {_NEVER}",
                hint="leave such rows out",
            )
        return messages, whole

    def send(self, messages: Messages, most_pending: int | None = None) -> None:
        """The second half of a push. What is left when results must be read first is kept, and sent before
        anything else."""
        most_pending = self._most_pending if most_pending is None else most_pending
        if self.job.timed:
            messages[:, STAMP] = now()
        if self._unsent is not None:
            messages, self._unsent = np.concatenate([self._unsent, messages]), None
        first = self._offer(messages, 0)
        moved = self._make_room(messages, first, most_pending)
        while first < len(messages):
            # Only what finds no room after the network has moved waits for the cores. A nap before that would
            # starve them: the inlet is full then, but their inboxes are empty, and only we fill them from it.
            sent = self._offer(messages, first)
            first += sent
            # And while the network moves as much as it may in one go, the cores wait for us, not we for them.
            waits = moved < _STEP if self._threads is not None else not (sent or moved)
            if first < len(messages) and waits:
                if self.precision is not None:
                    self.precision.waited = True
                time.sleep(self._room.nap_s())
            moved = self._make_room(messages, first, most_pending)
        self._since_trace += len(messages)
        if self._since_trace >= _RELEASE_ROWS or self._trace is not None:
            self._let_go()
        if self.precision is not None:
            coarseness = self.precision.sent(len(messages))
            if self.job.order == "inner":
                self._driver.coarser = coarseness.bit_length() - 1
            else:
                self._driver.every = coarseness

    def _offer(self, messages: Messages, first: int) -> int:
        sent = self.topology.offer(messages, first)
        self._room.rows += sent
        return sent

    def _make_room(self, messages: Messages, first: int, most_pending: int) -> int:
        """How much was moved. If too many results are unread, `messages[first:]` are kept for later."""
        moved = self._move()
        if len(messages) and self._pending_pairs > most_pending:
            self._unsent = messages[first:]
            self._refuse_more()
        return moved

    def _refuse_more(self) -> None:
        raise RunError(
            f"{self._pending_pairs:,} results have not been read",
            where="push",
            expected=f"at most {self._most_pending:,} (most_pending)",
            hint="read them with results() and go on: no row is lost; read between pushes",
        )

    @property
    def unread(self) -> int:
        """Results that have come out and wait to be read, with the punctuations among them."""
        return self._pending_pairs

    @property
    def every(self) -> int:
        """Rows of a stream that share a punctuation, now."""
        return self._driver.every

    @property
    def group(self) -> int:
        """Rows of the window that share a punctuation within a probe, with the order inner, now."""
        return self.job.group << self._driver.coarser

    def _move(self) -> int:
        """Have messages go on, cores step where they have no threads, and results come in; the most messages
        that one part moved."""
        moved = 0
        for part in self.topology.network:
            moved = max(moved, part.step(_STEP))
        if self._threads is None:
            moved = max(moved, self._step_cores())
        if len(self.failures) > len(self.lost):
            self._look_after()
        while (taken := self.topology.take_pairs(self._buffer)) > 0:
            moved = max(moved, taken)
            self._pending.append(self._buffer[:taken].copy())
            self._pending_pairs += taken
            if taken < len(self._buffer):
                break
        return moved

    def _step_cores(self) -> bool:
        moved = False
        for number, core in enumerate(self.topology.cores):
            if number not in self.lost:
                try:
                    moved |= core.step(_STEP)
                except Exception as error:
                    self.failures[number] = error
        return moved

    @staticmethod
    def _wait(idle: int) -> None:
        """For the cores: first by looking again, then by giving them the processor."""
        time.sleep(0 if idle < _SPINS else _NAP_S)

    # --- cores that fail ---

    def _look_after(self) -> None:
        for number, error in list(self.failures.items()):
            if number in self.lost:
                continue
            if not isinstance(self.topology, SplitJoin):
                raise RunError(
                    f"core {number} has failed: {error}",
                    where=type(self.topology).__name__,
                    expected="cores that live as long as the join",
                    hint="with the design split the others go on",
                ) from error
            rows = self.lose(number)
            log.error(
                "core %d of a sliding-window join has failed; %d rows are lost", number, rows, exc_info=error
            )

    def lose(self, core: int) -> int:
        """Go on without a core. Its part of the windows is gone, and so are the rows on their way to it that
        it was to keep: their number is returned, and kept in `lost`."""
        if not isinstance(self.topology, SplitJoin):
            raise SettingError(
                "only SplitJoin can go on without a core",
                where=type(self.topology).__name__,
                expected="design = split",
                hint="cores of other designs need each other",
            )
        if core not in range(len(self.topology.cores)):
            raise SettingError(
                f"there is no core {core!r}",
                where="lose",
                expected=f"0 to {len(self.topology.cores) - 1}",
                hint="cores are counted from 0",
            )
        if core in self.lost:
            return self.lost[core]
        if self._threads is not None:
            self._threads.stop_one(core)
        self.lost[core] = self.topology.lose(core)
        members = self.topology.members()
        if members is None:
            self._closed = True
            cause = self.failures.get(core)
            raise RunError(
                "all cores have failed" + (f", the last one with: {cause}" if cause is not None else ""),
                where="SplitJoin",
                expected="one core that lives",
                hint="start a new join",
            ) from cause
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
        """For pairs that are out by now, with `timed`: how long each stage took the later of the two rows,
        as the SplitJoin paper has them (7.3). `visiting` is until the two rows are compared: half of the
        scan on average, as in that paper's equations 2 and 6 and in `dovetail.simulate`. `end_to_end` is all
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
            "visiting": (begun + found) / 2 - entered,
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
        found: list[pa.Table | Punctuation] = []  # whole: what comes later may let go of payload
        begin = 0
        for star in np.flatnonzero(taken[:, PAIR_KIND] >= STAR_R).tolist():
            if star > begin:
                found.append(self._table(taken[begin:star]))
            side = "right" if taken[star, PAIR_KIND] == STAR_R + S else "left"
            found.append(Punctuation(side, int(taken[star, PAIR_ORDER])))
            begin = star + 1
        if begin < len(taken):
            found.append(self._table(taken[begin:]))
        return iter(found)

    def _taken(self) -> Messages:
        self._move()
        taken = np.concatenate([*self._pending, np.empty((0, PAIR_WORDS), np.int64)])
        self._pending, self._pending_pairs = [], 0
        self._unread_from, self._looked_at = [_NEVER, _NEVER], 0
        return taken

    def _table(self, taken: Messages) -> pa.Table:
        taken = taken[taken[:, PAIR_KIND] < STAR_R]
        left = self._payload["left"].gather(taken[:, PAIR_R])
        right = self._payload["right"].gather(taken[:, PAIR_S])
        return pa.Table.from_arrays([*left.columns, *right.columns], names=self._names)

    def flush(self) -> None:
        """Wait until everything pushed so far has been worked off."""
        self._flush(self._most_pending)

    def _flush(self, most_pending: int) -> None:
        self.send(self._no_rows(), most_pending)
        closing = self._driver.close_block(self.encoding.layout.words)
        while closing is not None and not self.topology.offer(closing, 0):
            self._move()
        idle = 0
        while not self.topology.settled():
            idle = 0 if self._move() else idle + 1
            if self._pending_pairs > most_pending:
                self._refuse_more()
            if idle:
                self._wait(idle)
        self._move()
        self._let_go()

    # --- payload that nobody can ask for any more ---

    @property
    def held_rows(self) -> dict[str, int]:
        """Rows of each stream that are kept for results to come."""
        return {side: payload.held for side, payload in self._payload.items()}

    def _let_go(self) -> None:
        """Follow a trace, or start one; when it is through, let go of what had left its window before it."""
        if self._trace is None:
            self._trace, self._since_trace = Trace(self._flow, self._left_windows()), 0
        if self._trace.through():
            before, self._trace = self._trace.carries, None
            for payload, left_window, unread in zip(
                self._payload.values(), before, self._oldest_unread(), strict=True
            ):
                payload.forget(min(left_window, unread))

    def _oldest_unread(self) -> list[int]:
        """For each stream: the oldest row that an unread pair names. Each piece of results is looked at once,
        and only if it is still unread when rows could go: most are read before that."""
        if fresh := self._pending[self._looked_at :]:
            oldest = np.concatenate(fresh)[:, [PAIR_R, PAIR_S]].min(axis=0)
            self._unread_from = [min(both) for both in zip(self._unread_from, oldest.tolist(), strict=True)]
        self._looked_at = len(self._pending)
        return self._unread_from

    def _left_windows(self) -> list[int]:
        """For each stream: no row that comes from now on can meet one with a smaller number than this."""
        found = []
        for number, (payload, window) in enumerate(
            zip(self._payload.values(), (self.job.left, self.job.right), strict=True)
        ):
            if window.rows is not None:
                first = self._driver.rows[number] - window.rows
            else:
                first = payload.first_since(self._driver.time - (window.time or 0))
            found.append(min(first, self.topology.kept_from(number)))
        return found

    def finish(self) -> pa.Table:
        """No more rows: the rest of the results, however many. The join is closed."""
        self.settle()
        rest = self.results()
        self.close()
        return rest

    def settle(self) -> None:
        """Have all pairs meet that should; nothing may be pushed after it."""
        self.send(self._no_rows(), _NEVER)
        idle = 0
        while not self.topology.finish():
            idle = 0 if self._move() else idle + 1
            if idle:
                self._wait(idle)
        self._flush(_NEVER)

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
