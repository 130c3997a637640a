"""Where the files of an input lie, and that there are some."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from dovetail.errors import InputError
from dovetail.plan.physical import FilesSource
from dovetail.spark.s3 import spark_uri

_HIDDEN = ("_", ".")


class MissingInput(InputError):
    """An input directory that does not exist yet, or holds no file yet."""


def input_files(source: FilesSource) -> list[str]:
    """The data files of a directory (or one file), at least one."""
    path = Path(local_path(source.path))
    if "://" in source.path and not source.path.startswith("file:"):
        return []
    if not path.exists():
        raise MissingInput(
            "the input directory does not exist",
            where=str(path.absolute()),
            expected=f"a directory of {source.format} files",
            hint="correct the path in FROM FILES, or create it and put a first file there",
        )
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    data = [
        str(file)
        for file in files
        if file.is_file() and not any(part.startswith(_HIDDEN) for part in file.relative_to(path).parts)
    ]
    if not data:
        raise MissingInput(
            "the input directory holds no files",
            where=str(path.absolute()),
            expected=f"{source.format} files",
            hint="put at least one file there: its columns tell the types",
        )
    return data


def local_path(path: str) -> str:
    """A path as pyarrow and Python take it; in a URI, Spark writes a blank as `%20`."""
    parsed = urlparse(path)
    return unquote(parsed.path) if parsed.scheme == "file" else path


def stream_path(path: str) -> str:
    """A path as Spark's file stream takes it: a directory, or a pattern. A single file becomes one."""
    if path.startswith("s3://"):
        return spark_uri(path)
    file = Path(local_path(path))
    if not file.is_file():
        return path
    name = "".join(f"\\{mark}" if mark in "{}[]*?,\\" else mark for mark in file.name)
    return f"{file.absolute().parent}/{{{name}}}"
