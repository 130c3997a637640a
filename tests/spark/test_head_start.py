"""Steps that are taken before Spark is there, and Spark that goes on from them: every row comes out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dovetail.plan.application_file import read_current
from dovetail.service.figures import RunFigures
from dovetail.spark.batches_alone import BatchesAlone
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.head_start_notes import Circumstances, Notes, find_notes, read_notes
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files

PARTS = 14
ROWS = 150 * PARTS
LEFT, RIGHT = events(ROWS, 200, seed=5), events(ROWS, 200, seed=6)
BOUNDS = "r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'"
PQL = f"""
    CREATE APPLICATION early;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{{here}}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k AND {BOUNDS};
    CREATE TABLE pair_rows AS SELECT * FROM pairs STORAGE PARQUET(path = "{{here}}/out");
    CREATE VIEW lefts AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k AND {BOUNDS};
    CREATE TABLE left_rows AS SELECT l, r, l + 1 AS more FROM lefts STORAGE SCRIBE(category = "lefts");
"""


def feed(application: Application, part: int) -> None:
    for name, table in (("l", LEFT), ("r", RIGHT)):
        rows = table.slice(part * ROWS // PARTS, ROWS // PARTS)
        write_files(rows, application.folder / name, 1, first=part)


def slice_all(notes: Notes, home: str) -> None:
    slicers = [residence.slicing(home, finite=True) for residence in notes.residences]
    for slicer in slicers:
        slicer.start()
        slicer.join()
        assert slicer.error is None


def done_by(application: Application, notes: Notes) -> list[list[Path]]:
    """What says that a batch is done, by join, in the order of the batches."""
    folders = [Checkpoint(application.home, "early", join.stage.name).folder for join in notes.joins]
    found = [(Path(application.home) / folder / "commits").glob("[0-9]*") for folder in folders]
    return [sorted(paths, key=lambda path: int(path.name)) for paths in found]


def test_spark_goes_on_from_steps_without_it(
    application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where notes are
    feed(application, 0)

    def until_joined() -> Iterator[Callable[[RunFigures], bool]]:
        yield lambda now: any(join.left_rows for join in now.joins)

    application.stream(PQL, until_joined())
    plan = read_current(application.home, "early").plan
    found = find_notes(application.home, plan, Circumstances("local[2]", {}, str(application.index)))
    assert found is not None
    notes = read_notes(found)

    # Killed in its first batch.
    for commits in done_by(application, notes):
        if len(commits) == 1:
            commits[0].unlink()
    joins = [BatchesAlone(join) for join in notes.joins]
    for join in joins:
        assert join.possible
        join.run_next()
    for part in range(1, PARTS - 1):  # past a list of files that repeats those before it
        feed(application, part)
        slice_all(notes, application.home)
        for join in joins:
            assert join.possible
            join.run_next()
    # Killed after their rows count, and before the batch is done: it runs again.
    for commits in done_by(application, notes):
        commits[-1].unlink()
    again = [BatchesAlone(join) for join in notes.joins]
    again[0].run_next()  # the other one is left to Spark
    assert len(list((tmp_path / "out" / "_spark_metadata").glob("*.compact"))) == 1

    feed(application, PARTS - 1)
    application.run(PQL)
    db = database(l=LEFT, r=RIGHT, pairs=application.files("out"), lefts=application.category("lefts"))
    assert differences(db, "FROM pairs", join_sql("full", "l.id, r.id", ON)) == {}
    expected = join_sql("left", "l.id, r.id, l.id + 1", ON)
    assert differences(db, "SELECT l, r, more FROM lefts", expected) == {}
    assert (
        application.spark.read.parquet(str(tmp_path / "out")).count()
        == db.execute("SELECT count(*) FROM pairs").fetchall()[0][0]
    )
