"""Rows of joins in places outside: every kind of sink, through failures and a change of the query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import csv

from dovetail.connectors.sinks.hive import HiveSink, Noted
from dovetail.connectors.sinks.postgres import PostgresSink
from dovetail.connectors.table_folder import TableFolder
from dovetail.errors import DovetailError, PlaceError, Unreachable
from dovetail.plan.application_file import read_current
from dovetail.service.checkout import checkout_root
from dovetail.service.figures import RunFigures
from dovetail_dev.hive_metastore import HiveMetastore, hive_metastore
from dovetail_dev.postgres_server import PASSWORD, Postgres, postgres_server
from spark.application import Application
from spark.batch import ON, Database, add, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs
from spark.test_every_change import killed_in
from unit.connectors.places import DeltaPlace, DuckdbPlace, HivePlace, IcebergPlace, PostgresPlace

ROWS = 2000
LEFT, RIGHT = events(ROWS, 200, 71), events(ROWS, 200, 72)
EXPECTED = join_sql("left", "l.id, r.id", ON)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres_server() as running:
        yield running


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with hive_metastore(tmp_path_factory.mktemp("metastore")) as running:
        yield running


def feed(application: Application, part: int) -> None:
    for name, table in (("l", LEFT), ("r", RIGHT)):
        write_files(table.slice(part * ROWS // 2, ROWS // 2), application.folder / name, 1, first=part)


def tables(select: str, metastore: HiveMetastore, server: Postgres) -> str:
    """The tables of the page about databases and lakes, over one join, with more or fewer columns."""
    page = (checkout_root() / "docs/how-to/databases-and-lakes.md").read_text()
    blocks = [block.split("```")[0] for block in page.split("```sql\n")[1:]]
    (by_address,) = (block for block in blocks if "STORAGE JDBC" in block)
    shown = (blocks[0] + by_address).replace("SELECT *", f"SELECT {select}")
    there = urlsplit(server.uri)
    assert "host:5432/results" in shown
    shown = shown.replace("host:5432/results", f"{there.hostname}:{there.port}{there.path}")
    shown = shown.replace('"dovetail"', f'"{there.username}"')
    for place in ("results.db", "delta", "catalog.db", "lake", "hive", "csv"):
        shown = shown.replace(f'"{place}"', f'"{{here}}/{place}"').replace(
            f"///{place}", f"///{{here}}/{place}"
        )
    assert "thrift://host:9083" in shown
    shown = shown.replace("thrift://host:9083", metastore.uri)
    text = pairs("LEFT", select="l.id AS l, r.id AS r, CAST(l.id % 3 AS INT) AS part", storage="NOOP")
    return text[: text.index("CREATE TABLE")] + shown


def test_one_join_into_every_place(
    application: Application, server: Postgres, metastore: HiveMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the rows, then all of them under a query with one more column and one table elsewhere. The run
    that makes the change is killed when the new query counts and nothing of it has begun, and the next one
    while it writes the first rows: some places have them then, and others have not."""
    monkeypatch.setenv("THE_SERVER", server.uri)
    monkeypatch.setenv("THE_PASSWORD", PASSWORD)
    here = application.folder
    postgres, hive = PostgresPlace(server), HivePlace(here, metastore)
    hive.options["table"] = "results.pairs"
    feed(application, 0)
    application.run(tables("l, r, part", metastore, server), "available-now")
    feed(application, 1)
    changed = tables("l, r, part, l + 1 AS next", metastore, server)
    moved = changed.replace(
        'CSV (path = "{here}/csv", merge_every = 100) PARTITIONED BY (part)', 'DELTA (path = "{here}/moved")'
    )
    assert moved != changed
    killed_in(application, moved, "application.named", [])
    assert read_current(application.home, "app").version == 2
    killed_in(application, moved, "sink.written:5", [])  # the slicers of both sides have been there before
    application.run(moved)
    found = {
        "postgres": postgres.ask("SELECT * FROM pairs"),
        "latest": postgres.ask("SELECT * FROM latest"),
        "by_address": postgres.ask("SELECT * FROM by_address"),
        "duckdb": DuckdbPlace(here).rows(),
        "delta": DeltaPlace(here).rows(),
        "iceberg": IcebergPlace(here).rows(),
        "hive": hive.rows(),
    }
    db = database(l=LEFT, r=RIGHT, **found)
    for name in found:
        expected = f"{EXPECTED} WHERE r.id >= 0" if name == "latest" else EXPECTED
        assert differences(db, f"SELECT l, r FROM {name}", expected) == {}, name
        wrong = db.execute(f"SELECT count(*) FROM {name} WHERE part <> l % 3 OR next <> l + 1").fetchall()
        assert wrong == [(0,)]
        assert db.execute(f"SELECT count(next) FROM {name}").fetchall()[0][0] > 0, name
    assert hive.partitions() == ["part=0", "part=1", "part=2"]
    whole = csv.ConvertOptions(column_types={"l": pa.int64(), "r": pa.int64()}, include_columns=["l", "r"])
    before = [csv.read_csv(file, convert_options=whole) for file in application.files("csv")]
    add(db, "before", pa.concat_tables(before))
    add(db, "after", DeltaTable(here / "moved").to_pyarrow_table(columns=["l", "r"]))
    assert differences(db, "FROM before UNION ALL FROM after", EXPECTED) == {}, "what is not there is here"
    written = [path.read_bytes() for path in Path(application.home).rglob("*") if path.is_file()]
    assert not any(PASSWORD.replace(" ", "%20").encode() in text for text in written), (
        "a secret is in the home"
    )
    assert any(b"THE_SERVER" in text for text in written)


