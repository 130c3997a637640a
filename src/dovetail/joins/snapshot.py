"""Law: reading a snapshot gives the state that was saved, or an error; never something in between.

A snapshot is what a rebuild cannot get from the log: the open left rows (as references: tag, time, row
number), whether they have matched, the partners they have chosen, which retained right rows have matched
(only if lone right rows come out), and the running totals. Retained right rows themselves are read back from
the log: section 6.1 of the paper. Windowed joins read back both sides, so their snapshots have no rows,
except those of sessions, which have the rows of both sides.

The file: 8 bytes magic with the format's number, 8 bytes checksum of the rest, 4 bytes length of a JSON
header, the header, then the arrays it names, one after another. The header repeats the file's own name, so
that the snapshot of another task or step is not mistaken for this one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.joins.buffer import Held
from dovetail.kernels.pick import NO_ROW
from dovetail.model import json_values as said
from dovetail.model.time_codes import FIRST_TIME

MAGIC = b"DVTLSN"
FORMAT = 2
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


@dataclass(frozen=True)
class Snapshot:
    left: Held
    right_matched: NDArray[np.int64]  # row numbers
    totals: dict[str, int]
    right: Held | None = None  # only of sessions


def encode_snapshot(snapshot: Snapshot, name: str) -> bytes:
    """The bytes of a file of that name."""
    arrays = {**snapshot.left._asdict(), "right_matched": snapshot.right_matched}
    if snapshot.right is not None:
        arrays |= {f"right_{name}": getattr(snapshot.right, name) for name in ("tag", "time", "row")}
    header = {
        "name": name,
        "arrays": [[name, array.dtype.str, len(array)] for name, array in arrays.items()],
        "totals": snapshot.totals,
    }
    text = json.dumps(header).encode()
    body = b"".join([len(text).to_bytes(4, "little"), text, *(array.tobytes() for array in arrays.values())])
    checksum = xxhash.xxh3_64_intdigest(body).to_bytes(8, "little")
    return MAGIC + FORMAT.to_bytes(2, "little") + checksum + body


def decode_snapshot(data: bytes, name: str, *, where: str) -> Snapshot:
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
        left = Held(**arrays)
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
    if written != FORMAT:
        raise UnknownVersion(
            f"a snapshot of format {written}",
            where=place,
            expected=f"format {FORMAT}",
            hint="run the release that wrote it, or start the application in a new home",
        )
    body = memoryview(data)[16:]
    if xxhash.xxh3_64_intdigest(body) != int.from_bytes(data[8:16], "little"):
        raise _corrupt(place, "its checksum does not fit")
    length = int.from_bytes(body[:4], "little")
    try:
        header = said.fields(json.loads(bytes(body[4 : 4 + length])), ("name", "arrays", "totals"))
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
