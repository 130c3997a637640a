"""One application between all kinds of places: a topic and tables of two lakes come in, and joins go to a
topic, to files of each format, to both lakes, to tables of Hive and to a database. It runs live on two
workers, is scaled down and up, goes on with what is there, changes where one of its tables goes, and is
drained. One topic is an input of two joins, and one join is an input of another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connectors.test_kafka_in import write
from connectors.topics import Topics
from dovetail.engine.step_log import StepLog
from dovetail.service.scaling import joins_of, scale_application
from dovetail_dev.hive_metastore import hive_metastore
from dovetail_dev.postgres_server import postgres_server
from dovetail_dev.spark_cluster import SETTINGS, standalone_cluster, until
from laws.effort import in_full
from spark.application import committed_files
from spark.batch import database, differences
from spark.command_line import run
from spark.events import events
from spark.running import running
from unit.connectors.places import HivePlace, PostgresPlace

ROWS, PARTS = 2_000, 5
STREAMS = {name: events(ROWS, 200, seed) for name, seed in (("l", 1), ("r", 2), ("x", 3))}
BETWEEN = "BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'"
PQL = """
    CREATE APPLICATION everywhere;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM KAFKA("{topic}", brokers = "{brokers}", format = "json", times = "microseconds");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT) FROM DELTA("{here}/r");
    CREATE INPUT TABLE x (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM ICEBERG("web.x", uri = "sqlite:///{here}/catalog.db", warehouse = "{here}/lake");
    CREATE VIEW one AS SELECT l.eventtime AS eventtime, l.k AS k, l.id AS l, r.id AS r
        FROM l LEFT JOIN r ON l.k = r.k AND r.eventtime {between} WITH (max_delay = INTERVAL '1 day');
    CREATE VIEW two AS SELECT l.id AS l, x.id AS x
        FROM l LEFT JOIN x ON l.k = x.k AND x.eventtime {between} WITH (max_delay = INTERVAL '1 day');
    CREATE VIEW chain AS SELECT o.l AS l, o.r AS r, x.id AS x
        FROM one o LEFT JOIN x ON o.k = x.k AND x.eventtime BETWEEN o.eventtime
        AND o.eventtime + INTERVAL '1 minute' WITH (max_delay = INTERVAL '1 day');
    CREATE TABLE ones AS SELECT l, r FROM one STORAGE {first};
    CREATE TABLE twos AS SELECT * FROM two STORAGE PARQUET(path = "{here}/twos");
    CREATE TABLE same AS SELECT * FROM two
        STORAGE POSTGRES(connection = SECRET("THE_SERVER"), table = "{table}");
    CREATE TABLE by_java AS SELECT * FROM two STORAGE JDBC(url = SECRET("ITS_URL"), table = "{other}");
    CREATE TABLE lines AS SELECT l, r FROM one STORAGE JSON(path = "{here}/lines");
    CREATE TABLE texts AS SELECT * FROM two STORAGE CSV(path = "{here}/texts");
    CREATE TABLE delta AS SELECT * FROM chain STORAGE DELTA(path = "{here}/delta");
    CREATE TABLE hive AS SELECT * FROM chain
        STORAGE HIVE(table = "{hive}", uri = "{metastore}", path = "{here}/hive");
    CREATE TABLE chained AS SELECT * FROM chain STORAGE ICEBERG(table = "results.pairs",
        uri = "sqlite:///{here}/results.catalog", warehouse = "{here}/results");
"""
BATCH = {
    "one": f"SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k AND r.eventtime {BETWEEN}",
    "two": f"SELECT l.id AS l, x.id AS x FROM l LEFT JOIN x ON l.k = x.k AND x.eventtime {BETWEEN}",
    "chained": f"""SELECT o.l AS l, o.r AS r, x.id AS x FROM (
        SELECT l.eventtime, l.k, l.id AS l, r.id AS r FROM l LEFT JOIN r
        ON l.k = r.k AND r.eventtime {BETWEEN}) o
        LEFT JOIN x ON o.k = x.k AND x.eventtime BETWEEN o.eventtime AND o.eventtime + INTERVAL '1 minute'""",
}


def part_of(name: str, number: int) -> pa.Table:
    return STREAMS[name].slice(number * ROWS // PARTS, ROWS // PARTS)


@in_full
def test_all_places_in_all_modes(tmp_path: Path, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, out = topics.make("l", 3), topics.make("out", 2)
    home = str(tmp_path / "home")
    for folder in ("lake", "results"):
        (tmp_path / folder).mkdir()

    def feed(number: int) -> None:
        write(topics, topic, part_of("l", number))
        write_deltalake(str(tmp_path / "r"), part_of("r", number), mode="append")
        catalog = catalog_of(tmp_path / "catalog.db", warehouse=f"file://{tmp_path}/lake")
        catalog.create_namespace_if_not_exists("web")
        catalog.create_table_if_not_exists("web.x", STREAMS["x"].schema).append(part_of("x", number))

    def asked(first: str) -> None:
        text = PQL.replace("{first}", first).replace("{between}", BETWEEN)
        for name, value in {
            "topic": topic,
            "brokers": topics.address,
            "here": tmp_path,
            "table": place.options["table"],
            "other": other.options["table"],
            "hive": hive.options["table"],
            "metastore": hive.options["uri"],
        }.items():
            text = text.replace(f"{{{name}}}", str(value))
        (tmp_path / "app.pql").write_text(text)

    def tasks() -> int:
        joins = joins_of(home, "everywhere")
        return min(StepLog(home, join.state_path).recent(1)[-1].tasks for join in joins)

    def rows_out() -> int:
        return sum(topics.ends(out).values())

    def go_on(mode: str) -> None:
        done = run("run", "app.pql", "--home", home, mode, "--master", "local[2]", folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr

    into_topic = f'KAFKA(topic = "{out}", brokers = "{topics.address}", key = l)'
    (tmp_path / "metastore").mkdir()
    with postgres_server() as server, hive_metastore(tmp_path / "metastore") as metastore:
        place, other, hive = PostgresPlace(server), PostgresPlace(server), HivePlace(tmp_path, metastore)
        monkeypatch.setenv("THE_SERVER", server.uri)
        monkeypatch.setenv("ITS_URL", f"jdbc:{server.uri}")
        asked(into_topic)
        feed(0)
        with standalone_cluster(tmp_path / "cluster") as cluster:
            where = "--home", home, "--master", cluster.address
            with running("run", "app.pql", *where, *SETTINGS, folder=tmp_path) as process:
                until(lambda: process.poll() is not None or rows_out(), "rows of a run on two workers")
                assert process.poll() is None, (tmp_path / "said").read_text()
                for number, wanted in ((1, 1), (2, 2)):
                    before = rows_out()
                    scale_application(home, "everywhere", str(wanted))
                    feed(number)
                    until(lambda before=before: rows_out() > before, "rows after a rescale")
                    until(lambda wanted=wanted: tasks() == wanted, f"{wanted} tasks")
        feed(3)
        go_on("--available-now")
        asked('DELTA(path = "{here}/moved")')
        feed(4)
        go_on("--drain")
        check(tmp_path, topics, out, {"same": place.rows(), "by_java": other.rows(), "hive": hive.rows()})


def check(here: Path, topics: Topics, out: str, served: Mapping[str, pa.Table]) -> None:
    pairs = pa.schema([("l", pa.int64()), ("r", pa.int64())])
    records = [json.loads(value) for _, value in topics.read(out) if value is not None]
    db = database(
        **STREAMS,
        before=pa.Table.from_pylist(records, pairs),
        after=DeltaTable(here / "moved").to_pyarrow_table(),
        twos=committed_files(here / "twos"),
        delta=DeltaTable(here / "delta").to_pyarrow_table(),
        **served,
        chained=catalog_of(here / "results.catalog").load_table("results.pairs").scan().to_arrow(),
    )
    assert differences(db, "SELECT l, r FROM before UNION ALL SELECT l, r FROM after", BATCH["one"]) == {}
    lines, texts = committed_files(here / "lines"), committed_files(here / "texts")
    as_lines = "format = 'newline_delimited', columns = {l: 'BIGINT', r: 'BIGINT'}"
    as_texts = "header = true, columns = {l: 'BIGINT', x: 'BIGINT'}"
    assert differences(db, f"FROM read_json({lines}, {as_lines})", BATCH["one"]) == {}
    assert differences(db, f"FROM read_csv({texts}, {as_texts})", BATCH["two"]) == {}
    for table in ("twos", "same", "by_java"):
        assert differences(db, f"SELECT l, x FROM {table}", BATCH["two"]) == {}
    for table in ("chained", "delta", "hive"):
        assert differences(db, f"SELECT l, r, x FROM {table}", BATCH["chained"]) == {}


def catalog_of(file: Path, **there: str) -> Any:
    from pyiceberg.catalog import load_catalog

    return load_catalog("dovetail", type="sql", uri=f"sqlite:///{file}", **there)
