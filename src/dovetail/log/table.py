"""What readers must know of every commit in a range, as columns: about fifty bytes a commit.

    checkpoints/<first>-<stop>.table     header \n  seven columns of the commits  first rows of their segments

Law: a table says of its commits what they say themselves. It adds nothing, so one that is missing or damaged
costs time: its commits are read instead.

Why: a step looks for rows by number in a window of many commits. What that needs of a commit is where its
rows begin; the rest of its document (checksums, sketches, counts by bucket) is parsed only for the few
commits whose rows are met. A parsed commit takes about ten kilobytes of memory, its line here fifty bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.log.bundle import CommitSpan
from dovetail.log.commit import Commit
from dovetail.model import json_values as said

if TYPE_CHECKING:
    import pyarrow as pa

Int64s = NDArray[np.int64]

KIND, VERSION = "dovetail.checkpoint", 1
COLUMNS = (
    "first_row",
    "newest_us",
    "written_at_us",
    "stored_bytes",
    "plain_bytes",
    "segments",
    "packed",
)
FIRST_ROW, NEWEST, WRITTEN, STORED, PLAIN, SEGMENTS, PACKED = range(len(COLUMNS))
NO_TIME = np.iinfo(np.int64).min
"""The newest event time of a commit that has none."""

_REMEDY = "delete the file: it is made again from the commits that it sums up"


@dataclass(frozen=True)
class CommitTable:
    """The commits `first..stop-1`. `columns` has a row for each of COLUMNS: the number of the first row, the
    newest event time, when the commit was written, bytes on disk that go with it, bytes its segments would
    have without compression, how many segments it has, and how many of them are compressed.
    `segment_rows`: the number of the first row of every segment."""

    first: int
    next_row: int
    columns: Int64s
    segment_rows: Int64s

    @classmethod
    def of(cls, commits: Sequence[Commit]) -> CommitTable:
        """For commits that follow each other; at least one."""
        columns = np.array([_line(commit) for commit in commits], np.int64).T
        rows = [info.first_row for commit in commits for info in commit.segments]
        return cls(
            commits[0].number, commits[-1].next_row, np.ascontiguousarray(columns), np.array(rows, np.int64)
        )

    @classmethod
    def joined(cls, tables: Sequence[CommitTable]) -> CommitTable:
        """Tables that follow each other, as one."""
        return cls(
            tables[0].first,
            tables[-1].next_row,
            np.concatenate([table.columns for table in tables], axis=1),
            np.concatenate([table.segment_rows for table in tables]),
        )

    @property
    def stop(self) -> int:
        return self.first + len(self.columns[0])

    @property
    def span(self) -> CommitSpan:
        return CommitSpan(self.first, self.stop)

    def since(self, number: int) -> CommitTable:
        """Without the commits before `number`, which is one of them."""
        at = number - self.first
        gone = int(self.columns[SEGMENTS, :at].sum())
        return CommitTable(number, self.next_row, self.columns[:, at:], self.segment_rows[gone:])


def encode(table: CommitTable, category_id: str) -> bytes:
    arrays = table.columns.astype("<i8").tobytes() + table.segment_rows.astype("<i8").tobytes()
    header = {
        "category": category_id,
        "first": table.first,
        "stop": table.stop,
        "next_row": table.next_row,
        "columns": list(COLUMNS),
        "segments": len(table.segment_rows),
        "content": document.checksum(arrays),
    }
    return document.encode(KIND, VERSION, header) + arrays


def decode(data: pa.Buffer, span: CommitSpan, category_id: str, *, where: str) -> CommitTable:
    """The table of these commits in a file's bytes, checked. Its columns are in the buffer."""
    head = data.slice(0, min(1024, data.size)).to_pybytes()
    line = head[: head.find(b"\n") + 1] or head
    body = document.decode(line, KIND, VERSION, where=where, remedy=_REMEDY)
    content = data.slice(len(line))
    try:
        given = said.fields(body, ["category", "first", "stop", "next_row", "columns", "segments", "content"])
        if (given["category"], given["first"], given["stop"]) != (category_id, *span):
            raise ValueError("it holds other commits than its name says")
        if given["columns"] != list(COLUMNS):
            raise ValueError("it has other columns")
        count, segments = span.stop - span.first, said.whole(given["segments"])
        if content.size != 8 * (len(COLUMNS) * count + segments) or count <= 0:
            raise ValueError(f"it has {content.size} bytes of columns")
        if document.checksum(content) != given["content"]:
            raise ValueError("the checksum of its columns does not fit")
        numbers = np.frombuffer(content, "<i8")
        columns = numbers[: len(COLUMNS) * count].reshape(len(COLUMNS), count)
        table = CommitTable(
            span.first, said.whole(given["next_row"]), columns, numbers[len(COLUMNS) * count :]
        )
        _check(table)
    except ValueError as error:
        what = f"the file is a checkpoint of commits, but not this one: {error}"
        raise CorruptFile(what, where=where, hint=_REMEDY) from error
    return table


def _line(commit: Commit) -> tuple[int, ...]:
    packings = [info.packing for info in commit.segments if info.packing]
    saved = sum(packing.raw_bytes - packing.stored_bytes for packing in packings)
    return (
        commit.first_row,
        commit.sketch.max_us if commit.sketch.count else NO_TIME,
        commit.written_at_us,
        commit.stored_bytes,
        commit.bytes + saved,
        len(commit.segments),
        len(packings),
    )


def _check(table: CommitTable) -> None:
    """Whatever is looked up in it is within it: kernels follow these numbers."""
    rows, segments = table.columns[FIRST_ROW], table.columns[SEGMENTS]
    counted = np.concatenate((rows, [table.next_row]))
    if rows[0] < 0 or (np.diff(counted) < 0).any() or (segments < 0).any():
        raise ValueError("its rows are not in order")
    if segments.sum() != len(table.segment_rows) or (table.columns[PACKED] > segments).any():
        raise ValueError("its segments do not add up")
    owner = np.repeat(np.arange(len(rows)), segments)
    begin, end = rows[owner], counted[owner + 1]
    if (table.segment_rows < begin).any() or (table.segment_rows >= end).any():
        raise ValueError("its segments are not in their commits")
    if (np.diff(table.segment_rows) <= 0).any():
        raise ValueError("its segments are not in order")
