"""SET TIME ZONE: in the plan, in the text, in what Arrow may compute, and in the rules of changes."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from dovetail.changes.compare import compare
from dovetail.kafka.declared import as_declared
from dovetail.log.ingest.text import convert
from dovetail.plan.evaluate import compile_select
from dovetail.plan.physical import KafkaSource
from dovetail.plan.statements import CreateInput
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql
from dovetail.pql.parser import parse
from dovetail.pql.render import render

APP = """CREATE APPLICATION app; {zone}
CREATE INPUT TABLE a (t TIMESTAMP, k STRING) FROM SCRIBE("a");
CREATE TABLE o AS SELECT hour(t) AS h FROM a STORAGE NOOP;
"""
MOMENT = pa.timestamp("us", "UTC")


def test_the_zone_is_a_part_of_the_plan() -> None:
    text = APP.format(zone="SET TIME ZONE 'europe/berlin';")
    assert compile_pql(APP.format(zone="")).time_zone == "UTC"
    assert compile_pql(text).time_zone == "Europe/Berlin"
    assert compile_pql(APP.format(zone="set time zone '+05:30';")).time_zone == "+05:30"
    assert parse(render(parse(text))) == parse(text)
    plan = compile_pql(text)
    assert type(plan).from_json(plan.to_json()) == plan


def test_what_several_applications_read_is_in_utc_whatever_the_zone_of_one() -> None:
    """Records of a topic and rows of the log; tests/spark/test_language.py shows that JSON files follow the
    zone."""
    text = """CREATE APPLICATION app; SET TIME ZONE 'Europe/Berlin';
    CREATE INPUT TABLE a (t TIMESTAMP) FROM KAFKA("a", brokers = "b:1", format = "json",
        start = TIMESTAMP '{}');"""
    for written, meant in (("12:00:00", "12:00:00"), ("12:00:00+02:00", "10:00:00")):
        (table,) = parse(text.format(f"2026-07-31 {written}"))
        assert isinstance(table, CreateInput)
        assert isinstance(table.origin, KafkaSource)
        assert dict(table.origin.options)["start"] == f"2026-07-31T{meant}+00:00"
    texts = pa.chunked_array([["2026-07-31T12:00:00", "2026-07-31T12:00:00+02:00"]])
    moments = [datetime(2026, 7, 31, hour, tzinfo=UTC) for hour in (12, 10)]
    assert as_declared(texts, MOMENT, "iso").to_pylist() == moments
    assert convert(texts.combine_chunks(), MOMENT).to_pylist() == moments


@pytest.mark.parametrize(
    ("zone", "says"),
    [
        ("SET TIME ZONE 'Europe/Berlim';", "there is no time zone `Europe/Berlim`"),
        ("SET TIME ZONE 'UTC'; SET TIME ZONE 'UTC';", "set twice"),
        ("SET x = 1;", "`x` is not expected here"),
        ("SET TIME ZONE Berlin;", "`Berlin` is not expected here"),
    ],
)
def test_what_is_no_zone(zone: str, says: str) -> None:
    assert any(says in error.what for error in check(APP.format(zone=zone)).errors)


@pytest.mark.parametrize(
    ("sql", "depends"),
    [
        ("hour(t)", True),
        ("date_trunc('HOUR', t)", True),
        ("CAST(t AS DATE)", True),
        ("CAST(d AS TIMESTAMP)", True),
        ("t > TIMESTAMP '2026-01-01 00:00:00'", True),
        ("t + INTERVAL '1 day'", False),
        ("unix_seconds(t)", False),
        ("n + 1", False),
    ],
)
def test_what_depends_on_the_zone_is_left_to_spark(sql: str, depends: bool) -> None:
    schema = pa.schema([("t", MOMENT), ("d", pa.date32()), ("n", pa.int64())])
    query = f"SELECT {sql} AS x FROM g"
    assert compile_select(query, {"g": schema}) is not None
    assert (compile_select(query, {"g": schema}, utc=False) is None) == depends


def test_another_zone_is_refused_with_a_place_and_a_way() -> None:
    texts = [
        parse(APP.format(zone=zone), name=name)
        for zone, name in (("", "old.pql"), ("SET TIME ZONE 'Asia/Tokyo';", "new.pql"))
    ]
    plans = [compile_pql(text.source.text) for text in texts]
    for (old, new), says in (
        ((0, 1), "UTC, now Asia/Tokyo"),
        ((1, 0), "Asia/Tokyo, now UTC"),
    ):
        (change,) = compare(plans[old], plans[new], texts[old], texts[new])
        assert (change.verdict, change.what) == ("refused", f"time zone: {says}")
        assert (change.place or "").startswith("new.pql:1:25\n"), "where it is set, in whichever of the two"
        assert change.instead
