"""Which files the given paths stand for, and what format each has."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal, get_args

from pyarrow import fs

from dovetail.errors import InputError
from dovetail.log.ingest.delimited import CsvSource
from dovetail.log.ingest.json_lines import JsonSource
from dovetail.log.ingest.parquet import ParquetSource
from dovetail.log.ingest.source import InputFile, Source, locate

Format = Literal["auto", "parquet", "json", "csv"]
"""How a file is written; `auto` goes by its name, then by its first bytes."""

_SOURCES: dict[str, type[ParquetSource] | type[JsonSource] | type[CsvSource]] = {
    "parquet": ParquetSource,
    "json": JsonSource,
    "csv": CsvSource,
}
_COMPRESSED = re.compile(r"\.(gz|bz2|zst|lz4)$")
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".tsv": "csv",
}


def find_files(paths: Sequence[str]) -> list[InputFile]:
    """The files, those of a folder in the order of their names. Files named `_...` or `....` in a folder are
    bookkeeping and empty ones hold nothing: both are passed over there, but not when named themselves."""
    found: list[InputFile] = []
    for path in paths:
        filesystem, inside = locate(path)
        info = filesystem.get_file_info(inside)
        if info.type == fs.FileType.NotFound:
            raise InputError(
                "there is no such file",
                where=path,
                hint=f"paths are relative to {os.getcwd()}; check the name",
            )
        if info.type == fs.FileType.Directory:
            found += _files_of(filesystem, path, inside)
        elif info.size == 0:
            raise InputError("the file is empty", where=path, hint="leave it out, or write it again")
        else:
            found.append(InputFile(path, info.size))
    return found


def _files_of(filesystem: fs.FileSystem, path: str, inside: str) -> list[InputFile]:
    entries = filesystem.get_file_info(fs.FileSelector(inside))
    files = [
        InputFile(f"{path.rstrip('/')}/{entry.base_name}", entry.size)
        for entry in sorted(entries, key=lambda entry: str(entry.base_name))
        if entry.type == fs.FileType.File and entry.size and entry.base_name[0] not in "._"
    ]
    if not files:
        raise InputError(
            "the folder has no files with rows",
            where=path,
            hint="files in folders below it are not looked at",
        )
    return files


def open_source(file: InputFile, kind: str = "auto") -> Source:
    """The file as rows of that format."""
    if kind not in get_args(Format):
        raise InputError(f"unknown format {kind!r}", expected=" | ".join(get_args(Format)))
    return _SOURCES[detect(file) if kind == "auto" else kind](file)


def detect(file: InputFile) -> str:
    """The format by the file's name, or by its first bytes."""
    ending = os.path.splitext(_COMPRESSED.sub("", file.path.lower()))[1]
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    with file.open() as opened:
        start = opened.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"{"):
        return "json"
    raise InputError(
        "the name of the file does not say its format",
        where=file.path,
        expected="a name that ends in .parquet, .json, .jsonl or .csv (.gz, .bz2 or .zst after it is fine)",
        hint="say it with --format parquet | json | csv",
    )
