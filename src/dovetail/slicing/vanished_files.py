"""Law: an input file that was found but is gone when it is to be read is counted, never skipped in silence.

Spark lists files first and reads them later. It skips a file that has gone in between. The names of such
files are rows of the category `<application>.vanished.<table>`, so the count survives restarts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.slicing.input_files import is_local, local_path
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema([("file", pa.string())])


def vanished(files: Sequence[str]) -> list[str]:
    """Those that are not there any more, of files on a local path: elsewhere we do not look."""
    return [file for file in files if is_local(file) and not os.path.exists(local_path(file))]


def record_vanished(home: str, category: str, files: Sequence[str], producer: str, batch: int) -> None:
    """Note the files that a micro-batch did without. Done again, it changes nothing."""
    if not files:
        return
    noted = Category.create(home, category, SCHEMA, buckets=1, role="rejects")
    rows = pa.record_batch([pa.array([local_path(file) for file in files])], schema=SCHEMA)
    segments = noted.write_segments([rows], bucket_of(None, 1), time_of(None))
    noted.append(segments, producer=producer, batch=batch)
