"""JSON and CSV files of a folder: plain lines are read here, all others by Spark.

    file ──► blocks of whole lines ──► plain lines ──► segments ─┐
                       └──► lines in doubt ──► Spark ──► rows ───┼──► one commit
                                                 └──► rejects    ┘    (rejects just before it)

Law: each line is a row, a reject, or what Spark makes nothing of; and each reject is kept once. A commit of
rejects says for which batch it is and whose they are. If the process dies before that batch is in the log,
the next one, which may cut its batches differently, leaves those files out.

A whole file is left to Spark if its bytes are not simply its lines: it is packed, begins with a byte order
mark, has another header than the first one, or is in a folder that stands for a column (`day=2026-11-17`).
"""

from __future__ import annotations

import csv
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from dovetail.errors import InputError
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model import json_values as said
from dovetail.slicing.covered_commits import last_of, saying
from dovetail.slicing.covered_files import CoveredFiles, Slicer
from dovetail.slicing.direct import DirectSlice
from dovetail.slicing.file_form import FilePiece
from dovetail.slicing.placement import Placement
from dovetail.slicing.sides import Written, write_rows
from dovetail.slicing.text_lines import TextFormat

BLOCK_BYTES = 8 << 20
LINE_BYTES = 100
"""About what a row takes, to share out blocks."""
PACKED = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst")
"""Names by which Hadoop knows that a file is packed."""
FILE = "file"
_REJECTS = ".rejects"
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


class SparkReader(Protocol):
    """Reads text files as the slicer's query of Spark would."""

    def rows(self, files: Sequence[str]) -> pa.Table:
        """What can be read, in the columns that the slice needs."""

    def rejects(self, files: Sequence[str]) -> pa.Table:
        """What cannot. The column `file` names the file of each."""

    def name(self, file: str) -> str:
        """A file as `rejects` names it."""


class Aside:
    """Where the rejects of a table are kept. Another may have kept those of some files: `by_query`, a query
    of Spark, or the thread of another stage, if that was the first to read the table. `before`: files of the
    stage that are in the log, by a query of Spark or from when another stage kept rejects; `owed` are those
    of them whose rejects nobody has kept. `paid` is called when they are kept.
    """

    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        covered: CoveredFiles,
        by_query: Iterable[str],
        before: Iterable[str],
        paid: Callable[[], None] | None = None,
    ) -> None:
        self._category, self._producer, self._paid = category, rejects_producer(slicer), paid
        kept = {*by_query, *kept_by_threads(category, others_than=self._producer)}
        self._ahead, self.owed = kept - covered.files, sorted(set(before) - kept)
        last = last_of(category, self._producer)
        self._batch = last.producers[self._producer] + 1 if last else 0
        if last is not None and last.covers is not None:
            batch, files = _rejects_of(last, category)
            if batch == covered.next_batch:
                self._ahead.update(files)

    def lacks(self, file: str) -> bool:
        """Whether the rejects of a file that is about to enter the log have to be kept."""
        return file not in self._ahead

    def append(self, rejects: pa.Table, batch: int, files: Sequence[str]) -> None:
        if rejects.num_rows:
            written = write_rows(self._category, rejects.to_batches(), Placement(None, None))
            covers = {"batch": batch, "files": list(files)}
            self._category.append(written.segments, producer=self._producer, batch=self._batch, covers=covers)
            self._batch += 1

    def settled(self, files: Iterable[str]) -> None:
        """These enter the log now. What comes under such a name later is another file."""
        self._ahead.difference_update(files)
        self.owed = []
        if self._paid is not None:
            self._paid()
            self._paid = None


def rejects_producer(slicer: Slicer) -> str:
    """Under which name the thread of a stage keeps rejects."""
    return f"{slicer.producer}{_REJECTS}"


def thread_producers(category: Category) -> set[str]:
    """The threads that have kept rejects in a category."""
    stop = category.next_commit()
    return {one for one in category.commit(stop - 1).producers if one.endswith(_REJECTS)} if stop else set()


def kept_by_threads(category: Category, others_than: str = "") -> set[str]:
    """The files of which threads have kept rejects."""
    threads = thread_producers(category) - {others_than}
    commits = category.commits(category.first_commit(), category.next_commit()) if threads else ()
    found = [_rejects_of(one, category)[1] for one in commits if one.producer in threads and one.covers]
    return {file for files in found for file in files}


def _rejects_of(commit: Commit, category: Category) -> tuple[int, list[str]]:
    """The batch that a commit has the rejects of, and its files."""
    with saying(category, commit.number, "whose rejects it has"):
        kept = said.fields(commit.covers or {}, ["batch", "files"])
        return said.whole(kept["batch"]), [said.text(file) for file in said.items(kept["files"])]


