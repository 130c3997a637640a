"""Law: an input may go from a topic to a folder, to another topic and back. Each row enters once, and a topic
goes on where it was left. A topic that the rows go to as well has each of them once, by the query that put it
out."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from connectors.topics import Topics
from dovetail.errors import SettingError, StateError
from dovetail.log.category import list_categories
from dovetail.service.keeping.removal import remove_application
from spark.application import Application
from spark.batch import ON, add, database, differences, join_sql
from spark.events import events, write_files

ROWS, PARTS = 5_000, 5
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT) FROM {source};
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (max_delay = INTERVAL '1 day');
    CREATE TABLE result AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/out");
    CREATE TABLE sent AS SELECT l, r FROM pairs STORAGE KAFKA({sink});
"""
FOLDER = 'FILES("{here}/l", format = "parquet")'


def part(seed: int, number: int) -> pa.Table:
    return events(ROWS, 600, seed).slice(number * ROWS // PARTS, ROWS // PARTS)


def test_topic_folder_another_topic_and_back(application: Application, topics: Topics) -> None:
    folder = application.folder
    one, other, sent = topics.make("one", 2), topics.make("other", 1), topics.make("sent", 1)
    query = PQL.replace("{sink}", f'topic = "{sent}", brokers = "{topics.address}"')
    files = query.replace("{source}", FOLDER)
    wider = ("SELECT l, r FROM pairs", "SELECT l, r, l + 1 AS more FROM pairs")

    def of(topic: str, options: str = "") -> str:
        source = f'"{topic}", brokers = "{topics.address}", format = "json", times = "microseconds"{options}'
        return query.replace("{source}", f"KAFKA({source})")

    def write(topic: str, number: int) -> None:
        rows = part(1, number)
        plain = rows.set_column(0, "eventtime", rows.column("eventtime").cast(pa.int64()))
        topics.write(topic, plain.to_pylist())

    for number in range(PARTS):
        write_files(part(2, number), folder / "r", 1, first=number)
    write(one, 0)
    application.run(of(one), "available-now")

    write(one, 1)  # it is read when the application comes back to this topic
    write_files(part(1, 2), folder / "l", 1)
    with pytest.raises(StateError) as refused:
        application.run(files, "available-now")
    assert "say where it begins: --from l=latest" in str(refused.value.hint)
    application.run(files.replace(*wider), "available-now", begins=["l=earliest"])
    assert {len(json.loads(value)) for _, value in topics.read(sent)[-1:]} == {3}

    write(other, 3)
    with pytest.raises(StateError) as refused:
        application.run(of(other), "available-now")
    assert 'say where l begins, in the query: start = "latest"' in str(refused.value.hint)
    with pytest.raises(SettingError, match=f"where to begin in topic {other} is said in the query"):
        application.run(of(other), "available-now", begins=["l=earliest"])
    application.run(of(other, ', start = "earliest"'), "available-now")

    write(one, 4)
    application.run(of(one), "drain")

    fed = [pa.concat_tables([part(seed, number) for number in range(PARTS)]) for seed in (1, 2)]
    db = database(l=fed[0], r=fed[1], found=application.files("out"))
    assert differences(db, "FROM found", join_sql("inner", "l.id, r.id", ON)) == {}
    records = [json.loads(value) for _, value in topics.read(sent)]
    wide = [record for record in records if "more" in record]
    assert 0 < len(wide) < len(records)
    assert all(record["more"] == record["l"] + 1 for record in wide)
    add(db, "sent", pa.Table.from_pylist([{name: record[name] for name in "lr"} for record in records]))
    assert differences(db, "FROM sent", join_sql("inner", "l.id, r.id", ON)) == {}

    write_files(part(1, 0), folder / "l", 1, first=1)
    application.run(files, "available-now", begins=["l=latest"])
    assert "app.l" in list_categories(application.home)
    remove_application(application.home, "app")
    assert list_categories(application.home) == []
