"""Law: the rows of a file sink are those of the files that `_spark_metadata` names, and no others.

Spark writes the files of a micro-batch first and names them in one step after. A run that dies in between
leaves files that nobody named, and the next run writes their rows again. Spark reads such a folder by the
names; who reads it with anything else asks here.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from dovetail.errors import InputError


def committed_files(folder: str | Path) -> list[str]:
    """The files of a file sink that count, in the order they were written."""
    log = Path(folder) / "_spark_metadata"
    if not log.is_dir():
        if not any(Path(folder).glob("*")):
            return []
        raise InputError(
            "this is not the output of a streaming query",
            where=str(folder),
            expected="a folder with _spark_metadata in it, or one where nothing is written yet",
            hint="check the path: it is that of STORAGE, or of the query's `start`",
        )
    batches = {int(entry.name.removesuffix(".compact")): entry for entry in _entries(log)}
    added: dict[str, bool] = {}
    for _, entry in sorted(batches.items()):
        if entry.name.endswith(".compact"):  # all that was before, in one
            added.clear()
        for line in Path(entry).read_text().splitlines()[1:]:
            told = json.loads(line)
            added[unquote(urlparse(told["path"]).path)] = told["action"] == "add"
    return [path for path, present in added.items() if present]


def _entries(log: Path) -> list[os.DirEntry[str]]:
    """Both forms of a batch may be there: the compact one comes last, and counts."""
    with os.scandir(log) as entries:
        named = [entry for entry in entries if entry.name.removesuffix(".compact").isdigit()]
    return sorted(named, key=lambda entry: entry.name.endswith(".compact"))
