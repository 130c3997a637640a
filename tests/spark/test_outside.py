"""Rows of joins in places outside: every kind of sink, through failures and a change of the query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.connectors.sinks.postgres import PostgresSink
from dovetail.errors import DovetailError, PlaceError, Unreachable
from dovetail.service.figures import RunFigures
from postgres import PASSWORD, Postgres, postgres_server
from spark.application import Application
from spark.batch import ON, Database, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs
from unit.connectors.places import DeltaPlace, DuckdbPlace, IcebergPlace, PostgresPlace

ROWS = 2000
LEFT, RIGHT = events(ROWS, 200, 71), events(ROWS, 200, 72)
EXPECTED = join_sql("left", "l.id, r.id", ON)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres_server() as running:
        yield running


def feed(application: Application, part: int) -> None:
    for name, table in (("l", LEFT), ("r", RIGHT)):
        write_files(table.slice(part * ROWS // 2, ROWS // 2), application.folder / name, 1, first=part)


def tables(select: str, postgres: PostgresPlace, iceberg: IcebergPlace) -> str:
    """One join, and a table in every place."""
    places = {
        "p": f'POSTGRES(connection = SECRET("THE_SERVER"), table = "{postgres.options["table"]}")',
        "u": 'POSTGRES(connection = SECRET("THE_SERVER"), table = "upserted", key = (l, r))',
        "d": 'DUCKDB(path = "{here}/results.db", table = "pairs")',
        "e": 'DELTA(path = "{here}/delta", merge_every = 2) PARTITIONED BY (part)',
        "i": f'ICEBERG(table = "results.pairs", uri = "{iceberg.options["uri"]}", '
        f'warehouse = "{iceberg.options["warehouse"]}") PARTITIONED BY (part)',
        "c": 'CSV(path = "{here}/csv") PARTITIONED BY (part)',
    }
    text = pairs("LEFT", select="l.id AS l, r.id AS r, CAST(l.id % 3 AS INT) AS part", storage="NOOP")
    text = text[: text.index("CREATE TABLE")]
    return text + "".join(
        f"CREATE TABLE {name} AS SELECT {select} FROM pairs {'WHERE r >= 0' if name == 'u' else ''} "
        f"STORAGE {place};\n"
        for name, place in places.items()
    )


def test_one_join_into_every_place(
    application: Application, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the rows, then all of them under a query with one more column."""
    monkeypatch.setenv("THE_SERVER", server.uri)
    here = application.folder
    postgres, iceberg = PostgresPlace(server), IcebergPlace(here)
    feed(application, 0)
    application.run(tables("l, r, part", postgres, iceberg), "available-now")
    feed(application, 1)
    application.run(tables("l, r, part, l + 1 AS next", postgres, iceberg))
    found = {
        "p": postgres.rows(),
        "u": postgres.ask("SELECT * FROM upserted"),
        "d": DuckdbPlace(here).rows(),
        "e": DeltaPlace(here).rows(),
        "i": iceberg.rows(),
    }
    db = database(l=LEFT, r=RIGHT, **found)
    for name in found:
        expected = f"{EXPECTED} WHERE r.id >= 0" if name == "u" else EXPECTED
        assert differences(db, f"SELECT l, r FROM {name}", expected) == {}, name
        wrong = db.execute(f"SELECT count(*) FROM {name} WHERE part <> l % 3 OR next <> l + 1").fetchall()
        assert wrong == [(0,)]
        assert db.execute(f"SELECT count(next) FROM {name}").fetchall()[0][0] > 0, name
    csv = application.spark.read.csv(str(here / "csv"), header=True)
    assert csv.count() == db.execute(f"SELECT count(*) FROM ({EXPECTED})").fetchall()[0][0]
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
