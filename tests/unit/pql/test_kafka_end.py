"""`FROM KAFKA(...)`: what it means, and what is wrong with it, with its place."""

from __future__ import annotations

import pytest

from dovetail.connectors.secret import Secret
from dovetail.errors import PqlError
from dovetail.plan.physical import KafkaSource, Plan
from dovetail.pql.compile import compile_pql
from dovetail.pql.parser import parse
from dovetail.pql.render import render

GIVEN = 'brokers = "b:9092", format = "json"'


def text(options: str, columns: str = "k STRING, t TIMESTAMP", topic: str = "clicks") -> str:
    return f'CREATE APPLICATION a; CREATE INPUT TABLE x ({columns}) FROM KAFKA("{topic}", {options});'


def source(options: str, columns: str = "k STRING, t TIMESTAMP") -> KafkaSource:
    program = parse(text(options, columns))
    assert parse(render(program)) == program
    (table,) = program.statements
    origin = table.origin  # type: ignore[union-attr]
    assert isinstance(origin, KafkaSource)
    return origin


@pytest.mark.parametrize(
    ("start", "kept"),
    [
        ('"Latest"', "latest"),
        ('"0:5, 12:0"', "0:5, 12:0"),
        ("TIMESTAMP '2026-01-31 12:00:00'", "2026-01-31T12:00:00+00:00"),
        ('"2026-01-31T13:00:00+01:00"', "2026-01-31T12:00:00+00:00"),
    ],
)
def test_starts(start: str, kept: str) -> None:
    assert source(f"{GIVEN}, start = {start}").options == (("start", kept),)


def test_parts_of_the_record_are_columns() -> None:
    found = source(f'{GIVEN}, key = "k", timestamp = "T"')
    assert found.options == (("key", "k"), ("timestamp", "T"))


def test_a_secret_is_in_the_plan_by_its_name_only() -> None:
    options = f'{GIVEN}, sasl_username = SECRET("me"), sasl_password = SECRET("kafka_password")'
    found = source(options)
    assert dict(source(f'{GIVEN}, sasl_username = "me"').options)["sasl_username"] == "me"
    assert dict(found.options)["sasl_username"] == Secret("me")
    assert dict(found.options)["sasl_password"] == Secret("kafka_password")
    plan = compile_pql(text(options) + " CREATE TABLE o AS SELECT k FROM x STORAGE NOOP;")
    assert Plan.from_json(plan.to_json()) == plan


WRONG = {
    f"{GIVEN}, topics = 5": "no option `topics`",
    f'{GIVEN}, brokers = "c"': "given twice",
    'format = "json"': "needs its brokers",
    'brokers = "b"': "needs its format",
    'brokers = "b", format = "jsn"': "format cannot be `jsn`",
    f'{GIVEN}, start = "soon"': "not a place to start",
    f'{GIVEN}, key = "nobody"': "no column `nobody`",
    f'{GIVEN}, timestamp = "k"': "cannot hold the record's timestamp",
    f'{GIVEN}, sasl_password = "hunter2"': "must not stand in the text",
    f'{GIVEN}, sasl_oauthbearer_client_secret = "hunter2"': "must not stand in the text",
    f'{GIVEN}, sasl_password = SECRET("a b")': "does not name a secret",
    f'{GIVEN}, times = "days"': "times cannot be `days`",
    f"{GIVEN}, max_records_per_second = 0": "out of range",
    f'{GIVEN}, group_id = "g"': "no option `group_id`",
    f'{GIVEN}, sep = "--"': "not one character",
    'brokers = "b", format = "raw"': "one column for the value",
    f"{GIVEN}, start = latest": "not expected here",
}


@pytest.mark.parametrize(("options", "what"), WRONG.items())
def test_mistakes(options: str, what: str) -> None:
    with pytest.raises(PqlError, match=what) as caught:
        parse(text(options))
    assert caught.value.where is not None
    assert caught.value.where.startswith("<string>:1:")
    assert "hunter2" not in caught.value.what + str(caught.value.expected) + str(caught.value.hint)


def test_the_column_of_a_raw_value_must_be_declared() -> None:
    with pytest.raises(PqlError, match="raw records do not say what columns they have") as caught:
        parse('CREATE APPLICATION a; CREATE INPUT TABLE x FROM KAFKA("t", brokers = "b", format = "raw");')
    assert "^^^^^" in str(caught.value.where)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_first_records_have_columns(form: str) -> None:
    given = f'brokers = "b:9092", format = "{form}", key = "k"'
    program = parse(f'CREATE APPLICATION a; CREATE INPUT TABLE x FROM KAFKA("t", {given});')
    assert parse(render(program)) == program


def test_a_schema_has_columns() -> None:
    given = 'brokers = "b:9092", format = "protobuf", schema_registry = "http://r:8081", key = "k"'
    program = parse(f'CREATE APPLICATION a; CREATE INPUT TABLE x FROM KAFKA("t", {given});')
    assert parse(render(program)) == program


def test_an_empty_topic() -> None:
    with pytest.raises(PqlError, match="cannot name a topic"):
        parse(text(GIVEN, topic="a b"))
