"""Finding the files of an input, and what they say about its columns before they are read."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from dovetail.errors import InputError

PACE = {"maxfilespertrigger", "maxbytespertrigger", "maxfileage"}
"""Options of Spark's file source, in lower case, that change nothing about which rows come, or are ours to
follow."""
_HIDDEN = ("_", ".")


class MissingInput(InputError):
    """An input directory that does not exist yet, or holds no file yet."""


def input_files(place: str, form: str) -> list[str]:
    """The data files of a directory (or one file), at least one. Elsewhere than on a local path we do not
    look."""
    if not is_local(place):
        return []
    path = Path(local_path(place))
    if not path.exists():
        raise MissingInput(
            "the input directory does not exist",
            where=str(path.absolute()),
            expected=f"a directory of {form} files",
            hint="correct the path in FROM FILES, or create it and put a first file there",
        )
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    data = [
        str(file)
        for file in files
        if file.is_file() and not any(is_hidden(part) for part in file.relative_to(path).parts)
    ]
    if not data:
        raise MissingInput(
            "the input directory holds no files",
            where=str(path.absolute()),
            expected=f"{form} files",
            hint="put at least one file there: its columns tell the types",
        )
    return data


def partition_names(place: str, files: Sequence[str]) -> tuple[str, ...]:
    """The columns that the names of folders say, as in `day=2026-11-17/part.parquet`: those above the first
    file and below the place itself."""
    if not files:
        return ()
    below = os.path.relpath(local_path(files[0]), os.path.abspath(local_path(place)))
    folders = below.split(os.sep)[:-1]
    return tuple(
        unquote(name) for name, equals, _ in (one.partition("=") for one in folders) if equals and name
    )


def is_hidden(name: str) -> bool:
    """A file or folder that Spark passes over."""
    return name.startswith(_HIDDEN)


def is_local(place: str) -> bool:
    return "://" not in place or place.startswith("file:")


def local_path(path: str) -> str:
    """A path as pyarrow and Python take it; in a URI, Spark writes a blank as `%20`."""
    parsed = urlparse(path)
    return unquote(parsed.path) if parsed.scheme == "file" else path


def is_on_s3(place: str) -> bool:
    return place.startswith(("s3://", "s3a://"))


def plain_place(path: str) -> str:
    """A place as we write it: a local path, or the URI. Spark calls `s3://` `s3a://` and escapes what is in
    a path."""
    return f"s3://{unquote(path.partition('://')[2])}" if is_on_s3(path) else local_path(path)


def csv_header(file: str, separator: str, encoding: str, wanted: Sequence[str]) -> list[str]:
    """The columns of a CSV file as its first line names them; the wanted ones must be among them."""
    with open(file, newline="", encoding=encoding, errors="replace") as text:
        header = next(csv.reader(text, delimiter=separator), [])
    missing = [name for name in wanted if name not in header]
    if missing:
        raise InputError(
            f"the file lacks column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            where=file,
            expected=f"a header line with {', '.join(wanted)}",
            hint=f'its header has {", ".join(header) or "nothing"}; without one say header = "false"',
        )
    return header
