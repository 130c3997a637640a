"""Spark's progress where Spark cannot write to the home: it writes to a folder of the driver's host, and the
home, on Kafka, has a copy.

    Spark     writes offsets/7 to the folder
    driver    copies it to the home, then lets batch 7 count

Law: what batch 7 covers is in the home before anything of batch 7 is. So a driver on another host, which has
only the home, runs batch 7 again as it was, and sinks recognize it. (Spark drives some sinks by itself,
without calling our code for each batch. For these the copy may be behind, and only the folder is exact.)

The home says whose folder counts. A host that has it goes on with its folder, which may be ahead of the copy.
Any other host makes a new folder of the copy.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from dovetail.engine.process_folder import hosts_folder
from dovetail.log.homes.filesystem import Output, Store, open_store, shown

_MARK = "checkpoints.json"
"""In the home and in the folder: which folder counts."""


def is_carried(home: str) -> bool:
    """Whether Spark cannot write to the home."""
    return home.startswith("kafka://")


def folder_of(home: str) -> Path:
    """Where Spark keeps the progress of all applications of a home, on this host."""
    return hosts_folder() / f"progress-{hashlib.sha256(shown(home).encode()).hexdigest()[:12]}"


@functools.cache
def bring(home: str, application: str) -> Store:
    """The folder, as the home has it. Done once by a process: from then on the folder is the newer one."""
    made, own = open_store(home), folder_of(home) / "apps" / application
    try:
        known = (own / _MARK).read_bytes()
    except FileNotFoundError:
        known = None
    try:
        counts = made.read(f"apps/{application}/{_MARK}")
    except FileNotFoundError:
        counts = None
    if known is None or known != counts:
        shutil.rmtree(own, ignore_errors=True)
        for path in _below(made, f"apps/{application}/checkpoints"):
            target = folder_of(home) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(made.read(path))
        own.mkdir(parents=True, exist_ok=True)
        known = uuid.uuid4().hex.encode()
        made.make_folder(f"apps/{application}")
        made.replace(f"apps/{application}/{_MARK}", known)
        (own / _MARK).write_bytes(known)
    return open_store(str(folder_of(home)))


def carry(home: str, folder: str) -> None:
    """Copy what Spark has written for one query, and what it has deleted."""
    made, own = open_store(home), open_store(str(folder_of(home)))
    here, there = set(_below(own, folder)), set(_below(made, folder))
    with made.writing() as write:
        for path in sorted(here - there):
            made.make_folder(path.rpartition("/")[0])
            write(path, partial(_fill, own.read(path)))
    for path in there - here:
        made.delete(path)


def _fill(data: bytes, output: Output) -> None:
    output.write(data)


def _below(store: Store, folder: str) -> Iterator[str]:
    """Paths of all files but Hadoop's checksums and what is being written: both begin with a dot."""
    yield from (f"{folder}/{name}" for name in store.names(folder) if not name.startswith("."))
    for name in store.folders(folder):
        yield from _below(store, f"{folder}/{name}")
