"""Two whole applications, each a process of its own, write one table at the same time: the rows of both are
there, each once."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from deltalake import DeltaTable

from dovetail_dev.postgres_server import postgres_server
from dovetail_dev.spark_cluster import until
from laws.effort import in_full
from spark.batch import ON, database, differences, join_sql
from spark.command_line import run
from spark.events import events, write_files
from spark.pairs import pairs
from spark.running import running
from unit.connectors.places import DeltaPlace, PostgresPlace

ROWS, PARTS = 2_000, 4
NAMES = ("one", "two")


@in_full
def test_one_table_of_two_applications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = {
        name: (events(ROWS, 200, 2 * number), events(ROWS, 200, 2 * number + 1))
        for number, name in enumerate(NAMES, 5)
    }

    def feed(part: int) -> None:
        for name, sides in streams.items():
            for side, rows in zip("lr", sides, strict=True):
                some = rows.slice(part * ROWS // PARTS, ROWS // PARTS)
                write_files(some, tmp_path / name / side, 1, first=part)

    with postgres_server() as server, ExitStack() as runs:
        monkeypatch.setenv("THE_SERVER", server.uri)
        place, delta = PostgresPlace(server), DeltaPlace(tmp_path)
        for name in NAMES:
            (tmp_path / name).mkdir()
            text = pairs("LEFT", select=f"'{name}' AS app, l.id AS l, r.id AS r", storage="NOOP")
            text = text.replace("{here}", str(tmp_path / name)).replace("ION app", f"ION {name}")
            tables = f"""
                CREATE TABLE lake AS SELECT * FROM pairs STORAGE DELTA(path = "{tmp_path}/delta");
                CREATE TABLE base AS SELECT * FROM pairs
                    STORAGE POSTGRES(connection = SECRET("THE_SERVER"), table = "{place.options["table"]}");
            """
            (tmp_path / name / "app.pql").write_text(text[: text.index("CREATE TABLE")] + tables)

        def writers() -> set[str]:
            there = (tmp_path / "delta" / "_delta_log").exists()
            return set(delta.rows()["app"].to_pylist()) if there else set()

        feed(0)
        home = "--home", str(tmp_path / "home"), "--master", "local[1]"
        for name in NAMES:
            runs.enter_context(running("run", "app.pql", *home, folder=tmp_path / name))
        until(lambda: writers() == set(NAMES), "rows of both")
        for part in range(1, PARTS):
            version = DeltaTable(tmp_path / "delta").version()
            feed(part)
            until(lambda version=version: DeltaTable(tmp_path / "delta").version() > version, "more rows")
        runs.close()
        for name in NAMES:
            done = run("run", "app.pql", "--drain", *home, folder=tmp_path / name)
            assert done.returncode == 0, done.stdout + done.stderr
        for found in (delta.rows(), place.rows()):
            for name, (left, right) in streams.items():
                db = database(l=left, r=right, found=found)
                of_one = f"SELECT l, r FROM found WHERE app = '{name}'"
                assert differences(db, of_one, join_sql("left", "l.id, r.id", ON)) == {}
