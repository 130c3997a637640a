"""Kafka topics as inputs of applications on Spark."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from connectors.topics import Topics
from dovetail.connectors.kafka_client import Cluster
from dovetail.errors import InputError
from dovetail.kafka import first_records
from dovetail.kafka.topic import Topic
from dovetail.log.category import Category
from dovetail.log.source_progress import read_reports
from dovetail.service.checkout import checkout_root
from dovetail.service.figures import RunFigures
from dovetail.service.metrics import measured
from dovetail.service.words.status_words import source_words
from dovetail_dev.kafka_broker import Broker
from spark.application import Application
from spark.batch import ON, count, database, differences, join_sql
from spark.events import events

ROWS = 3000
TABLES = """
    CREATE APPLICATION from_kafka;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM KAFKA("{l}", brokers = "{brokers}", format = "json", times = "microseconds");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM KAFKA("{r}", brokers = "{brokers}", format = "json", times = "microseconds");
"""
PAIRS = """
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, r.v AS v FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (max_delay = INTERVAL '1 day');
    CREATE TABLE pair_rows AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/pairs");
"""


def pql(text: str, topics: Topics, left: str, right: str) -> str:
    return text.replace("{brokers}", topics.address).replace("{l}", left).replace("{r}", right)


def plain(rows: pa.Table) -> list[dict[str, Any]]:
    """With microseconds for times."""
    return rows.set_column(0, "eventtime", rows.column("eventtime").cast(pa.int64())).to_pylist()


def write(topics: Topics, topic: str, rows: pa.Table, *, partition: int | None = None) -> None:
    topics.write(topic, plain(rows), partition=partition)


def test_a_join_of_two_topics_over_two_runs(application: Application, topics: Topics) -> None:
    left, right = events(ROWS, 500, seed=1), events(ROWS, 500, seed=2)
    names = topics.make("l", 3), topics.make("r", 2)
    query = pql(TABLES + PAIRS, topics, *names)
    for run in (0, 1):
        for topic, rows in zip(names, (left, right), strict=True):
            write(topics, topic, rows.slice(run * ROWS // 2, ROWS // 2))
        application.run(query, "available-now" if run == 0 else "drain")
    db = database(l=left, r=right, pairs=application.files("pairs"))
    expected = join_sql("full", "l.id, r.id, r.v", ON)
    assert count(db, expected) > ROWS // 2
    assert differences(db, "FROM pairs", expected) == {}


def test_the_example_of_the_page(application: Application, topics: Topics) -> None:
    page = (checkout_root() / "docs/how-to/kafka.md").read_text(encoding="utf-8")
    found_blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    blocks = dict(reversed(found_blocks))
    views, clicks, out = topics.make("views"), topics.make("clicks"), topics.make("clicked")

    def here(text: str) -> str:
        named = text.replace('"views"', f'"{views}"').replace('"clicks"', f'"{clicks}"')
        named = named.replace('topic = "clicked"', f'topic = "{out}"')
        return named.replace("localhost:9092", topics.address)

    exec(here(blocks["python"]), {})
    application.run(here(blocks["sql"]))
    found = application.category("clicked").select(["user", "page", "button"]).to_pylist()
    assert sorted(map(json.dumps, found)) == sorted(blocks["text"].splitlines())
    (reject,) = application.category("shop.rejects.clicks").to_pylist()
    assert (reject["topic"], reject["offset"], reject["raw"]) == (clicks, 1, "this is not JSON")
    status = measured(application.home, "shop")
    assert status.rejected == {"clicks": 1}
    into_topic = next(block for _, block in found_blocks if "STORAGE KAFKA" in block)
    inputs = blocks["sql"].partition("CREATE TABLE")[0].replace("APPLICATION shop", "APPLICATION to_topic")
    application.run(here(inputs + into_topic))
    written = {key: json.loads(value or b"") for key, value in topics.read(out)}
    assert written == {row["user"].encode(): row for row in found}


def test_topics_in_a_chain_and_in_three_joins(application: Application, topics: Topics) -> None:
    """One topic is read once, and is an input of the chain's first join, of its second, and of another."""
    left, right = events(600, 100, seed=5), events(600, 100, seed=6)
    names = topics.make("l", 2), topics.make("r", 3)
    for topic, rows in zip(names, (left, right), strict=True):
        write(topics, topic, rows)
    application.run(
        pql(TABLES + PAIRS, topics, *names)
        + """
        CREATE VIEW near AS SELECT l.id AS a, r.id AS b, l.k AS k, l.eventtime AS eventtime FROM l JOIN r
            ON l.k = r.k AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '3 minutes'
            WITH (max_delay = INTERVAL '1 day');
        CREATE TABLE chained AS SELECT n.a AS a, n.b AS b, r.id AS c FROM near n JOIN r ON n.k = r.k
            AND r.eventtime BETWEEN n.eventtime - INTERVAL '1 minute' AND n.eventtime
            WITH (max_delay = INTERVAL '1 day') STORAGE SCRIBE(category = "chained");
        """
    )
    db = database(l=left, r=right, pairs=application.files("pairs"), chained=application.category("chained"))
    assert differences(db, "FROM pairs", join_sql("full", "l.id, r.id, r.v", ON)) == {}
    wanted = """SELECT l.id, r.id, x.id FROM l
        JOIN r ON l.k = r.k AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '3 minutes'
        JOIN r x ON l.k = x.k AND x.eventtime BETWEEN l.eventtime - INTERVAL '1 minute' AND l.eventtime"""
    assert count(db, wanted) > 10
    assert differences(db, "SELECT a, b, c FROM chained", wanted) == {}


