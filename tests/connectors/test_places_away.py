"""A database and the brokers of two topics are away for a minute, under a run that reads one topic and writes
to the other and to the database: it goes on by itself, no row is late, and every row comes out once."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.test_kafka_in import plain, write
from connectors.topics import Topics
from dovetail.log.category import Category
from dovetail.log.source_progress import SourceReport, read_reports
from dovetail.service.metrics import measured
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.postgres_server import postgres_server
from dovetail_dev.spark_cluster import until
from laws.effort import in_full
from spark.batch import ON, database, differences, join_sql
from spark.command_line import run
from spark.events import events, write_files
from spark.running import running
from unit.connectors.places import PostgresPlace

ROWS, PARTS, AWAY_S = 2_000, 4, 60.0
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM KAFKA("{source}", brokers = "{brokers}", format = "json", times = "microseconds");
    CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON {on}
        WITH (idle_timeout = INTERVAL '30 seconds');
    CREATE TABLE sent AS SELECT * FROM pairs STORAGE KAFKA(topic = "{topic}", brokers = "{brokers}", key = l);
    CREATE TABLE kept AS SELECT * FROM pairs
        STORAGE POSTGRES(connection = SECRET("THE_SERVER"), table = "{table}");
"""


@in_full
def test_a_minute_without_source_and_sinks(
    tmp_path: Path, mortal: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile the files get far ahead of the topic. If it counted as idle, which takes half a minute, its
    next rows would be late. Its writer goes on with what has waited as soon as the brokers are back."""
    left, right = events(ROWS, 200, 1), events(ROWS, 200, 2)
    home = str(tmp_path / "home")

    def part_of(rows: pa.Table, part: int) -> pa.Table:
        return rows.slice(part * ROWS // PARTS, ROWS // PARTS)

    with postgres_server() as server:
        monkeypatch.setenv("THE_SERVER", server.uri)
        topics, place = Topics(mortal.address, "away"), PostgresPlace(server)
        source, topic = topics.make("in"), topics.make("out", 2)
        given = {"source": source, "topic": topic, "table": place.options["table"]}
        text = PQL.format(**given, brokers=mortal.address, here=tmp_path, on=ON)
        (tmp_path / "app.pql").write_text(text)
        where = "--home", home, "--master", "local[2]"

        def sent() -> int:
            return sum(topics.ends(topic).values())

        write_files(part_of(right, 0), tmp_path / "r", 1)
        write(topics, source, part_of(left, 0))
        with running("run", "app.pql", *where, folder=tmp_path) as process:
            until(sent, "rows in the topic")
            until(lambda: _there(place), "rows in the table")
            with topics.writing(source, partition=0) as send:
                server.kill()
                mortal.kill()
                back_s = time.monotonic() + AWAY_S
                for row in plain(part_of(left, 1)):
                    send(row)
                for part in range(1, PARTS):
                    write_files(part_of(right, part), tmp_path / "r", 1, first=part)
                until(lambda: time.monotonic() > back_s, "a minute")
                assert process.poll() is None, "it waits for its source and its sinks"
                assert "waiting for brokers" in (_of_topic(home).trouble or "")
                server.start()
                mortal.start()
            before = sent(), _there(place)
            write(topics, source, part_of(left, 2))
            until(lambda: sent() > before[0], "more rows in the topic")
            until(lambda: _there(place) > before[1], "more rows in the table")
        write(topics, source, part_of(left, 3))
        done = run("run", "app.pql", "--drain", *where, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [stream.late for stream in measured(home, "app").joins[0].measure.streams] == [0, 0]
        values = [json.loads(value) for _, value in topics.read(topic) if value is not None]
        schema = pa.schema([("l", pa.int64()), ("r", pa.int64())])
        for found in (pa.Table.from_pylist(values, schema), place.rows()):
            db = database(l=left, r=right, found=found)
            assert differences(db, "SELECT l, r FROM found", join_sql("left", "l.id, r.id", ON)) == {}


def _of_topic(home: str) -> SourceReport:
    (report,) = read_reports(Category.open(home, "app.l"))
    return report


def _there(place: PostgresPlace) -> int:
    """How many rows the table has, once it is there."""
    tables = place.ask(f"SELECT 1 FROM pg_tables WHERE tablename = '{place.options['table']}'")
    return place.rows().num_rows if tables.num_rows else 0
