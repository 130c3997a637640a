"""Avro and Protobuf with a real schema registry, in and out."""

from __future__ import annotations

import io
import json
import re
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest

from connectors.test_kafka_sink import opened, written
from connectors.test_topic_intake import Taking
from connectors.topics import Topics
from dovetail.connectors.flat_schema import fields_of
from dovetail.connectors.schema_registry import HEAD, NoSchema, Registry, Schema
from dovetail.errors import DovetailError, PlaceError, Unreachable
from dovetail.service.checkout import checkout_root
from dovetail_dev.schema_registry import RegistryServer
from dovetail_dev.spark_cluster import until
from spark.application import Application

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us", "UTC"))])
WIDER = SCHEMA.append(pa.field("more", pa.float64()))
pytestmark = pytest.mark.usefixtures("slow_is_not_away")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    made = RegistryServer(tmp_path_factory.mktemp("registry"))
    made.start()
    yield made
    made.kill()


def rows(start: int, stop: int, schema: pa.Schema = SCHEMA) -> pa.Table:
    made = [
        {
            "id": n,
            "name": None if n % 3 == 0 else f"n{n}",
            "at": datetime.fromtimestamp(n, UTC),
            "more": n / 2,
        }
        for n in range(start, stop)
    ]
    return pa.Table.from_pylist(made, schema)


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_a_table_through_a_topic_while_its_schema_changes(
    tmp_path: Path, topics: Topics, server: RegistryServer, form: str
) -> None:
    """A column more: old and new records are read by the old and the new table."""
    topic = topics.make()
    for batch, table in enumerate((rows(0, 10), rows(10, 20, WIDER))):
        sink = opened(topics.address, topic, format=form, schema_registry=server.url)
        sink.prepare(table.schema)
        sink.commit(batch, written(sink, table))
    topics.write_raw(topic, [b"none of it", b"\0\0\xff\xff\xff\0"])
    narrow = Taking(tmp_path / "1", topics.address, topic, schema=SCHEMA, form=form, registry=server.url)
    narrow.run()
    assert narrow.rows() == rows(0, 20).to_pylist()
    assert ["number of a schema" in row["reason"] for row in narrow.rejects()] == [True, False]
    wide = Taking(tmp_path / "2", topics.address, topic, schema=WIDER, form=form, registry=server.url)
    wide.run()
    assert [row["more"] for row in wide.rows()] == [None] * 10 + [n / 2 for n in range(10, 20)]


def test_the_query_of_the_page_and_one_into_protobuf(
    application: Application, topics: Topics, server: RegistryServer
) -> None:
    """A whole application: from Avro, as the page reads it, through a join with itself into Protobuf."""
    page = (checkout_root() / "docs/how-to/kafka.md").read_text(encoding="utf-8")
    views, _ = re.findall(r"```sql\n([^`]*format = \"avro\",[^`]*)```", page)
    made, out = topics.make("views", 2), topics.make("out")
    time = pa.timestamp("us", "UTC")
    schema = pa.schema([("eventtime", time), ("user", pa.string()), ("page", pa.string())])
    seen = [
        {"eventtime": datetime.fromtimestamp(60 * n, UTC), "user": f"u{n % 3}", "page": f"p{n}"}
        for n in range(30)
    ]
    sink = opened(topics.address, made, format="avro", schema_registry=server.url)
    sink.prepare(schema)
    sink.commit(0, written(sink, pa.Table.from_pylist(seen, schema)))
    views = views.replace('"views"', f'"{made}"').replace("localhost:9092", topics.address)
    application.run(
        f"""CREATE APPLICATION from_avro; {views.replace("http://localhost:8081", server.url)}
        CREATE VIEW later AS SELECT eventtime, user, page FROM views;
        CREATE TABLE pairs AS SELECT v.eventtime AS at, v.page AS page, l.page AS next
            FROM views AS v JOIN later AS l ON v.user = l.user
            AND l.eventtime BETWEEN v.eventtime + INTERVAL '1 minute' AND v.eventtime + INTERVAL '3 minutes'
            STORAGE KAFKA(topic = "{out}", brokers = "{topics.address}", key = page, format = "protobuf",
                schema_registry = "{server.url}");"""
    )
    columns = pa.schema([("at", time), ("page", pa.string()), ("next", pa.string())])
    reader = Taking(
        application.folder / "read",
        topics.address,
        out,
        schema=columns,
        form="protobuf",
        fields={"key": "page"},
        registry=server.url,
    )
    reader.run()
    expected = [
        {"at": one["eventtime"], "page": one["page"], "next": f"p{n + 3}"} for n, one in enumerate(seen[:-3])
    ]
    assert sorted(reader.rows(), key=lambda row: row["at"]) == expected


def test_columns_that_the_schema_says(
    application: Application, topics: Topics, server: RegistryServer
) -> None:
    """A table without a list of columns has the fields of its topic's newest schema, and what else is asked
    for of a record. A field more is a change of the query, with the next run."""
    topic = topics.make("views")
    page = (checkout_root() / "docs/how-to/kafka.md").read_text(encoding="utf-8")
    _, views = re.findall(r"```sql\n([^`]*format = \"avro\",[^`]*)```", page)
    views = views.replace('"views"', f'"{topic}"').replace("localhost:9092", topics.address)
    query = f"""CREATE APPLICATION inferred; {views.replace("http://localhost:8081", server.url)}
        CREATE TABLE out AS SELECT * FROM views STORAGE SCRIBE(category = "out");"""
    with pytest.raises(DovetailError, match=f"the columns of topic {topic} are not known"):
        application.run(query)
    for batch, table in enumerate((rows(0, 5), rows(5, 10, WIDER))):
        sink = opened(topics.address, topic, format="avro", schema_registry=server.url, key=("name",))
        sink.prepare(table.schema)
        sink.commit(batch, written(sink, table))
        application.run(query, "available-now")
    found = application.category("out")
    assert found.select(["id", "at", "more"]).to_pylist() == [
        {"id": n, "at": datetime.fromtimestamp(n, UTC), "more": None if n < 5 else n / 2} for n in range(10)
    ]
    assert found["visitor"].to_pylist() == found["name"].to_pylist()


