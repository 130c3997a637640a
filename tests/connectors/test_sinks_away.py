"""A database and the brokers of a topic are away for a minute, under a run that writes to both: it goes on by
itself, and every row comes out once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.topics import Topics
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.postgres_server import postgres_server
from dovetail_dev.spark_cluster import until
from laws.effort import in_full
from spark.batch import ON, database, differences, join_sql
from spark.command_line import run
from spark.events import events, write_files
from spark.pairs import pairs
from spark.running import running
from unit.connectors.places import PostgresPlace

ROWS, PARTS, AWAY_S = 2_000, 4, 60.0
TABLES = """
    CREATE TABLE sent AS SELECT * FROM pairs STORAGE KAFKA(topic = "{topic}", brokers = "{brokers}", key = l);
    CREATE TABLE kept AS SELECT * FROM pairs
        STORAGE POSTGRES(connection = SECRET("THE_SERVER"), table = "{table}");
"""


@in_full
def test_a_minute_without_sinks(tmp_path: Path, mortal: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = events(ROWS, 200, 1), events(ROWS, 200, 2)

    def feed(part: int) -> None:
        for side, rows in (("l", left), ("r", right)):
            write_files(rows.slice(part * ROWS // PARTS, ROWS // PARTS), tmp_path / side, 1, first=part)

    with postgres_server() as server:
        monkeypatch.setenv("THE_SERVER", server.uri)
        topics, place = Topics(mortal.address, "away"), PostgresPlace(server)
        topic = topics.make("out", 2)
        text = pairs("LEFT", storage="NOOP").replace("{here}", str(tmp_path))
        given = {"topic": topic, "brokers": mortal.address, "table": place.options["table"]}
        (tmp_path / "app.pql").write_text(text[: text.index("CREATE TABLE")] + TABLES.format(**given))
        home = "--home", str(tmp_path / "home"), "--master", "local[2]"

        def sent() -> int:
            return sum(topics.ends(topic).values())

        feed(0)
        with running("run", "app.pql", *home, folder=tmp_path) as process:
            until(sent, "rows in the topic")
            until(lambda: _there(place), "rows in the table")
            server.kill()
            mortal.kill()
            feed(1)
            back_s = time.monotonic() + AWAY_S
            until(lambda: time.monotonic() > back_s, "a minute")
            assert process.poll() is None, "it waits for its sinks"
            server.start()
            mortal.start()
            before = sent(), _there(place)
            feed(2)
            until(lambda: sent() > before[0], "more rows in the topic")
            until(lambda: _there(place) > before[1], "more rows in the table")
        feed(3)
        done = run("run", "app.pql", "--drain", *home, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        values = [json.loads(value) for _, value in topics.read(topic) if value is not None]
        schema = pa.schema([("l", pa.int64()), ("r", pa.int64())])
        for found in (pa.Table.from_pylist(values, schema), place.rows()):
            db = database(l=left, r=right, found=found)
            assert differences(db, "SELECT l, r FROM found", join_sql("left", "l.id, r.id", ON)) == {}


def _there(place: PostgresPlace) -> int:
    """How many rows the table has, once it is there."""
    tables = place.ask(f"SELECT 1 FROM pg_tables WHERE tablename = '{place.options['table']}'")
    return place.rows().num_rows if tables.num_rows else 0
