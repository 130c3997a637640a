"""Law: reading a snapshot gives the state that was saved, or an error; never something in between.

A snapshot is what a rebuild cannot get from the log: the open left rows (as references: tag, time, row
number), whether they have matched, the partners they have chosen, which retained right rows have matched
(only if lone right rows come out), and the running totals. Retained right rows themselves are read back from
the log: section 6.1 of the paper. Windowed joins read back both sides, so their snapshots have no rows,
except those of sessions, which have the rows of both sides.

A snapshot is whole (format 2) or in parts (format 3). One in parts holds what changed since its pieces, which
are files of their own that snapshots share, and names these, oldest first (`joins/changes.py`). A piece has
the same format and names no other. So a step saves what it changed, however many rows are open.

The file: 8 bytes magic with the format's number, 8 bytes checksum of the rest, 4 bytes length of a JSON
header, the header, then the arrays it names, one after another. The header repeats the file's own name, so
that the snapshot of another task or step is not mistaken for this one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.joins.buffer import Held
from dovetail.joins.changes import Changes, joined
from dovetail.kernels.pick import NO_ROW
from dovetail.model import json_values as said
from dovetail.model.time_codes import FIRST_TIME

MAGIC = b"DVTLSN"
FORMAT, PARTS = 2, 3
_PREFIX_BYTES = 20
_KINDS = {
    "tag": "<u4",
    "time": "<i8",
    "row": "<i8",
    "matched": "|b1",
    "best_time": "<i8",
    "best_row": "<i8",
    "right_matched": "<i8",
    "right_tag": "<u4",
    "right_time": "<i8",
    "right_row": "<i8",
}


SAVED = ("tag", "time", "row", "matched", "best_time", "best_row")
"""What is saved of a row."""
_PART_KINDS = {
    **{name: _KINDS[name] for name in SAVED},
    **dict.fromkeys(Changes._fields[1:], "<i8"),
}
_FIELDS = {
    FORMAT: ("name", "totals", "arrays"),
    PARTS: ("name", "totals", "pieces", "right_rows", "lows", "arrays"),
}


class SnapshotPiece(NamedTuple):
    """A file that snapshots share: about how many rows it has, and the highest numbers of rows on each side
    that it speaks of."""

    name: str
    rows: int
    left_high: int
    right_high: int


@dataclass(frozen=True)
class SnapshotPart:
    """What changed since the pieces. `right_rows`: the rows of both sides are saved; else of the right side
    only which have matched. `lows`: rows with lower numbers are gone, whatever the pieces say of them."""

    left: Changes
    right: Changes
    totals: dict[str, int]
    pieces: tuple[SnapshotPiece, ...] = ()
    right_rows: bool = False
    lows: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        return self.left.size + self.right.size


@dataclass(frozen=True)
class Snapshot:
    left: Held
    right_matched: NDArray[np.int64]  # row numbers
    totals: dict[str, int]
    right: Held | None = None  # only of sessions


def encode_snapshot(snapshot: Snapshot, name: str) -> bytes:
    """The bytes of a file of that name."""
    arrays: dict[str, NDArray[Any]] = {column: getattr(snapshot.left, column) for column in SAVED}
    arrays["right_matched"] = snapshot.right_matched
    if snapshot.right is not None:
        arrays |= {f"right_{name}": getattr(snapshot.right, name) for name in ("tag", "time", "row")}
    return _encoded(FORMAT, {"name": name, "totals": snapshot.totals}, arrays)


def encode_part(part: SnapshotPart, name: str) -> bytes:
    """The bytes of a snapshot in parts, or of a piece, of that name."""
    arrays: dict[str, NDArray[Any]] = {}
    for side, changes in (("left", part.left), ("right", part.right)):
        new = changes.new
        arrays |= {f"{side}.{name}": getattr(new, name) for name in ("tag", "time", "row", "matched")}
        if (new.best_row != NO_ROW).any():
            arrays |= {f"{side}.best_time": new.best_time, f"{side}.best_row": new.best_row}
        arrays |= {f"{side}.{name}": getattr(changes, name) for name in Changes._fields[1:]}
    pieces = [list(piece) for piece in part.pieces]
    header = {
        "name": name,
        "totals": part.totals,
        "pieces": pieces,
        "right_rows": part.right_rows,
        "lows": list(part.lows),
    }
    return _encoded(PARTS, header, {name: array for name, array in arrays.items() if len(array)})


def _encoded(format_: int, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    header["arrays"] = [[name, array.dtype.str, len(array)] for name, array in arrays.items()]
    text = json.dumps(header).encode()
    body = b"".join([len(text).to_bytes(4, "little"), text, *(array.tobytes() for array in arrays.values())])
    checksum = xxhash.xxh3_64_intdigest(body).to_bytes(8, "little")
    return MAGIC + format_.to_bytes(2, "little") + checksum + body


def decode_part(data: bytes, name: str, *, where: str) -> SnapshotPart:
    """A snapshot, or a piece of one. One that is whole is all in one part."""
    if data[6:8] != PARTS.to_bytes(2, "little"):
        found = decode_snapshot(data, name, where=where)
        matched = Changes.nothing()._replace(marked=found.right_matched)
        right = matched if found.right is None else Changes(found.right)
        return SnapshotPart(Changes(found.left), right, found.totals, (), found.right is not None)
    header, offset = _checked(data, where, name)
    arrays = {}
    try:
        for array, kind, count in header["arrays"]:
            column = array.rpartition(".")[2]
            arrays[array] = np.frombuffer(data, np.dtype(_PART_KINDS[column]), said.whole(count), offset)
            offset += arrays[array].nbytes
            if kind != _PART_KINDS[column]:
                raise ValueError(f"{array} is {kind}")
        if offset != len(data):
            raise ValueError("its length does not fit")
        left, right = (_changes(arrays, side) for side in ("left", "right"))
        pieces = tuple(
            SnapshotPiece(said.file_name(name), said.whole(rows), said.whole(left, -1), said.whole(right, -1))
            for name, rows, left, right in said.items(header["pieces"])
        )
        low, right_low = (said.whole(low) for low in said.items(header["lows"]))
        rows = said.flag(header["right_rows"])
        return SnapshotPart(left, right, header["totals"], pieces, rows, (low, right_low))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _corrupt(where, str(error)) from error


def _changes(arrays: dict[str, NDArray[Any]], side: str) -> Changes:
    given = {
        column: arrays.get(f"{side}.{column}", np.empty(0, kind)) for column, kind in _PART_KINDS.items()
    }
    if not len(given["best_row"]):
        given["best_time"] = given["best_row"] = np.full(len(given["row"]), NO_ROW, np.int64)
    new = _held({column: given[column] for column in SAVED})
    picks = [given[column] for column in ("pick_of", "pick_time", "pick_row")]
    if not _sensible(new) or len({len(column) for column in picks}) > 1:
        raise ValueError("its rows make no sense")
    return Changes(new, given["gone"], given["marked"], *picks)


def _held(columns: dict[str, NDArray[Any]]) -> Held:
    """Rows as they were saved. KeyError or TypeError if these are not the columns that are."""
    tag, time, row, matched, best_time, best_row = (columns.pop(name) for name in SAVED)
    if columns:
        raise TypeError(f"it has {', '.join(columns)} too")
    return Held.fresh(tag, time, row, matched)._replace(best_time=best_time, best_row=best_row)


def put_together(parts: Sequence[SnapshotPart]) -> Snapshot:
    """The snapshot whose pieces, and then itself, are these."""
    last = parts[-1]
    left = joined([part.left for part in parts], last.lows[0])
    right = joined([part.right for part in parts], last.lows[1])
    return Snapshot(left.new, right.marked, last.totals, right.new if last.right_rows else None)


def decode_snapshot(data: bytes, name: str, *, where: str) -> Snapshot:
    """One that is whole."""
    header, offset = _checked(data, where, name)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for array, kind, count in header["arrays"]:
            arrays[array] = np.frombuffer(data, np.dtype(_KINDS[array]), said.whole(count), offset)
            offset += arrays[array].nbytes
            if kind != _KINDS[array]:
                raise ValueError(f"{array} is {kind}")
        right_matched = arrays.pop("right_matched")
        right = None
        if "right_row" in arrays:
            right = Held.fresh(*(arrays.pop(f"right_{name}") for name in ("tag", "time", "row")))
        left = _held(arrays)
        if offset != len(data) or not all(_sensible(held) for held in (left, right) if held is not None):
            raise ValueError("its rows make no sense")
    except (KeyError, TypeError, ValueError) as error:
        raise _corrupt(where, str(error)) from error
    return Snapshot(left, right_matched, header["totals"], right)


def snapshot_totals(data: pa.Buffer | bytes, name: str, *, where: str) -> dict[str, int]:
    """Only the running totals. The rows are read for the checksum, but not decoded."""
    totals: dict[str, int] = _checked(memoryview(data), where, name)[0]["totals"]
    return totals


def _checked(data: bytes | memoryview, place: str, name: str) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    if len(data) < _PREFIX_BYTES or data[:6] != MAGIC:
        raise _corrupt(place, "it does not begin as a snapshot does")
    written = int.from_bytes(data[6:8], "little")
    if written not in (FORMAT, PARTS):
        raise UnknownVersion(
            f"a snapshot of format {written}",
            where=place,
            expected=f"format {FORMAT} or {PARTS}",
            hint="run the release that wrote it, or start the application in a new home",
        )
    body = memoryview(data)[16:]
    if xxhash.xxh3_64_intdigest(body) != int.from_bytes(data[8:16], "little"):
        raise _corrupt(place, "its checksum does not fit")
    length = int.from_bytes(body[:4], "little")
    try:
        header = said.fields(json.loads(bytes(body[4 : 4 + length])), _FIELDS[written])
        for total in said.fields(header["totals"]).values():
            said.whole(total, said.SMALLEST)
        said.items(header["arrays"])
    except (ValueError, RecursionError) as error:
        raise _corrupt(place, str(error)) from error
    if header["name"] != name:
        raise _corrupt(place, f"it is {header['name']}")
    return header, 20 + length


def _sensible(left: Held) -> bool:
    count = len(left.row)
    return (
        all(len(column) == count for column in left)
        and bool((left.row >= 0).all() and (left.time >= FIRST_TIME).all())
        and bool((left.matched.view(np.uint8) <= 1).all() and (left.best_row >= NO_ROW).all())
    )


def _corrupt(place: str, why: str) -> CorruptFile:
    return CorruptFile(
        f"a snapshot is damaged: {why}",
        where=place,
        expected="the file as it was written",
        hint="restore it from a copy of the home, or start the application in a new home",
    )
