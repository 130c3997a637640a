"""One file into a category: find or make the category, write the rows, commit them.

    file ──► schema ──► segments and rows kept aside ──► (category.json, if new) ──► one commit

Nothing is visible before the last two steps, so a file that fails on the way leaves no trace but orphans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from dovetail.errors import CategoryMismatch, CategoryNotFound, DovetailError, InputError
from dovetail.log.category import Category
from dovetail.log.commit import Commit, RejectedRows
from dovetail.log.ingest.files import open_source
from dovetail.log.ingest.source import InputFile, Progress, Source
from dovetail.log.schema import describe
from dovetail.log.segment import TimeOf
from dovetail.model.compression import Compression
from dovetail.model.time_codes import NO_TIME

_USUAL_NAMES = ("eventtime", "event_time", "timestamp", "time")
REJECTED_AT_ONCE = 100_000


@dataclass(frozen=True)
class Appended:
    """The outcome for a file; `commit` is None if it had no rows at all."""

    commit: Commit | None
    rows: int
    rejected: int
    sample: str | None
    ours: bool = True  # not so if this batch of the producer had been there with other rows


def append_file(
    home: str,
    name: str,
    file: InputFile,
    *,
    kind: str = "auto",
    buckets: int | None = None,
    time_column: str | None = None,
    compression: str | None = None,
    progress: Progress = lambda done_bytes: None,
    producer: str | None = None,
    batch: int | None = None,
) -> Appended:
    """Append a file to a category. If there is none, the file's schema makes it, by default with 1 bucket.
    The batch of a producer enters once, however often it is appended."""
    return append_source(
        home,
        name,
        open_source(file, kind),
        where=file.path,
        buckets=buckets,
        time_column=time_column,
        compression=compression,
        progress=progress,
        producer=producer,
        batch=batch,
    )


def append_source(
    home: str,
    name: str,
    source: Source,
    *,
    where: str,
    buckets: int | None = None,
    time_column: str | None = None,
    compression: str | None = None,
    progress: Progress = lambda done_bytes: None,
    producer: str | None = None,
    batch: int | None = None,
) -> Appended:
    """The same for rows from anywhere. `where`: what errors call them."""
    try:
        category = Category.open(home, name)
        _check(category, buckets, time_column, compression)
    except CategoryNotFound:
        schema = source.infer()
        timed = time_column or usual_time_column(schema)
        chosen = cast(Compression, compression or "auto")
        category = Category.draft(
            home, name, schema, buckets=buckets or 1, time_column=timed, compression=chosen
        )
        category.make_folders()
    timed = time_column or category.time_column or usual_time_column(category.schema)
    aside = _Aside(category)
    try:
        segments = category.write_segments(
            source.read(category.schema, aside.reject, progress),
            lambda rows: _spread(rows.num_rows, category.buckets),
            _times(category.schema, timed),
        )
    except (CategoryMismatch, InputError) as error:
        raise _in_file(error, where) from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InputError(
            f"the file's format cannot be read into this category: {error}",
            where=where,
            expected=describe(category.schema),
            hint="nothing was committed: append the rows as Parquet",
        ) from error
    rejected = aside.finish()
    rows = sum(segment.rows for segment in segments)
    if aside.rows and not rows:
        raise InputError(
            f"none of the {aside.rows} rows of the file can be read; the first: {aside.sample}",
            where=where,
            expected=f"rows with {describe(category.schema)}",
            hint="nothing was committed: check the format (--format) and the category",
        )
    made = category.definition
    category = Category.create(
        home,
        name,
        made.schema,
        buckets=made.buckets,
        time_column=made.time_column,
        compression=made.compression,
    )
    commit = category.append(segments, rejected=rejected, producer=producer, batch=batch)
    ours = commit is None or {one.name for one in commit.segments} == {one.name for one in segments}
    return Appended(commit, rows, aside.rows, aside.sample, ours)


def usual_time_column(schema: pa.Schema) -> str | None:
    """The timestamp column with a usual name, or else the only one there is."""
    timestamps = [field.name for field in schema if types.is_timestamp(field.type)]
    usual = [name for name in _USUAL_NAMES if name in timestamps]
    return usual[0] if usual else timestamps[0] if len(timestamps) == 1 else None


def _check(category: Category, buckets: int | None, time_column: str | None, compression: str | None) -> None:
    """A person may append to this category, with these settings."""
    if "_hash" in category.schema.names:
        raise InputError(
            f"category {category.name} belongs to an application, which places each row by its key",
            where=category.where,
            hint="append to the application's input category instead",
        )
    if buckets not in (None, category.buckets):
        raise CategoryMismatch(
            f"category {category.name} has {category.buckets} buckets, and keeps them",
            where=category.where,
            expected=f"--buckets {category.buckets}, or none",
        )
    if time_column and category.time_column not in (None, time_column):
        raise CategoryMismatch(
            f"category {category.name} takes its event times from column {category.time_column}",
            where=category.where,
            expected=f"--time {category.time_column}, or none",
        )
    if compression not in (None, category.definition.compression):
        raise CategoryMismatch(
            f"category {category.name} was made with compression {category.definition.compression}, "
            "and keeps it",
            where=category.where,
            expected=f"no --compression, or --compression {category.definition.compression}",
        )


def _times(schema: pa.Schema, name: str | None) -> TimeOf:
    """Event times from a column, as the log wants them."""
    if name is None:
        return lambda rows: None
    index = schema.get_field_index(name)
    if index < 0 or not types.is_timestamp(schema.field(index).type):
        found = "there is no such column" if index < 0 else f"it is {schema.field(index).type}"
        known = [field.name for field in schema if types.is_timestamp(field.type)]
        raise InputError(
            f"event times cannot come from column {name}: {found}",
            expected=f"a timestamp column: {', '.join(known) or 'there is none'}",
            hint="choose it with --time COLUMN",
        )

    def times(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        micros = rows.column(index).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        return pc.fill_null(micros, NO_TIME).to_numpy()  # type: ignore[no-any-return]

    return times


def _spread(rows: int, buckets: int) -> npt.NDArray[np.int64]:
    """Even runs of rows to each bucket: the order of the file stays."""
    return np.arange(rows, dtype=np.int64) * buckets // max(1, rows)


def _in_file(error: DovetailError, where: str) -> InputError:
    if isinstance(error, InputError) and error.where == where:
        return error
    hint = f"nothing of it was committed: {error.hint or 'choose another column'}"
    return InputError(error.what, where=where, expected=error.expected, hint=hint)


class _Aside:
    """Rows that cannot be read, on their way into files of their own."""

    def __init__(self, category: Category) -> None:
        self._category = category
        self._raws: list[str] = []
        self._reasons: list[str] = []
        self._written: list[RejectedRows] = []
        self.rows = 0
        self.sample: str | None = None

    def reject(self, raw: str, reason: str) -> None:
        self.sample = self.sample or f"{reason}: {raw}"[:200]
        self.rows += 1
        self._raws.append(raw)
        self._reasons.append(reason)
        if len(self._raws) >= REJECTED_AT_ONCE:
            self._write()

    def finish(self) -> list[RejectedRows]:
        if self._raws:
            self._write()
        return self._written

    def _write(self) -> None:
        self._written.append(self._category.write_rejected(self._raws, self._reasons))
        self._raws, self._reasons = [], []
