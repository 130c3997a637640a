"""Which files a micro-batch of Spark's file source covers, in the order they came.

Spark hands `foreachBatch` a DataFrame that no longer knows its files. Its checkpoint does: `offsets/<batch>`
holds the log offset of each source after the batch, `sources/<source>/<offset>` (or a `.compact` file of
several) the files of each offset.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dovetail.errors import CorruptFile
from dovetail.model import json_values
from dovetail.spark.checkpoints import Checkpoint


def files_of_batch(checkpoint: Checkpoint, batch: int) -> list[str]:
    """Paths of the files of one micro-batch, of each of its query's file sources in turn."""
    last = _log_offsets(checkpoint, batch)
    before = _log_offsets(checkpoint, batch - 1) if batch > 0 else {}
    found = []
    for source, offset in last.items():
        offsets = range(before.get(source, -1) + 1, offset + 1)
        entries = [entry for one in offsets for entry in _entries(checkpoint, source, one)]
        found += sorted(entries, key=lambda entry: (entry["timestamp"], entry["path"]))
    return [entry["path"] for entry in found]


def last_planned(checkpoint: Checkpoint) -> int:
    """The number of the last batch that a run before this one has planned, -1 if none: it may not be done."""
    names = checkpoint.store.names(f"{checkpoint.folder}/offsets")
    return max((int(name) for name in names if name.isdigit()), default=-1)


def last_done(checkpoint: Checkpoint) -> int:
    """The number of the last batch that is done, -1 if none is."""
    names = checkpoint.store.names(f"{checkpoint.folder}/commits")
    return max((int(name) for name in names if name.isdigit()), default=-1)


def offsets_done(checkpoint: Checkpoint) -> list[Any]:
    """What the sources of a query said after the last batch that is done, each in its own JSON; none before
    the first."""
    batch = last_done(checkpoint)
    return offsets_at(checkpoint, batch) if batch >= 0 else []


def offsets_at(checkpoint: Checkpoint, batch: int) -> list[Any]:
    """The same after a batch that was planned."""
    path = f"offsets/{batch}"
    try:
        return [json.loads(line) for line in checkpoint_lines(checkpoint, path)[1:] if line != "-"]
    except ValueError as error:
        raise damaged(checkpoint, path, str(error)) from error


def files_done(checkpoint: Checkpoint, since: Mapping[int, int]) -> tuple[list[str], dict[int, int]]:
    """Paths of the files in batches that are done, of each source from the offset after `since` on; and the
    offsets up to which they are."""
    batch = last_done(checkpoint)
    reached = _log_offsets(checkpoint, batch) if batch >= 0 else {}
    found = []
    for source, last in reached.items():
        first = since.get(source, -1) + 1
        if first > last:
            continue
        names = checkpoint.store.names(f"{checkpoint.folder}/sources/{source}")
        compact = [int(name.removesuffix(".compact")) for name in names if name.endswith(".compact")]
        at = max((number for number in compact if first <= number <= last), default=None)
        paths = [f"sources/{source}/{at}.compact"] if at is not None else []
        plain = sorted(int(name) for name in names if name.isdigit())
        begin = first if at is None else at + 1
        paths += [f"sources/{source}/{number}" for number in plain if begin <= number <= last]
        for path in paths:
            try:
                entries = [_entry(json.loads(line)) for line in checkpoint_lines(checkpoint, path)]
            except ValueError as error:
                raise damaged(checkpoint, path, str(error)) from error
            found += [entry["path"] for entry in entries if first <= entry["batchId"] <= last]
    return found, reached


def _log_offsets(checkpoint: Checkpoint, batch: int) -> dict[int, int]:
    """By the number of a file source: the last offset of its log that the batch covers."""
    path = f"offsets/{batch}"
    lines = checkpoint_lines(checkpoint, path)[1:]
    try:
        if not lines:
            raise ValueError("it names no source")
        said = [json.loads(line) if line != "-" else {"logOffset": -1} for line in lines]
        files = {source: offset for source, offset in enumerate(said) if "commit" not in offset}
        return {source: json_values.whole(offset["logOffset"], -1) for source, offset in files.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(checkpoint, path, str(error)) from error


def _entries(checkpoint: Checkpoint, source: int, offset: int) -> list[dict[str, Any]]:
    """Files that Spark found at one offset of a source's log. A compact file holds all before it too."""
    log = f"sources/{source}"
    path = f"{log}/{offset}"
    if checkpoint.store.size(f"{checkpoint.folder}/{path}") is None:
        names = checkpoint.store.names(f"{checkpoint.folder}/{log}")
        numbers = (int(name.removesuffix(".compact")) for name in names if name.endswith(".compact"))
        compact = sorted(number for number in numbers if number >= offset)
        path = f"{log}/{compact[0]}.compact" if compact else path
    try:
        entries = [_entry(json.loads(line)) for line in checkpoint_lines(checkpoint, path)]
    except ValueError as error:
        raise damaged(checkpoint, path, str(error)) from error
    found = [entry for entry in entries if entry["batchId"] == offset]
    if not found:
        raise damaged(checkpoint, path, f"it holds no files of offset {offset}")
    return found


def _entry(said: Any) -> dict[str, Any]:
    if not isinstance(said, dict) or not isinstance(said.get("path"), str):
        raise ValueError("an entry names no file")
    if type(said.get("timestamp")) is not int or type(said.get("batchId")) is not int:
        raise ValueError("an entry does not say when its file was found")
    return said


def checkpoint_lines(checkpoint: Checkpoint, path: str) -> list[str]:
    """The lines after the version line. Hadoop keeps a checksum beside a file on local disk."""
    folder, _, name = f"{checkpoint.folder}/{path}".rpartition("/")
    try:
        data = checkpoint.store.read(f"{folder}/{name}")
        with suppress(FileNotFoundError):
            if not _sums_fit(data, checkpoint.store.read(f"{folder}/.{name}.crc")):
                raise ValueError("its checksum does not fit")
        version, *lines = data.decode().splitlines()
    except (OSError, ValueError) as error:
        raise damaged(checkpoint, path, str(error)) from error
    if version != "v1":
        raise damaged(checkpoint, path, f"its version is {version[:20]!r}")
    return lines


def _sums_fit(data: bytes, sums: bytes) -> bool:
    """Whether a Hadoop `.crc` file is that of the data: one CRC for each block of bytes."""
    size = int.from_bytes(sums[4:8], "big")
    if sums[:4] != b"crc\0" or size == 0:
        return False
    made = (zlib.crc32(data[start : start + size]) for start in range(0, len(data), size))
    return sums[8:] == b"".join(one.to_bytes(4, "big") for one in made)


def damaged(checkpoint: Checkpoint, path: str, why: str) -> CorruptFile:
    return CorruptFile(
        f"Spark's checkpoint cannot be read: {why}",
        where=f"{checkpoint.store.root}/{checkpoint.folder}/{path}",
        expected="a log of format v1, as Spark 4.3 writes it",
        hint="restore it from a copy of the home, or start the application in a new home",
    )
