"""Small files of a file sink become large ones, while Spark goes on writing.

    19.compact    a b c d e f        the last whole list: all files that count
    20, 21        g, h               of later batches
    19.compact    (abc) d (ef)       the same rows: the list is replaced in one step

Law: at any moment the rows of the output are those of the files that its lists name, and no file goes that a
list names.

Why nothing is lost. Spark makes the next whole list from the last one, which it reads from disk. It may have
read ours before we replaced it; then its list has the small files again, and no list names the large ones. So
neither is deleted before there is a later whole list, and then those go that it does not name. Until then
`_merged.json` has both, from before the list is replaced: so a crash in between leaves nothing behind.
A batch query that began with the old list has that long to end, and `GRACE_S` at least.

Files are merged only with others of the same folder, so partitions stay, and only with files of the same
columns. Lines of JSON and CSV are copied as they are.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote, urlparse

from dovetail.crash_points import crash_point
from dovetail.errors import StateError
from dovetail.slicing.file_list import FileList, file_line
from dovetail.slicing.parquet_output import WrittenFile

_LOG = logging.getLogger("dovetail")
LARGE_BYTES = 128 << 20
"""Files up to half of this are merged, into files of about this size."""
GRACE_S = 600.0
LOOK_S = 5.0
NOTES = "_merged.json"
"""In the folder of the output. Its name hides it from readers."""


@dataclass(frozen=True)
class _Round:
    """What was done to one whole list. `files`: those that went from it, and those that came."""

    whole: int
    at_s: float
    files: tuple[str, ...]


class FileMerging:
    """Merges the files of one output after every `every` batches, when there is a whole list."""

    def __init__(self, folder: str, format_: str, *, header: bool, every: int) -> None:
        self._folder, self._format, self._header, self._every = Path(folder), format_, header, every
        self._lists = FileList(folder)

    def look(self, now_s: float | None = None) -> int:
        """Merge if it is time, and delete what is no longer named. Returns how many files were replaced."""
        whole = self._lists.last_whole()
        if whole is None:
            return 0
        rounds, now_s = self._noted(), time.time() if now_s is None else now_s
        if rounds and rounds[-1].whole < whole:
            rounds = self._clean(rounds, whole, now_s)
        if whole - (rounds[-1].whole if rounds else -1) < self._every:
            return 0
        lines = self._lists.lines(whole)
        groups = list(self._groups([_path(line) for line in lines]))
        if not groups:
            return 0
        made = [self._merged(group) for group in groups]
        gone = [str(path) for group in groups for path in group]
        self._note([*rounds, _Round(whole, now_s, (*gone, *(file.path for file in made)))])
        crash_point("merge", "noted")
        first = {str(group[0]): file_line(file) for group, file in zip(groups, made, strict=True)}
        left = [first.get(path, line) for line in lines if (path := _path(line)) in first or path not in gone]
        if self._lists.last_whole() == whole:  # else what was made is named by nobody, and goes later
            self._lists.replace_whole(whole, left)
            crash_point("merge", "named")
        return len(gone)

    def _groups(self, paths: Sequence[str]) -> Iterator[list[Path]]:
        """Small files that make a large one together."""
        small = [path for path in map(Path, paths) if path.stat().st_size <= LARGE_BYTES // 2]
        alike = {path: self._alike(path) for path in small}
        for _, same in groupby(sorted(small, key=alike.__getitem__), key=alike.__getitem__):
            group: list[Path] = []
            size = 0
            for path in same:
                group.append(path)
                size += path.stat().st_size
                if size >= LARGE_BYTES:
                    yield from [group] if len(group) > 1 else []
                    group, size = [], 0
            yield from [group] if len(group) > 1 else []

    def _alike(self, path: Path) -> tuple[str, str, str]:
        """Equal for files that may become one."""
        if self._format != "parquet":
            return str(path.parent), "".join(path.suffixes), ""
        import pyarrow.parquet as pq

        found = pq.read_metadata(path)
        types = str(found.schema).partition("\n")[2]  # the first line says where it is in memory
        if "int96" in types and "Timestamp" in types:
            types += str(path)  # they would all be stored alike: it stays as it is
        noted = sorted((found.metadata or {}).items())
        return str(path.parent), "".join(path.suffixes), f"{noted} {types}"

    def _merged(self, group: Sequence[Path]) -> WrittenFile:
        suffixes = "".join(group[0].suffixes)
        path = group[0].parent / f"part-00000-{uuid.uuid4()}-c000{suffixes}"
        hidden = path.with_name(f".{path.name}.writing")
        try:
            if self._format == "parquet":
                merge_parquet(group, hidden)
            else:
                _merge_lines(group, hidden, header=self._header)
            with open(hidden, "rb") as file:
                os.fsync(file.fileno())
            hidden.rename(path)
        finally:
            hidden.unlink(missing_ok=True)
        found = path.stat()
        return WrittenFile(str(path), found.st_size, found.st_mtime_ns // 1_000_000)

    def _clean(self, rounds: list[_Round], whole: int, now_s: float) -> list[_Round]:
        """Delete what no list names any more. The last round stays noted: it says when to merge next."""
        named = {_path(line) for line in self._lists.named()}
        kept = []
        for one in rounds:
            if one.whole == whole or now_s - one.at_s < GRACE_S:
                kept.append(one)
                continue
            for path in map(Path, one.files):
                if str(path) not in named:
                    path.unlink(missing_ok=True)
                    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
            if one is rounds[-1]:
                kept.append(_Round(one.whole, one.at_s, ()))
        if kept != rounds:
            self._note(kept)
        return kept

    def _noted(self) -> list[_Round]:
        try:
            said = json.loads((self._folder / NOTES).read_text())
        except FileNotFoundError:
            return []
        return [_Round(one["whole"], one["at_s"], tuple(one["files"])) for one in said["rounds"]]

    def _note(self, rounds: Sequence[_Round]) -> None:
        draft = self._folder / f".{NOTES}.{uuid.uuid4()}.tmp"
        with open(draft, "w") as file:
            json.dump({"version": 1, "rounds": [asdict(one) for one in rounds]}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(self._folder / NOTES)


def _path(line: str) -> str:
    return unquote(urlparse(json.loads(line)["path"]).path)


def merge_parquet(group: Sequence[Path], into: Path) -> None:
    """Row groups one after the other, with the types and notes that the files have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(path, coerce_int96_timestamp_unit="us") for path in group]
    first = files[0]
    columns = [first.schema.column(number) for number in range(len(first.schema))]
    packed = first.metadata.row_group(0).column(0).compression.lower() if first.num_row_groups else "snappy"
    writer = pq.ParquetWriter(
        into,
        first.schema_arrow,
        version="1.0",
        compression="none" if packed == "uncompressed" else packed,
        store_schema=False,
        store_decimal_as_integer=any(
            "Decimal" in str(column.logical_type) and column.physical_type.startswith("INT")
            for column in columns
        ),
        use_deprecated_int96_timestamps=any(column.physical_type == "INT96" for column in columns),
    )
    with writer:
        gathered: list[pa.Table] = []
        for file in files:
            for number in range(file.num_row_groups):
                gathered.append(file.read_row_group(number))
                if sum(table.nbytes for table in gathered) >= LARGE_BYTES // 2:
                    writer.write_table(pa.concat_tables(gathered))
                    gathered = []
        if gathered:
            writer.write_table(pa.concat_tables(gathered))
        writer.add_key_value_metadata(dict(first.metadata.metadata or {}))
    made, rows = pq.read_metadata(into), sum(file.metadata.num_rows for file in files)
    if made.num_rows != rows or not made.schema.equals(first.schema):
        raise StateError(
            f"files with {rows} rows became one with {made.num_rows}, of other types",
            where=str(group[0].parent),
            expected=str(first.schema),
            hint="leave out merge_every for this table",
        )


def _merge_lines(group: Sequence[Path], into: Path, *, header: bool) -> None:
    with open(into, "wb") as output:
        for number, path in enumerate(group):
            with open(path, "rb") as file:
                if header and number:
                    file.readline()
                shutil.copyfileobj(file, output)


class MergingThread:
    """Keeps merging the outputs of a run. It changes no row, so an error is reported once and stops nothing
    else."""

    def __init__(self, merging: Sequence[FileMerging]) -> None:
        self._merging = list(merging)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dovetail-merging", daemon=True)

    def __enter__(self) -> MergingThread:
        if self._merging:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._merging:
            self._thread.join()

    def _run(self) -> None:
        over = False
        while not over:
            over = self._over.wait(LOOK_S)
            for one in list(self._merging):
                try:
                    one.look()
                except Exception as error:
                    _LOG.warning("files are no longer merged: %s", error)
                    self._merging.remove(one)
