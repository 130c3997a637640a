"""A checkpoint that was written for Spark: its query goes on from there as if it had come so far itself.

Law: the last file that is written says that the batch is done. Until it is there, nothing counts, and all
of it is written again.

    offsets/41, offsets/42    where the sources stand; Spark reads the last two
    sources/0/0               of a file source: the files that were read
    commits/42                batch 42 is done
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from dovetail.changes.leftovers import delete_folder
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing
from dovetail.spark.batch_files import checkpoint_lines, last_done
from dovetail.spark.checkpoints import Checkpoint

_METADATA = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}
_DONE = b'v1\n{"nextBatchWatermarkMs":0}'
_ESCAPED = re.compile(r"[^A-Za-z0-9_.!~'()*,;:$&+=@/\-\u0080-\U0010ffff]")
"""What Java escapes in the path of a URI: other characters stay as they are."""


def seed(checkpoint: Checkpoint, batch: int, standing: Standing) -> None:
    """Let a query begin after a batch, with its one source read so far. What was there is gone."""
    delete_folder(checkpoint.store, checkpoint.folder)
    match standing:
        case CommitsRead(category, commit):
            write_done(checkpoint, batch, category_offset(category, commit))
        case FilesDone(files):
            if files:
                folder = f"{checkpoint.folder}/sources/0"
                checkpoint.store.make_folder(folder)
                checkpoint.store.replace(f"{folder}/0", _file_log(files))
            write_done(checkpoint, batch, {"logOffset": 0 if files else -1})


def category_offset(category: str, commit: int) -> dict[str, Any]:
    """As `category_source.py` writes it."""
    return {"version": 1, "commit": commit, "category": category}


def write_done(checkpoint: Checkpoint, batch: int, offset: dict[str, Any]) -> None:
    """The first batch that a checkpoint has."""
    said = [json.dumps(part, separators=(",", ":")) for part in (_METADATA, offset)]
    checkpoint.id()
    _write(checkpoint, batch, "\n".join(["v1", *said]).encode(), _DONE)


def repeat_done(checkpoint: Checkpoint, batch: int) -> None:
    """Batches up to this one count as done, and nothing was read since the last one that is."""
    store, folder, done = checkpoint.store, checkpoint.folder, last_done(checkpoint)
    _write(checkpoint, batch, store.read(f"{folder}/offsets/{done}"), store.read(f"{folder}/commits/{done}"))


def note_planned(checkpoint: Checkpoint, batch: int, offset: dict[str, Any]) -> None:
    """A batch of a query with one source goes so far. It follows one that is done, in the same session's
    settings."""
    before = json.loads(checkpoint_lines(checkpoint, f"offsets/{batch - 1}")[0])
    noted = {**before, "batchTimestampMs": time.time_ns() // 1_000_000}
    lines = ["v1", json.dumps(noted, separators=(",", ":")), json.dumps(offset)]
    checkpoint.store.replace(f"{checkpoint.folder}/offsets/{batch}", "\n".join(lines).encode())


def note_done(checkpoint: Checkpoint, batch: int) -> None:
    """The batch that was planned last is done."""
    checkpoint.store.replace(f"{checkpoint.folder}/commits/{batch}", _DONE)


def _write(checkpoint: Checkpoint, batch: int, offsets: bytes, committed: bytes) -> None:
    store, folder = checkpoint.store, checkpoint.folder
    store.make_folder(f"{folder}/offsets")
    store.make_folder(f"{folder}/commits")
    if batch > 0:
        store.replace(f"{folder}/offsets/{batch - 1}", offsets)
    store.replace(f"{folder}/offsets/{batch}", offsets)
    store.replace(f"{folder}/commits/{batch}", committed)


def _file_log(files: Iterable[str]) -> bytes:
    entries = [
        {"path": as_uri(file), "timestamp": _modified_ms(file), "batchId": 0} for file in sorted(files)
    ]
    return "\n".join(["v1", *(json.dumps(entry, ensure_ascii=False) for entry in entries)]).encode()


def as_uri(file: str) -> str:
    """A file as Hadoop calls it: one that is elsewhere is called so already."""
    if "://" in file:
        return file
    return "file://" + _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", os.path.abspath(file))


def _modified_ms(file: str) -> int:
    """Spark passes over files that are older than the newest by more than `maxFileAge`: of one that is gone
    the time does not matter."""
    try:
        return os.stat(file).st_mtime_ns // 1_000_000
    except FileNotFoundError:
        return 0
