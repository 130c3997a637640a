"""A running application goes on with a changed query in place: the same process, the same Spark session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commands import run_command
from dovetail.changes.versions import read_version, version_numbers
from dovetail.errors import DovetailError, StateError
from dovetail.service.cli.run import run_and_watch
from dovetail_dev.spark_cluster import until
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.test_changes import ONE, Stream

WIDER = ONE.replace("l, r, v FROM", "l, r, v + 1 AS v, l % 10 AS digit FROM")


@contextmanager
def streaming(application: Application, query: str) -> Iterator[threading.Thread]:
    stop, failed = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            application.run(query, "stream", stop=stop)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(300)
    assert not failed, failed
    assert not thread.is_alive()


def changed(application: Application, query: str, file: str = "app.pql") -> None:
    """A file of the application, started while it runs."""
    path = application.folder / file
    path.write_text(query.replace("{here}", str(application.folder)))
    run_and_watch(path, home=application.home, master="local[2]", mode="stream")


def modified(file: str) -> int:
    return Path(file).stat().st_mtime_ns


def rows(application: Application) -> int:
    if not (application.folder / "out/_spark_metadata/0").exists():
        return 0
    return sum(pq.ParquetFile(file).metadata.num_rows for file in application.files("out"))


def test_the_run_that_is_there_goes_on_with_the_changed_query(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Stream(application, 4)
    stream.feed()
    with streaming(application, ONE) as run:
        until(lambda: rows(application) > 0 or not run.is_alive(), "the first rows come out")
        changed(application, WIDER, "new.pql")
        assert run.is_alive(), "it was not replaced"
        said = capsys.readouterr().err
        assert "version 2 takes over: state kept" in said
        assert "the running changing has switched to the new query" in said
        assert read_version(application.home, "changing", 2).took_over["pairs"] > 0

        before = rows(application)
        with pytest.raises(DovetailError):
            changed(application, ONE.replace("l, r, v FROM", "l, r, element_at(v, 1) AS v FROM"), "new.pql")
        with pytest.raises(StateError, match="would change what others have changed"):
            changed(application, ONE)  # as whoever looks after the first run would start it again
        assert version_numbers(application.home, "changing") == [1, 2]
        stream.feed()
        until(lambda: rows(application) > before or not run.is_alive(), "the query before it goes on")
        assert run.is_alive()

        assert run_command("rollback", "changing", "--home", application.home, "--master", "local[2]") == 0
        assert run.is_alive(), "it was not replaced"
        assert "the running changing has switched to the new query" in capsys.readouterr().err
        back = read_version(application.home, "changing", 3)
        assert (back.parent, back.origin) == (2, None)
        assert back.text == read_version(application.home, "changing", 1).text
        before = rows(application)
        stream.feed()
        until(lambda: rows(application) > before or not run.is_alive(), "the query that was there first")
        assert run.is_alive()
    stream.feed()
    application.run(ONE, "drain")
    assert version_numbers(application.home, "changing") == [1, 2, 3]
    old = [
        file for file in application.files("out") if "digit" not in pq.ParquetFile(file).schema_arrow.names
    ]
    new = [file for file in application.files("out") if file not in old]
    assert old
    assert new
    assert "digit" not in pq.ParquetFile(max(application.files("out"), key=modified)).schema_arrow.names
    db = database(l=stream.sides["l"], r=stream.sides["r"], old=old, new=new)
    together = "SELECT l, r, v FROM old UNION ALL SELECT l, r, v - 1 FROM new"
    assert differences(db, together, join_sql("left", "l.id, r.id, COALESCE(r.v, 0)", ON)) == {}
