"""`dovetail prepare`: do once what every start would otherwise repeat. The launcher calls it at set-up."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import typer

_PQL = """
CREATE APPLICATION prepare;
CREATE INPUT TABLE l (eventtime, k, v) FROM FILES("rows.parquet", format = "parquet");
CREATE INPUT TABLE r (eventtime, k, v) FROM SCRIBE("r");
CREATE VIEW j AS SELECT l.eventtime AS eventtime, l.k AS k, l.v AS a, coalesce(r.v, 'none') AS b
FROM l LEFT OUTER JOIN r
  ON l.k = r.k AND r.eventtime BETWEEN l.eventtime - INTERVAL '1 minute'
                         AND l.eventtime + INTERVAL '1 minute';
CREATE TABLE t AS SELECT eventtime, k, a, b FROM j STORAGE PARQUET(path = "out");
"""


def prepare() -> None:
    """Compile the kernels and archive Spark's classes, so that later starts are seconds faster."""
    from dovetail.engine.warm import warm
    from dovetail.service.warm_libraries import warm as warm_joins
    from dovetail.slicing.text_lines import warm as warm_lines

    warm()
    warm_lines()
    typer.echo("kernels of joins on Spark compiled")
    with ThreadPoolExecutor(1) as beside:  # another process does it, with the kernels compiled above
        archived = beside.submit(make_archive)
        warm_joins()
        typer.echo("kernels of joins in one process compiled")
        archive = archived.result()
    typer.echo(
        f"Spark's classes archived in {archive}" if archive else "Spark's classes could not be archived"
    )


def make_archive() -> Path | None:
    """Write the archive of Spark's classes unless it exists; None where that is not possible."""
    from dovetail.spark.class_archive import WRITING, archive_place, find_archive, keep_archive

    place, archive = archive_place(), find_archive()
    if place is None or archive is not None:
        return archive
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_suffix(f".{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="dovetail-prepare-") as folder:
        # The JVM ends seconds after the process that started it, and holds the pipe: `run` waits for both.
        done = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import small_application; small_application()"],
            cwd=folder,
            env=os.environ | {WRITING: str(draft)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if done.returncode != 0 or not draft.exists():
        draft.unlink(missing_ok=True)
        typer.echo(done.stdout[-2000:], err=True)
        return None
    return keep_archive(draft, place)


def small_application() -> None:
    """Join a few rows, from a file and from the log, in the working directory: the classes of every run."""
    import datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    from dovetail.log.ingest.append import append_file
    from dovetail.log.ingest.files import find_files
    from dovetail.service.cli.run import run_application

    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    moments = [start + datetime.timedelta(seconds=second) for second in range(9)]
    rows = pa.table({"eventtime": moments, "k": list(range(9)), "v": [f"v{n}" for n in range(9)]})
    pq.write_table(rows, "rows.parquet")
    append_file("home", "r", find_files(["rows.parquet"])[0])
    Path("prepare.pql").write_text(_PQL)
    run_application(Path("prepare.pql"), home="home", master="local[2]", mode="drain", settings={})
