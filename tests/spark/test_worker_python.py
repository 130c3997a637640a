"""`dovetail.join` in a script of a virtual environment, where `python3` on the path is some other Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from laws.effort import THOROUGH
from spark.command_line import SOURCE
from spark.events import events, write_files

SCRIPT = f"""
import sys
sys.path.insert(0, {SOURCE!r})
from pyspark.sql import SparkSession
import dovetail

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
schema = "eventtime timestamp, k long, id long, v int"
sides = [spark.readStream.schema(schema).parquet(side) for side in ("l", "r")]
try:
    joined = dovetail.join(
        *sides, "k", left_time="eventtime", right_time="eventtime", before="1 hour", after="1 hour",
        name="script", home="home", mode="drain", buckets=2,
    )
    query = joined.writeStream.format("memory").queryName("found").trigger(availableNow=True).start()
    query.awaitTermination()
    print("rows", spark.table("found").count())
    workers = spark.sparkContext.parallelize([0], 1).map(lambda _: open("/proc/self/comm").read().strip())
    print("workers", *workers.collect())
except dovetail.errors.DovetailError as error:
    print("refused", error, "queries", len(spark.streams.active))
"""


def other_python(folder: Path) -> Path:
    """A Python that finds nothing but the standard library, as one that was never set up for this."""
    folder.mkdir()
    path = folder / "python3"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("pinned", [False, True] if THOROUGH else [False])
def test_a_script_of_a_virtual_environment(tmp_path: Path, pinned: bool) -> None:
    for side in ("l", "r"):
        write_files(events(50, 1, 3, nulls=0), tmp_path / side, 1)
    (tmp_path / "script.py").write_text(SCRIPT)
    python = other_python(tmp_path / "bin")
    unset = ("PYSPARK_PYTHON", "PYTHONPATH")
    given = {name: value for name, value in os.environ.items() if name not in unset}
    given["PATH"] = f"{python.parent}:{given['PATH']}"
    if pinned:
        given["PYSPARK_PYTHON"] = str(python)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=given,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if not pinned:
        forked = "workers dovetail-python\n"  # from a process that had imported what they need
        assert done.stdout == "rows 2500\n" + forked, done.stdout + done.stderr
        return
    refused = "refused the Python of Spark's workers has no module numba"
    assert refused in done.stdout, done.stdout + done.stderr
    assert f"asked for as {python}" in done.stdout
    assert f"this process runs {sys.executable}" in done.stdout
    assert "queries 0" in done.stdout
