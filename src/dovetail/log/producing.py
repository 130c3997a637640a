"""A program that appends rows to a category: `dovetail.log.writer`.

    with dovetail.log.writer("clicks", home="home", producer="web-1") as log:
        log.append(rows)

Law: what `append` was given is in the category once when it returns, in one commit; and if it does not
return, once or not at all. A writer with a name may be killed and started again: it continues after `last`,
and a sequence that the category already has is not appended again. Several writers, in several processes and
on several hosts, may append to one category, but two at a time may not have the same name.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING

from dovetail.errors import CategoryNotFound, HomeError, InputError, StateError

if TYPE_CHECKING:
    from dovetail.log.ingest.memory import Rows

HOME = "DOVETAIL_HOME"


class LogWriter:
    """Made by `writer`."""

    def __init__(
        self,
        category: str,
        home: str,
        producer: str | None,
        buckets: int | None,
        time_column: str | None,
        compression: str | None,
    ) -> None:
        self.category, self.home, self.producer = category, home, producer
        self._made_with = {"buckets": buckets, "time_column": time_column, "compression": compression}
        self._last = self._known()
        self._open = True

    @property
    def last(self) -> int:
        """The last sequence of this producer that is in the category; -1: none."""
        return self._last

    def append(self, rows: Rows, sequence: int | None = None) -> int | None:
        """Append rows as one commit, and give its number; None if there were no rows, or if they were there
        already. `sequence` numbers what a producer appends, upwards: a source's own offset, say. Without it
        the writer counts by itself."""
        from dovetail.log.ingest.append import append_source
        from dovetail.log.ingest.memory import WHERE, MemorySource, as_table

        self._require(sequence)
        batch = None
        if self.producer is not None:
            if sequence is not None and sequence <= self._last:
                return None
            batch = self._last + 1 if sequence is None else sequence
        table = as_table(rows)
        if not table.num_rows:
            return None
        done = append_source(
            self.home,
            self.category,
            MemorySource(table),
            where=WHERE,
            producer=self.producer,
            batch=batch,
            **self._made_with,  # type: ignore[arg-type]
        )
        assert done.commit is not None
        if batch is not None:
            if not done.ours:
                raise self._overtaken(batch)
            self._last = batch
        return done.commit.number

    def close(self) -> None:
        """Nothing waits: every `append` that has returned is in the log."""
        self._open = False

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _known(self) -> int:
        from dovetail.log.category import Category

        if self.producer is None:
            return -1
        try:
            category = Category.open(self.home, self.category)
        except CategoryNotFound:
            return -1
        return category.last_batch(self.producer)

    def _require(self, sequence: int | None) -> None:
        if not self._open:
            raise InputError("the writer is closed", where=f"category {self.category}")
        if sequence is not None and (self.producer is None or sequence < 0):
            raise InputError(
                "a sequence counts what one producer appends, from 0 on",
                where=f"category {self.category}",
                expected='dovetail.log.writer(.., producer="a name of its own")',
            )

    def _overtaken(self, batch: int) -> StateError:
        return StateError(
            f"another writer has appended sequence {batch} as {self.producer}",
            where=f"category {self.category}",
            expected="a name of its own for each writer",
            hint="these rows were not appended: open the writer again, under another name",
        )


def writer(
    category: str,
    *,
    home: str | os.PathLike[str] | None = None,
    producer: str | None = None,
    buckets: int | None = None,
    time_column: str | None = None,
    compression: str | None = None,
) -> LogWriter:
    """Open a category for appending; if it does not exist, the first rows create it with these settings.
    `producer` names this writer among all that ever append here: with a name, a repeated append counts once.
    """
    from dovetail.log.homes.filesystem import absolute_home

    place = os.fspath(home) if home is not None else os.environ.get(HOME)
    if not place:
        raise HomeError("there is no home to write to", expected=f"home=.., or {HOME} in the environment")
    return LogWriter(category, absolute_home(place), producer, buckets, time_column, compression)
