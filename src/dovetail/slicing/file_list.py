"""The list of files of Spark's file sink, written without Spark: `_spark_metadata` in a local folder.

Law: the bytes are those that Spark writes (`FileStreamSinkLog`), so it goes on with the list as if it were
its own. A list names the files of one batch; every tenth repeats all that were named before. Lists that it
makes superfluous stay, and Spark removes them with its own.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dovetail.crash_points import crash_point
from dovetail.errors import StateError
from dovetail.slicing.parquet_output import WrittenFile

LOG = "_spark_metadata"
BLOCK_BYTES = 32 << 20
"""What Hadoop says of a file on local disk. Nobody splits by it."""
WHOLE_EVERY = 10
"""Batches from one whole list to the next: Spark's default."""
_WHOLE = ".compact"
_VERSION = "v1"


class FileList:
    def __init__(self, folder: str) -> None:
        self._log = Path(folder) / LOG

    def is_usual(self) -> bool:
        """Whether whole lists are where they are by default. Where they are not, Spark goes on so."""
        return all(name.endswith(_WHOLE) == _is_whole(batch) for batch, name in self._lists().items())

    def add(self, batch: int, files: Sequence[WrittenFile]) -> None:
        """Let the files of a batch count. Done again, it changes nothing."""
        crash_point("sink", "written")
        lists = self._lists()
        if batch in lists:
            return
        whole = _is_whole(batch)
        lines = self._named_before(lists, batch) if whole else []
        lines += [file_line(file) for file in files]
        self._log.mkdir(parents=True, exist_ok=True)
        self._write(f"{batch}{_WHOLE if whole else ''}", lines)

    def last_whole(self) -> int | None:
        """The batch of the last whole list."""
        return max((batch for batch, name in self._lists().items() if name.endswith(_WHOLE)), default=None)

    def lines(self, whole: int) -> list[str]:
        return self._read(f"{whole}{_WHOLE}")

    def named(self) -> list[str]:
        """The lines of all files that count."""
        lists = self._lists()
        return self._named_before(lists, max(lists, default=-1) + 1)

    def replace_whole(self, batch: int, lines: Sequence[str]) -> None:
        """Put another whole list in the place of one, for files that hold the same rows."""
        self._write(f"{batch}{_WHOLE}", lines)

    def _write(self, name: str, lines: Sequence[str]) -> None:
        draft = self._log / f".{name}.{uuid.uuid4()}.tmp"
        try:
            with open(draft, "xb") as file:
                file.write("\n".join([_VERSION, *lines]).encode())
                file.flush()
                os.fsync(file.fileno())
            # Of a file that is not there, or that goes now. Without it Spark reads either.
            (self._log / f".{name}.crc").unlink(missing_ok=True)
            draft.rename(self._log / name)
        finally:
            with suppress(OSError):
                draft.unlink()

    def _lists(self) -> dict[int, str]:
        """The names of the lists, by batch: a whole one wins."""
        try:
            names = sorted(os.listdir(self._log))  # "9" comes before "9.compact"
        except FileNotFoundError:
            return {}
        return {
            int(number): name
            for name in names
            if (number := name.removesuffix(_WHOLE)).isdigit() and not name.startswith(".")
        }

    def _named_before(self, lists: dict[int, str], batch: int) -> list[str]:
        whole = [number for number, name in lists.items() if name.endswith(_WHOLE) and number < batch]
        first = max(whole, default=0)
        lines = []
        for number in range(first, batch):
            if number not in lists:
                raise StateError(
                    f"the list of files lacks batch {number}",
                    where=str(self._log),
                    expected="all batches since the last whole list",
                    hint="restore the folder from a copy",
                )
            lines += self._read(lists[number])
        return lines

    def _read(self, name: str) -> list[str]:
        version, *named = (self._log / name).read_text().splitlines()
        if version != _VERSION:
            raise StateError(f"a list has version {version!r}", where=str(self._log / name))
        return named


def _is_whole(batch: int) -> bool:
    return (batch + 1) % WHOLE_EVERY == 0


def file_line(file: WrittenFile) -> str:
    said = {
        "path": file.uri,
        "size": file.size,
        "isDir": False,
        "modificationTime": file.modified_ms,
        "blockReplication": 1,
        "blockSize": BLOCK_BYTES,
        "action": "add",
    }
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)