class TextForm:
    """`place`: the folder. `aside`: None if another stage keeps the rejects of the table."""

    def __init__(
        self, slice_: DirectSlice, place: str, format_: TextFormat, spark: SparkReader, aside: Aside | None
    ) -> None:
        self._slice, self._place, self._format = slice_, place, format_
        self._spark, self._aside = spark, aside
        self._doubts: dict[str, list[bytes]] = {}
        self._files: Sequence[str] = ()
        self._left: list[str] = []  # files that Spark reads whole
        self._header = b""
        self._adding = threading.Lock()

    def pieces(self, files: Sequence[str]) -> list[FilePiece]:
        self._files, self._doubts, self._left = files, {}, []
        found = []
        for file in files:
            with _readable(file):
                size = os.path.getsize(file)
                header = header_of(file, self._place, self._format) if size else b""
            if header is None:
                self._left.append(file)
                continue
            self._header = header or self._header
            for number, begin in enumerate(range(0, size, BLOCK_BYTES)):
                found.append(FilePiece(file, number, 1 + min(BLOCK_BYTES, size - begin) // LINE_BYTES))
        return found

    def write(self, pieces: Iterable[FilePiece]) -> Written:
        return self._slice.write_tables(self._tables(pieces))

    def settle(self, batch: int) -> list[Written]:
        """The lines in doubt, and the files that were left."""
        aside = self._aside
        written = []
        if self._doubts or self._left or (aside is not None and aside.owed):
            with tempfile.TemporaryDirectory(prefix="dovetail-lines-") as folder:
                origin = self._doubts_in(folder)
                if rows := self._spark_rows([*origin, *self._left]):
                    written.append(self._slice.write_tables([rows]))
                if aside is not None:
                    self._keep_rejects(aside, origin, batch)
        if aside is not None:
            aside.settled(self._files)
        return written

    def _doubts_in(self, folder: str) -> dict[str, str]:
        """Lines in doubt as files, and the file that each of these comes from."""
        origin = {}
        for number, (file, texts) in enumerate(self._doubts.items()):
            lines = Path(folder, str(number))
            lines.write_bytes(self._header + b"".join(texts))
            origin[str(lines)] = file
        return origin

    def _spark_rows(self, files: Sequence[str]) -> pa.Table | None:
        rows = self._spark.rows(files) if files else None
        return rows if rows is not None and rows.num_rows else None

    def _keep_rejects(self, aside: Aside, origin: dict[str, str], batch: int) -> None:
        lacking = {lines: file for lines, file in origin.items() if aside.lacks(file)}
        whole = [*(file for file in self._left if aside.lacks(file)), *filter(os.path.exists, aside.owed)]
        if not lacking and not whole:
            return
        found = self._spark.rejects([*lacking, *whole])
        names = {self._spark.name(lines): self._spark.name(file) for lines, file in lacking.items()}
        files = found.column(FILE).combine_chunks().dictionary_encode()
        known = pa.array([names.get(name, name) for name in files.dictionary.to_pylist()], pa.string())
        place = found.schema.get_field_index(FILE)
        found = found.set_column(place, found.schema.field(FILE), known.take(files.indices))
        aside.append(found, batch, [*lacking.values(), *whole])

    def _tables(self, pieces: Iterable[FilePiece]) -> Iterator[pa.Table]:
        wanted = set(self._slice.read_columns)
        for piece in pieces:
            with _readable(piece.path):
                text = block_text(piece.path, piece.number, self._format)
            rows, doubtful = self._format.rows(text, wanted)
            if doubtful:
                with self._adding:
                    self._doubts.setdefault(piece.path, []).append(doubtful)
            yield rows


def header_of(file: str, place: str, format_: TextFormat) -> bytes | None:
    """The line of a file that names its columns, with its line break: empty where none does. None: the file's
    bytes are not simply its lines, in this format."""
    folders = os.path.relpath(os.path.dirname(file), place)
    if file.endswith(PACKED) or "=" in folders:
        return None
    with open(file, "rb") as opened:
        first = opened.readline(BLOCK_BYTES)
    if first.startswith(_MARKS):
        return None
    if not format_.header:
        return b""
    line = first.removesuffix(b"\n").removesuffix(b"\r")
    if line == first or not line.isascii() or any(mark in line for mark in (b"\\", b'""', b"\r")):
        return None
    named = next(csv.reader([line.decode()], delimiter=format_.separator), [])
    return first if named == format_.schema.names else None


def block_text(path: str, number: int, format_: TextFormat) -> bytes:
    """The lines of a block of a file, without the one that names the columns."""
    text = block(path, number * BLOCK_BYTES, BLOCK_BYTES)
    return text[text.index(b"\n") + 1 :] if number == 0 and format_.header else text


def blocks(path: str, format_: TextFormat) -> Iterator[bytes]:
    """All of a file's lines but that one, a block at a time."""
    for number in range(-(-os.path.getsize(path) // BLOCK_BYTES)):
        yield block_text(path, number, format_)


def block(path: str, begin: int, size: int) -> bytes:
    """The lines that begin in a range of a file, each with its line break."""
    with open(path, "rb") as opened:
        opened.seek(max(0, begin - 1))
        text = opened.read(size + (1 if begin else 0))
        if text and not text.endswith(b"\n"):
            rest = opened.readline()
            text += rest if rest.endswith(b"\n") else rest + b"\n"
    if begin:  # a line that began before is the last block's
        text = text[text.index(b"\n") + 1 :] if text else text
    return text


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Trouble with a file as an error that names it and says what to do."""
    try:
        yield
    except FileNotFoundError as error:
        hint = "put it back, or run again without it"
        raise InputError("the file is gone", where=path, hint=hint) from error
    except OSError as error:
        hint = "make it readable, or remove it"
        raise InputError(f"the file cannot be read: {error}", where=path, hint=hint) from error
