"""Law: on a cluster of several machines the result is the same, also when one hangs or is lost in the middle
of a run, and when the application moves to another Spark afterwards. (Groups stay on their hosts:
test_s3_home.)"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dovetail_dev.spark_cluster import SETTINGS, Standalone, standalone_cluster, until
from laws.effort import in_full
from spark.application import committed_files
from spark.batch import ON, count, database, differences, join_sql
from spark.command_line import assert_no_trace, run
from spark.events import events, write_files
from spark.pairs import pairs
from spark.running import running

ROWS, PARTS = 6000, 4
PQL = pairs("FULL")
SPECULATIVE = ("--set", "spark.speculation=true", "--set", "spark.speculation.task.duration.threshold=1s")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with standalone_cluster(tmp_path / "cluster") as cluster:
        yield cluster


def feed(folder: Path, part: int) -> None:
    for name, seed in (("l", 61), ("r", 62)):
        table = events(ROWS, 300, seed).slice(part * ROWS // PARTS, ROWS // PARTS)
        write_files(table, folder / name, 1, first=part)


@in_full
def test_a_machine_hangs_another_is_lost_and_no_row_changes(tmp_path: Path, cluster: Standalone) -> None:
    (tmp_path / "app.pql").write_text(PQL.replace("{here}", str(tmp_path)))
    feed(tmp_path, 0)
    where = ("--master", cluster.address, *SETTINGS)
    with running("run", "app.pql", *where, *SPECULATIVE, folder=tmp_path) as process:

        def wait(condition: Callable[[], object], what: str) -> None:
            until(lambda: _alive(process, tmp_path) and condition(), what)

        wait(lambda: rows_out(tmp_path), "rows of a run on two workers")
        used = [any(worker.index.iterdir()) for worker in cluster.workers]
        assert any(used), "each machine keeps its own indexes, where its environment says"
        lost, hanging = cluster.workers if used[0] else reversed(cluster.workers)

        out, copies = rows_out(tmp_path), second_copies(cluster)
        hanging.signal(signal.SIGSTOP)
        feed(tmp_path, 1)
        wait(lambda: second_copies(cluster) > copies, "tasks of a machine that hangs run elsewhere")
        wait(lambda: rows_out(tmp_path) > out, "rows while a machine hangs")
        hanging.signal(signal.SIGCONT)

        out = rows_out(tmp_path)
        lost.kill()
        feed(tmp_path, 2)
        wait(lambda: rows_out(tmp_path) > out, "rows after a machine was lost")
        assert any(hanging.index.iterdir())

    feed(tmp_path, 3)
    last = run("run", "app.pql", "--drain", "--master", "local[2]", folder=tmp_path)
    assert last.returncode == 0, last.stderr
    assert_no_trace(last.stdout + last.stderr)
    files = committed_files(tmp_path / "out")
    db = database(l=events(ROWS, 300, 61), r=events(ROWS, 300, 62), found=files)
    expected = join_sql("full", "l.id, r.id", ON)
    assert count(db, expected) > ROWS
    assert differences(db, "FROM found", expected) == {}


def rows_out(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in committed_files(folder / "out"))


def second_copies(cluster: Standalone) -> int:
    """Tasks that Spark started again beside or after a first attempt."""
    return len(re.findall(r"Running task \d+\.[1-9]", cluster.executor_logs))


def _alive(process: subprocess.Popen[bytes], folder: Path) -> bool:
    assert process.poll() is None, (folder / "said").read_text()
    return True
