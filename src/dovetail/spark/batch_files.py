"""Which files a micro-batch of Spark's file source covers, in the order they came.

Spark hands `foreachBatch` a DataFrame that no longer knows its files. Its checkpoint does: `offsets/<batch>`
holds the source's log offset after the batch, `sources/0/<offset>` (or a `.compact` file of several) the
files of each offset.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from dovetail.errors import CorruptFile
from dovetail.model import json_values


def files_of_batch(checkpoint: str, batch: int) -> list[str]:
    """Paths of the files of one micro-batch of a query with one file source."""
    root = Path(checkpoint)
    last = _log_offset(root, batch)
    first = _log_offset(root, batch - 1) + 1 if batch > 0 else 0
    entries = [
        entry for offset in range(first, last + 1) for entry in _entries(root / "sources" / "0", offset)
    ]
    return [entry["path"] for entry in sorted(entries, key=lambda entry: (entry["timestamp"], entry["path"]))]


def last_planned(checkpoint: str) -> int:
    """The number of the last batch that a run before this one has planned, -1 if none: it may not be done."""
    names = [path.name for path in (Path(checkpoint) / "offsets").glob("[0-9]*")]
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _log_offset(root: Path, batch: int) -> int:
    lines = _lines(root / "offsets" / str(batch))
    try:
        said = json.loads(lines[1])["logOffset"] if lines[1] != "-" else -1
        return json_values.whole(said, -1)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise _corrupt(root / "offsets" / str(batch), str(error)) from error


def _entries(log: Path, offset: int) -> list[dict[str, Any]]:
    """Files that Spark found at one offset of its log. A compact file holds all before it too."""
    file = log / str(offset)
    if not file.exists():
        compact = sorted(int(path.stem) for path in log.glob("*.compact") if int(path.stem) >= offset)
        file = log / f"{compact[0]}.compact" if compact else file
    try:
        entries = [_entry(json.loads(line)) for line in _lines(file)]
    except ValueError as error:
        raise _corrupt(file, str(error)) from error
    found = [entry for entry in entries if entry["batchId"] == offset]
    if not found:
        raise _corrupt(file, f"it holds no files of offset {offset}")
    return found


def _entry(said: Any) -> dict[str, Any]:
    if not isinstance(said, dict) or not isinstance(said.get("path"), str):
        raise ValueError("an entry names no file")
    if type(said.get("timestamp")) is not int or type(said.get("batchId")) is not int:
        raise ValueError("an entry says not when its file was found")
    return said


def _lines(file: Path) -> list[str]:
    """The lines after the version line. Hadoop keeps a checksum beside a file on local disk."""
    try:
        data, sums = file.read_bytes(), file.with_name(f".{file.name}.crc")
        if sums.exists() and not _sums_fit(data, sums.read_bytes()):
            raise ValueError("its checksum does not fit")
        version, *lines = data.decode().splitlines()
    except (OSError, ValueError) as error:
        raise _corrupt(file, str(error)) from error
    if version != "v1":
        raise _corrupt(file, f"its version is {version[:20]!r}")
    return lines


def _sums_fit(data: bytes, sums: bytes) -> bool:
    """Whether a Hadoop `.crc` file is that of the data: a CRC of every so many bytes."""
    size = int.from_bytes(sums[4:8], "big")
    if sums[:4] != b"crc\0" or size == 0:
        return False
    made = (zlib.crc32(data[start : start + size]) for start in range(0, len(data), size))
    return sums[8:] == b"".join(one.to_bytes(4, "big") for one in made)


def _corrupt(file: Path, why: str) -> CorruptFile:
    return CorruptFile(
        f"Spark's checkpoint cannot be read: {why}",
        where=str(file),
        expected="a log of format v1, as Spark 4.3 writes it",
        hint="restore it from a copy of the home, or start the application in a new home",
    )