NESTED = {
    "type": "record",
    "name": "Visit",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {
            "name": "address",
            "type": ["null", {"type": "record", "name": "A", "fields": [{"name": "city", "type": "string"}]}],
        },
        {"name": "id", "type": "long"},
    ],
}


def test_records_within_records(application: Application, topics: Topics, server: RegistryServer) -> None:
    """Into a join by a field of theirs, and as they are; what has arrays beside it is read, too."""
    topic = topics.make("visits")
    number = Registry(server.url).register(f"{topic}-value", Schema("AVRO", json.dumps(NESTED)))
    cities, parsed = ("Rome", None, "Oslo", "Rome"), fastavro.parse_schema(NESTED)
    for n, city in enumerate(cities):
        value = io.BytesIO(HEAD.pack(0, number))
        value.seek(0, io.SEEK_END)
        row = {"at": n, "tags": ["x"] * n, "address": city and {"city": city}, "id": n}
        fastavro.schemaless_writer(value, parsed, row)
        topics.write_raw(topic, [value.getvalue()])
    application.run(
        f"""CREATE APPLICATION nested;
        CREATE INPUT TABLE v FROM KAFKA("{topic}", brokers = "{topics.address}", format = "avro",
            schema_registry = "{server.url}");
        CREATE VIEW again AS SELECT * FROM v WHERE length(`address.city`) > 0;
        CREATE TABLE pairs AS SELECT v.id AS l, again.id AS r, again.`address.city` AS city
            FROM v LEFT JOIN again ON v.`address.city` = again.`address.city`
            AND again.at BETWEEN v.at AND v.at + INTERVAL '1 second' STORAGE SCRIBE(category = "pairs");
        CREATE TABLE plain AS SELECT * FROM v STORAGE SCRIBE(category = "plain");"""
    )
    plain = application.category("plain").select(["id", "address.city"]).to_pylist()
    assert plain == [{"id": n, "address.city": city} for n, city in enumerate(cities)]
    pairs = application.category("pairs").select(["l", "r", "city"]).to_pylist()
    expected = [(0, 0, "Rome"), (0, 3, "Rome"), (1, None, None), (2, 2, "Oslo"), (3, 3, "Rome")]
    assert sorted(tuple(pair.values()) for pair in pairs) == expected


def test_a_schema_that_the_registry_refuses(topics: Topics, server: RegistryServer) -> None:
    topic = topics.make()
    opened(topics.address, topic, format="avro", schema_registry=server.url).prepare(SCHEMA)
    request = urllib.request.Request(
        f"{server.url}/config/{topic}-value",
        json.dumps({"compatibility": "BACKWARD"}).encode(),
        {"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    other = opened(topics.address, topic, format="avro", schema_registry=server.url)
    with pytest.raises(PlaceError, match="does not accept the schema"):
        other.prepare(pa.schema([("id", pa.string())]))


def test_types_of_another_subject(server: RegistryServer) -> None:
    registry = Registry(server.url)
    money = {
        "type": "record",
        "name": "Money",
        "namespace": "shop",
        "fields": [{"name": "cents", "type": "long"}],
    }
    price = {"name": "price", "type": ["null", "shop.Money"]}
    order = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, price]}
    registry.register("money", Schema("AVRO", json.dumps(money)))
    named = {"name": "shop.Money", "subject": "money", "version": 1}
    body = {"schema": json.dumps(order), "references": [named]}
    found = registry.schema(registry.ask("subjects/orders/versions", body)["id"])
    assert [one.name for one in fields_of(found) if one.arrow] == ["id", "price.cents"]
    assert registry.newest("orders") == found


def test_an_address_without_a_registry_is_no_missing_schema(server: RegistryServer) -> None:
    """A record whose schema is missing cannot be read. Without a registry nobody knows that."""
    with pytest.raises(NoSchema):
        Registry(server.url).schema(4_000_000)
    for wrong in (f"{server.url}/nothing", server.url.removesuffix("/ccompat/v7")):
        with pytest.raises(Unreachable, match="waiting for the schema registry") as said:
            Registry(wrong).schema(1)
        assert "/apis/ccompat/v7" in str(said.value.hint)


def test_a_registry_that_is_away_is_waited_for(
    tmp_path: Path, topics: Topics, server: RegistryServer
) -> None:
    """Its records are neither lost nor rejected, and the table says for whom it waits."""
    topic = topics.make()
    sink = opened(topics.address, topic, format="avro", schema_registry=server.url)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, rows(0, 5)))
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(Unreachable, match="waiting for the schema registry"):
        opened(topics.address, topic, format="avro", schema_registry=nowhere).prepare(SCHEMA)
    taking = Taking(tmp_path, topics.address, topic, schema=SCHEMA, form="avro", registry=nowhere)
    slicer = taking.slicer(finite=False)
    slicer.start()
    until(lambda: "waiting for the schema registry" in (taking.report().trouble or ""), "such a report")
    assert taking.report().state != "empty"
    slicer.stop()
    again = Taking(tmp_path, topics.address, topic, schema=SCHEMA, form="avro", registry=server.url)
    again.run()
    assert again.rows() == rows(0, 5).to_pylist()