def test_live_through_a_broker_that_dies(
    application: Application, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The left stream is an hour ahead. Rows of the right one come ten times a second, before and while its
    broker is away. If it counted as idle then, for one moment, all that comes after would be late. The
    timeout is much longer than a busy machine keeps rows from coming."""
    broker = Broker(tmp_path_factory.mktemp("mortal"))
    broker.start()
    topics = Topics(broker.address, "live")
    names = topics.make("l", 2), topics.make("r", 5)  # most partitions stay empty
    left, right = events(200, 20, seed=1, nulls=0), events(200, 20, seed=2, nulls=0)
    patience = "'2 minutes', idle_timeout = INTERVAL '8 seconds')"
    query = pql(TABLES + PAIRS.replace("'1 day')", patience), topics, *names)
    away_s: list[float] = []

    def script() -> Iterator[Callable[[RunFigures], bool]]:
        write(topics, names[0], left, partition=0)
        feeder.start()
        yield lambda now: rows_in(now, "right") >= 20
        broker.kill()
        began_s = time.monotonic()
        yield lambda now: all("waiting for brokers" in (trouble(table) or "") for table in "lr")
        found = measured(application.home, "from_kafka").joins[0].measure
        assert all("waiting for brokers" in source_words(one.source) for one in found.streams if one.source)
        yield lambda now: time.monotonic() - began_s > 16
        away_s.append(time.monotonic() - began_s)
        broker.start()
        yield lambda now: rows_in(now, "left") == rows_in(now, "right") == 200

    def feed() -> None:
        with topics.writing(names[1], partition=3) as send:
            for row in plain(right):
                send(row)
                time.sleep(0.1)

    def trouble(table: str) -> str | None:
        return read_reports(Category.open(application.home, f"from_kafka.{table}"))[0].trouble

    feeder = threading.Thread(target=feed)
    try:
        application.stream(query, script())
        feeder.join()
        (joined,) = application.run(query).joins
    finally:
        broker.kill()
    assert away_s[0] > 16, "twice the timeout"
    assert joined.late_rows == 0
    db = database(l=left, r=right, pairs=application.files("pairs"))
    assert differences(db, "FROM pairs", join_sql("full", "l.id, r.id, r.v", ON)) == {}


def rows_in(now: RunFigures, side: str) -> int:
    return sum(stream.rows_in for stream in now.streams if stream.side == side)


def test_expressions_aggregates_and_two_readers_of_one_topic(
    application: Application, topics: Topics
) -> None:
    """What only Spark evaluates comes after the category, and a bad record is set aside once."""
    topic = topics.make("l", 2)
    rows = events(1000, 10, seed=3, nulls=0)
    write(topics, topic, rows)
    topics.write_raw(topic, [b"bad"])
    application.run(
        pql(TABLES.partition("CREATE INPUT TABLE r")[0], topics, topic, "")
        + """
        CREATE TABLE counted AS
            SELECT window.start AS since, k, count(*) AS n FROM l GROUP BY window(eventtime, '10 minutes'), k
            STORAGE SCRIBE(category = "counted");
        CREATE VIEW words AS SELECT id, format_string('%05d', id) AS word FROM l WHERE k % 2 = 0;
        CREATE TABLE worded AS SELECT * FROM words STORAGE PARQUET(path = "{here}/worded");
        """
    )
    db = database(l=rows, counted=application.category("counted"), worded=application.files("worded"))
    assert (
        differences(
            db, "SELECT id, word FROM worded", "SELECT id, format('{:05d}', id) FROM l WHERE k % 2 = 0"
        )
        == {}
    )
    wanted = "SELECT time_bucket(INTERVAL '10 minutes', eventtime), k, count(*) FROM l GROUP BY ALL"
    assert differences(db, "SELECT since, k, n FROM counted", wanted) == {}
    assert application.category("from_kafka.rejects.l").num_rows == 1


@pytest.mark.parametrize("form", ["json", "csv"])
def test_columns_that_the_first_records_say(
    application: Application, topics: Topics, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """A table without a list of columns joins as one with a list does. Only the first records of each
    partition count, and those that are no rows are set aside."""
    monkeypatch.setattr(first_records, "FIRST", 20)
    rows = {side: events(500, 50, seed=seed) for seed, side in enumerate("lr")}
    found = {}
    for side, table in rows.items():
        found[side] = topics.make(side, 3)  # and one partition without records
        text = pc.strftime(table.column("eventtime"), "%Y-%m-%dT%H:%M:%SZ")
        lines = table.set_column(0, "eventtime", text).to_pylist()
        for partition in (0, 1):
            made = lines[partition::2]
            if form == "json":
                topics.write_raw(found[side], [b"none of it", b"[1]"], partition=partition)
                topics.write(found[side], made, partition=partition)
            else:
                values = (",".join("" if v is None else str(v) for v in one.values()) for one in made)
                topics.write_raw(found[side], map(str.encode, values), partition=partition)
        topics.write_raw(found[side], [b'{"id": "late"}'], partition=0)  # behind those that count
    names = list(rows["l"].column_names) if form == "json" else ["f0", "f1", "f2", "f3"]
    asked = ", ".join(
        f"{name} AS {column}" for name, column in zip(names, rows["l"].column_names, strict=True)
    )
    given = f'brokers = "{topics.address}", format = "{form}", partition = "part"'
    sides = "".join(
        f"""CREATE INPUT TABLE {side}_in FROM KAFKA("{topic}", {given});
        CREATE VIEW {side} AS SELECT {asked} FROM {side}_in WHERE part < 2;"""
        for side, topic in found.items()
    )
    application.run(f"CREATE APPLICATION from_kafka; {sides} {PAIRS}")
    db = database(pairs=application.files("pairs"), **rows)
    assert differences(db, "FROM pairs", join_sql("full", "l.id, r.id, r.v", ON)) == {}
    aside = application.category("from_kafka.rejects.l_in")
    assert aside.num_rows == (5 if form == "json" else 1)


@pytest.mark.usefixtures("slow_is_not_away")
def test_first_records_by_type(topics: Topics) -> None:
    """Objects and lists stay what they are. Times within them are texts, and so are all where numbers are
    times."""
    topic = topics.make()
    topics.write_raw(
        topic,
        [
            b'{"at": "2026-01-31T12:00:00.5Z", "n": 1, "no": null,\r\n"in": {"at": "2026-01-31", "x": null}}',
            b'\0\0\0\0\7{"n": 2.5, "all": ["2026-01-31 12:00:00"], "text": "a\\nb"}',
            b'{"n": NaN}',
            None,
        ],
    )
    asked = Topic(Cluster(topics.address), topic)
    kind = pa.struct([("at", pa.string()), ("x", pa.string())])
    fields = [("at", pa.timestamp("us", "UTC")), ("n", pa.float64()), ("no", pa.string()), ("in", kind)]
    fields += [("all", pa.list_(pa.string())), ("text", pa.string())]
    assert first_records.topic_columns(asked, "json", {}) == pa.schema(fields)
    numbers = first_records.topic_columns(asked, "json", {"times": "seconds"})
    assert numbers.field("at").type == pa.string()


@pytest.mark.parametrize("what", ["it has no records yet", "there is none", "that are JSON", "changed from"])
def test_first_records_that_say_nothing(application: Application, topics: Topics, what: str) -> None:
    topic = topics.make()
    if what == "there is none":
        topic += "-other"
    elif what != "it has no records yet":
        topics.write_raw(topic, [b"[]"] if what == "that are JSON" else [b'{"a": 1}', b'{"a": "x"}'])
    query = f"""CREATE APPLICATION a;
        CREATE INPUT TABLE t FROM KAFKA("{topic}", brokers = "{topics.address}", format = "json");
        CREATE TABLE out AS SELECT * FROM t STORAGE SCRIBE(category = "out");"""
    with pytest.raises(InputError, match=f"the columns of topic {topic} .*{what}") as refused:
        application.run(query)
    assert "list the columns" in str(refused.value.hint)
