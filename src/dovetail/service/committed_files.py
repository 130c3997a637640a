"""Law: the rows of a file sink are those of the files that `_spark_metadata` names, and no others.

Spark first writes the files of a micro-batch, then names them all in one step. A run that dies in between
leaves files that are not named, and the next run writes their rows again. Spark reads such a folder by the
names. Use this function to read it with anything else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from dovetail.errors import InputError


def committed_files(folder: str | Path) -> list[str]:
    """The committed files of a file sink, in the order they were written."""
    log = Path(folder) / "_spark_metadata"
    if not log.is_dir():
        if not any(Path(folder).glob("*")):
            return []
        raise InputError(
            "this is not the output of a streaming query",
            where=str(folder),
            expected="a folder with _spark_metadata, or an empty one",
            hint="check the path: use the one in STORAGE, or in the query's `start`",
        )
    batches = {int(entry.name.removesuffix(".compact")): entry for entry in _entries(log)}
    added: dict[str, bool] = {}
    for _, entry in sorted(batches.items()):
        if entry.name.endswith(".compact"):  # replaces all earlier entries
            added.clear()
        for line in Path(entry).read_text().splitlines()[1:]:
            change = json.loads(line)
            added[unquote(urlparse(change["path"]).path)] = change["action"] == "add"
    return [path for path, present in added.items() if present]


def _entries(log: Path) -> list[os.DirEntry[str]]:
    """A batch may have a plain and a compact entry: the compact one comes last, so it wins."""
    with os.scandir(log) as entries:
        named = [entry for entry in entries if entry.name.removesuffix(".compact").isdigit()]
    return sorted(named, key=lambda entry: entry.name.endswith(".compact"))
