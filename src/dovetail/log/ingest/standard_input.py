"""Lines that come from standard input, as files of some lines each: what is there, at most some megabytes, as
soon as nothing more has come for a moment. So a pipe that never ends gets into the log as it flows, and one
that is full gets there in few commits."""

from __future__ import annotations

import os
import select
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dovetail.errors import InputError
from dovetail.log.ingest.source import InputFile

MOST_BYTES = 16 << 20
PAUSE_S = 0.5
READ_BYTES = 1 << 20


def piped_files(kind: str, descriptor: int | None = None) -> Iterator[InputFile]:
    """JSON lines, or CSV, whose header belongs to every file; Parquet has its end at the end. A file is gone
    when the next one is asked for."""
    if kind not in ("json", "csv", "parquet"):
        raise InputError(
            "standard input does not say its format", where="-", expected="--format json | csv | parquet"
        )
    read_from = sys.stdin.fileno() if descriptor is None else descriptor
    header = b""
    with tempfile.TemporaryDirectory(prefix="dovetail-piped-") as folder:
        path = Path(folder) / f"standard input.{kind}"
        for number, block in enumerate(_blocks(read_from, whole=kind == "parquet")):
            if kind == "csv" and number == 0:
                header = block[: block.find(b"\n") + 1]
            data = header + block if number else block
            if data.strip():
                path.write_bytes(data)
                yield InputFile(str(path), len(data))


def _blocks(descriptor: int, *, whole: bool) -> Iterator[bytes]:
    """Whole lines; the last one need not end."""
    held = bytearray()
    while True:
        quiet = held and not whole and not select.select([descriptor], [], [], PAUSE_S)[0]
        if quiet or (len(held) >= MOST_BYTES and not whole):
            cut = held.rfind(b"\n") + 1
            if cut:
                yield bytes(held[:cut])
                del held[:cut]
        data = os.read(descriptor, READ_BYTES)
        if not data:
            break
        held += data
    if held:
        yield bytes(held)