def test_a_server_that_is_away_and_a_join_that_writes_by_itself(
    application: Application, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes down between the tasks and the commit, and comes back while the run waits. Its table in
    between was not logged: what tasks had written is gone."""
    monkeypatch.setenv("THE_SERVER", server.uri)
    place = PostgresPlace(server)
    query = pairs(
        "LEFT",
        "max_step_rows = 500",
        storage=f"""
        POSTGRES(connection = SECRET("THE_SERVER"), table = "{place.options["table"]}")""",
    )
    commit, seen = PostgresSink.commit, []

    def goes_away(sink: PostgresSink, batch: int, written: object) -> None:
        if not seen:
            seen.append("away")
            server.stop("immediate")
        commit(sink, batch, written)  # type: ignore[arg-type]

    def look(now: RunFigures) -> None:
        if "PostgreSQL cannot be reached" in now.waiting and seen == ["away"]:
            seen.append(now.waiting)
            server.start()

    for part in (0, 1):
        feed(application, part)
    with monkeypatch.context() as patch:
        patch.setattr(PostgresSink, "commit", goes_away)
        application.run(query, on_figures=look)
    assert len(seen) == 2, "it waited, and said for what"
    db: Database = database(l=LEFT, r=RIGHT, found=place.rows())
    assert differences(db, "FROM found", EXPECTED) == {}


def test_a_metastore_that_dies_in_the_middle_of_a_commit(
    application: Application, metastore: HiveMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch counts, and its files are not moved yet. The run waits, and finishes it first."""
    place = HivePlace(application.folder, metastore)
    given = ", ".join(f'{name} = "{value}"' for name, value in place.options.items())
    query = pairs(
        "LEFT",
        "max_step_rows = 500",
        select="l.id AS l, r.id AS r, CAST(l.id % 3 AS INT) AS part",
        storage=f"HIVE({given}) PARTITIONED BY (part)",
    )
    roll_forward, seen = HiveSink.roll_forward, []

    def dies(sink: HiveSink, client: object, table: object, folder: TableFolder, noted: Noted) -> None:
        if noted.parts and not seen:
            seen.append("dead")
            metastore.kill()
        roll_forward(sink, client, table, folder, noted)

    def look(now: RunFigures) -> None:
        if "the metastore of Hive table" in now.waiting and seen == ["dead"]:
            seen.append(now.waiting)
            metastore.start()

    for part in (0, 1):
        feed(application, part)
    with monkeypatch.context() as patch:
        patch.setattr(HiveSink, "roll_forward", dies)
        application.run(query, on_figures=look)
    assert len(seen) == 2, "it waited, and said for what"
    db = database(l=LEFT, r=RIGHT, found=place.rows())
    assert differences(db, "SELECT l, r FROM found", EXPECTED) == {}


def test_what_is_wrong_is_said_before_anything_starts(
    application: Application, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed(application, 0)
    query = pairs("LEFT", storage='POSTGRES(connection = SECRET("THE_SERVER"), table = "refused")')
    with pytest.raises(DovetailError, match=r'SECRET\("THE_SERVER"\) is not set'):
        application.run(query)
    for connection, kind, says in (
        (server.uri.replace(str(server.port), "1"), Unreachable, "cannot be reached"),
        (server.uri.replace("wholly", "hardly"), PlaceError, "password authentication failed"),
        ("a wholly secret connection", PlaceError, "refuses"),
    ):
        monkeypatch.setenv("THE_SERVER", connection)
        with pytest.raises(kind) as said:
            application.run(query)
        assert says in str(said.value)
        assert "secret" not in str(said.value).replace("STORAGE", "")
    assert not any(Path(application.home).glob("log/*/commits/[0-9]*")), "nothing was sliced"
