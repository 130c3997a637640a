"""From topics to a topic, while the run and the broker are killed: every row comes out once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.test_kafka_in import TABLES, pql, write
from connectors.topics import Topics
from dovetail.log.category import Category, list_categories
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import until
from laws.effort import THOROUGH
from spark.batch import ON, database, differences, join_sql
from spark.command_line import command, environment
from spark.events import events

ROWS = 1500
KILLED_AT = ("sink.written:8", "sink.committed:5") if THOROUGH else ("sink.written:8",)
PAIRS = """
    CREATE TABLE pairs AS SELECT l.id AS l, r.id AS r, r.v AS v FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (max_delay = INTERVAL '1 day', max_step_rows = 400)
    STORAGE KAFKA(topic = "{out}", brokers = "{brokers}", key = l, delivery = "exactly once");
"""


def start(folder: Path, mode: str, crash: str = "") -> subprocess.Popen[bytes]:
    arguments = "run", "app.pql", mode, "--home", "home", "--master", "local[2]", "--index-dir", "index"
    with open(folder / "said", "ab") as said:
        return subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment() | ({"DOVETAIL_CRASH": crash} if crash else {}),
            stdout=said,
            stderr=subprocess.STDOUT,
        )


def differing(topics: Topics, out: str, left: pa.Table, right: pa.Table) -> object:
    """What DuckDB's join of the same rows and the topic do not share."""
    found = [json.loads(value) for _, value in topics.read(out) if value is not None]
    schema = pa.schema([("l", pa.int64()), ("r", pa.int64()), ("v", pa.int32())])
    db = database(l=left, r=right, pairs=pa.Table.from_pylist(found, schema))
    return differences(db, "FROM pairs", join_sql("full", "l.id, r.id, r.v", ON))


def taken(folder: Path) -> int:
    """Rows of both topics that are in the log."""
    home = str(folder / "home")
    found = 0
    for name in {"from_kafka.l", "from_kafka.r"} & set(list_categories(home)):
        category = Category.open(home, name)
        stop = category.next_commit()
        found += category.commit(stop - 1).next_row if stop else 0
    return found


def test_every_row_comes_out_once(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = Broker(tmp_path_factory.mktemp("mortal"))
    broker.start()
    topics = Topics(broker.address, "through")
    names = topics.make("l", 3), topics.make("r", 2)
    out = topics.make("out", 4)
    (tmp_path / "index").mkdir()
    (tmp_path / "app.pql").write_text(pql(TABLES + PAIRS.replace("{out}", out), topics, *names))
    left, right = events(ROWS, 300, seed=1), events(ROWS, 300, seed=2)
    third = ROWS // 3
    try:
        for part, crash in enumerate(KILLED_AT):
            for topic, rows in zip(names, (left, right), strict=True):
                write(topics, topic, rows.slice(part * third, third))
            run = start(tmp_path, "--available-now", crash)
            assert run.wait(600) == -9, (tmp_path / "said").read_text()
        for topic, rows in zip(names, (left, right), strict=True):
            write(topics, topic, rows.slice(len(KILLED_AT) * third))
        before = taken(tmp_path)
        run = start(tmp_path, "--drain")
        until(lambda: run.poll() is not None or taken(tmp_path) > before, "rows of the topics in the log")
        broker.kill()
        broker.start()
        assert run.wait(600) == 0, (tmp_path / "said").read_text()
        assert taken(tmp_path) == 2 * ROWS
        assert differing(topics, out, left, right) == {}
    finally:
        broker.kill()
