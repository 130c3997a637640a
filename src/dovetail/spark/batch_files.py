"""Which files a micro-batch of Spark's file source covers, in the order they came.

Spark hands `foreachBatch` a DataFrame that no longer knows its files. Its checkpoint does: `offsets/<batch>`
holds the source's log offset after the batch, `sources/0/<offset>` (or a `.compact` file of several) the
files of each offset.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.errors import CorruptFile


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
        return int(json.loads(lines[1])["logOffset"]) if lines[1] != "-" else -1
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise _corrupt(root / "offsets" / str(batch), str(error)) from error


def _entries(log: Path, offset: int) -> list[dict[str, Any]]:
    """Files that Spark found at one offset of its log. A compact file holds all before it too."""
    file = log / str(offset)
    if not file.exists():
        compact = sorted(int(path.stem) for path in log.glob("*.compact") if int(path.stem) >= offset)
        file = log / f"{compact[0]}.compact" if compact else file
    entries = [json.loads(line) for line in _lines(file)]
    return [entry for entry in entries if entry["batchId"] == offset]


def _lines(file: Path) -> list[str]:
    """The lines after the version line."""
    try:
        version, *lines = file.read_text().splitlines()
    except (OSError, ValueError) as error:
        raise _corrupt(file, str(error)) from error
    if version != "v1":
        raise _corrupt(file, f"its version is {version[:20]!r}")
    return lines


def _corrupt(file: Path, why: str) -> CorruptFile:
    return CorruptFile(
        f"Spark's checkpoint cannot be read: {why}",
        where=str(file),
        expected="a log of format v1, as Spark 4.3 writes it",
        hint="restore it from a copy of the home, or start the application in a new home",
    )
