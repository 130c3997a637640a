"""Law: an input file that was found but is gone when it is to be read is counted, never skipped in silence.

Spark lists files first and reads them later. It skips a file that has gone in between. The names of such
files are rows of the category `<application>.vanished.<table>`, so the count survives restarts.

Where it can be known. We look for the files of a micro-batch when it has been read, on a local path, or on S3
with the credentials of the environment. On other filesystems, or where these do not let us look, a file
counts as there. A stage that Spark writes to files by itself does not tell us its batches: nobody looks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.slicing.input_files import is_local, is_on_s3, local_path, plain_place
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema([("file", pa.string())])


def vanished(files: Sequence[str]) -> list[str]:
    """Those that are not there any more, as far as we can look."""
    gone = _gone_from_s3([file for file in files if is_on_s3(file)])
    return [
        file for file in files if file in gone or (is_local(file) and not os.path.exists(local_path(file)))
    ]


def _gone_from_s3(files: Sequence[str]) -> set[str]:
    """One request for all: pyarrow asks for them side by side."""
    if not files:
        return set()
    from pyarrow import fs

    try:
        paths = [plain_place(file).removeprefix("s3://") for file in files]
        filesystem, _ = fs.FileSystem.from_uri(f"s3://{paths[0].partition('/')[0]}")
        found = filesystem.get_file_info(paths)
    except (OSError, pa.ArrowException):
        return set()  # Spark may have other credentials: whether they are there is not known
    return {file for file, info in zip(files, found, strict=True) if info.type == fs.FileType.NotFound}


def record_vanished(home: str, category: str, files: Sequence[str], producer: str, batch: int) -> None:
    """Note the files that a micro-batch did without. Done again, it changes nothing."""
    if not files:
        return
    noted = Category.create(home, category, SCHEMA, buckets=1, role="rejects")
    rows = pa.record_batch([pa.array([plain_place(file) for file in files])], schema=SCHEMA)
    segments = noted.write_segments([rows], bucket_of(None, 1), time_of(None))
    noted.append(segments, producer=producer, batch=batch)
