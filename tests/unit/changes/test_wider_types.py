"""Types that a column of an input may get while its rows are in flight: those that hold all its values."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dovetail.changes.verdict import Change
from dovetail.log.schema import never_loses
from dovetail.plan.types import holds
from unit.changes.test_several_inputs import UNION, changes

QUERY = UNION.replace(
    '(t TIMESTAMP, k BIGINT, id BIGINT, x INT) FROM SCRIBE("a")',
    '(t TIMESTAMP, k BIGINT, id TYPE) FROM SCRIBE("a")',
)


@pytest.mark.parametrize(
    ("was", "now", "verdict"),
    [
        ("DECIMAL(10, 2)", "DECIMAL(12, 2)", "kept"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 4)", "kept"),
        ("DECIMAL(10, 2)", "DECIMAL(10, 4)", "refused"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 1)", "refused"),
        ("DECIMAL(10, 2)", "DOUBLE", "refused"),
        ("SMALLINT", "INT", "kept"),
        ("BIGINT", "DOUBLE", "refused"),
        ("INT", "SMALLINT", "refused"),
        ("TINYINT", "DECIMAL(3, 0)", "kept"),
        ("SMALLINT", "DECIMAL(4, 0)", "refused"),
        ("INT", "DECIMAL(12, 2)", "kept"),
        ("INT", "DECIMAL(12, 3)", "refused"),
        ("BIGINT", "DECIMAL(19, 0)", "kept"),
        ("BIGINT", "DECIMAL(18, 0)", "refused"),
        ("DECIMAL(10, 0)", "BIGINT", "refused"),
    ],
)
def test_a_type(was: str, now: str, verdict: str) -> None:
    (change,) = changes(QUERY.replace("TYPE", was), (f"id {was}) FROM", f"id {now}) FROM"))
    assert (change.rule, change.verdict) == ("sources", verdict)
    assert change.what == f"column id of a is {now}, was {was}"
    assert verdict == "kept" or f"write CAST(id AS {now})" in str(change.instead)


ARROW = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "DECIMAL": pa.decimal128(10, 0),
    **{
        f"DECIMAL({digits}, {scale})": pa.decimal128(digits, scale)
        for digits in (2, 3, 4, 5, 9, 10, 12, 18, 19, 20, 22, 38)
        for scale in (0, 2)
    },
}


@pytest.mark.parametrize("was", ARROW)
def test_a_type_is_wider_if_the_log_takes_it(was: str) -> None:
    """What the rules allow is not refused when the query is built, and the other way around."""
    said = {now: holds(now, was) for now in ARROW}
    assert said == {now: never_loses(ARROW[was], kind) for now, kind in ARROW.items()}


@pytest.mark.parametrize("kind", [one for one in ARROW.values() if pa.types.is_integer(one)])
def test_the_log_takes_a_decimal_that_holds_each_integer(kind: pa.DataType) -> None:
    """By Arrow's own checked casts of the smallest and the largest one."""
    most = 2 ** (kind.bit_width - 1)
    ends = pa.array([-most, most - 1], kind)
    for digits in range(1, 25):
        wide = pa.decimal128(digits, 0)
        if never_loses(kind, wide):
            assert ends.cast(wide).cast(kind).equals(ends)
        else:
            assert digits < len(str(most - 1))


CARRIED = UNION.replace("AS x FROM a JOIN", "AS x, a.x AS y FROM a JOIN").replace(
    "SELECT a, b, x FROM v STORAGE NOOP", 'SELECT y FROM v STORAGE SCRIBE(category = "o")'
)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        ("CAST(a.x AS BIGINT)", "kept"),
        ("CAST(a.x AS DOUBLE)", "kept"),
        ("CAST(a.x AS SMALLINT)", "refused"),
        ("CAST(a.x AS STRING)", "refused"),
        ("a.x + 1", "kept"),
        ("a.x > 0", "refused"),
    ],
)
def test_an_expression(now: str, verdict: str) -> None:
    """The join above the side writes the column as before, in the type that the side gives it now."""
    found = changes(CARRIED, ("a.x AS y", f"{now} AS y"))
    assert {(one.rule, one.part) for one in found if one.verdict == "refused"} == (
        {("side_columns", "left side of v"), ("output_columns", "join v")} if verdict == "refused" else set()
    )
    assert any(one.rule == "side_columns" for one in found)


def test_floats_that_are_added_are_floats() -> None:
    """So one of them alone is no narrower than their sum."""
    text = CARRIED.replace("x INT)", "x FLOAT)").replace("a.x AS y", "a.x + a.x AS y")
    assert not any(one.verdict == "refused" for one in changes(text, ("a.x + a.x AS y", "a.x AS y")))


def test_a_function_of_the_query_returns_what_it_says() -> None:
    made = "CREATE FUNCTION f(x INT) RETURNS {} LANGUAGE PYTHON AS $$ return x $$;\nCREATE VIEW u"
    text = CARRIED.replace("CREATE VIEW u", made.format("BIGINT")).replace("a.x AS y", "f(a.x) AS y")
    found = changes(text, ("RETURNS BIGINT", "RETURNS INT"))
    assert [one.rule for one in found if one.verdict == "refused"] == ["side_columns", "output_columns"]


AGGREGATED = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, x INT, d DECIMAL(10, 2)) FROM SCRIBE("a");
CREATE TABLE n AS SELECT window(t, '5 minutes').start AS since, MAX(x) AS y FROM a
  GROUP BY window(t, '5 minutes') STORAGE SCRIBE(category = "n");
"""


@pytest.mark.parametrize(
    ("was", "now", "types"),
    [
        ("SUM(x)", "MAX(x)", ("BIGINT", "INT")),
        ("MAX(x)", "SUM(x)", None),
        ("SUM(x)", "CAST(MAX(x) AS BIGINT)", None),
        ("MAX(d)", "AVG(x)", ("DECIMAL(10, 2)", "DOUBLE")),
        ("MAX(d)", "AVG(d)", None),
        ("SUM(x)", "MAX(x) FILTER (WHERE x > 0)", None),
    ],
)
def test_an_aggregate(was: str, now: str, types: tuple[str, str] | None) -> None:
    """An average of decimals is a decimal. What a filter makes of a type is not known without Spark."""
    (change,) = of_aggregates(was, now)
    if types is None:
        assert (change.verdict, change.what) == ("kept", "what is aggregated")
        return
    assert change.what == f"column y is {types[1]}, was {types[0]}: {was}, now {now}"
    assert change.verdict == "refused"
    assert change.instead == f"write CAST({now} AS {types[0]}) AS y, or give the column another name"
    (kept,) = of_aggregates(was, f"CAST({now} AS {types[0]})")
    assert kept.verdict == "kept"


def of_aggregates(was: str, now: str) -> list[Change]:
    found = changes(AGGREGATED.replace("MAX(x) AS", f"{was} AS"), (f"{was} AS", f"{now} AS"))
    return [one for one in found if one.rule == "aggregates"]


@pytest.mark.parametrize(("storage", "verdict"), [("NOOP", "refused"), ('SCRIBE(category = "m")', "kept")])
def test_where_an_aggregate_goes(storage: str, verdict: str) -> None:
    """To a category of its own, if its table is none. Another category has no values yet."""
    scribe = 'SCRIBE(category = "n")'
    text = AGGREGATED.replace("MAX(x)", "SUM(x)").replace(scribe, storage if verdict == "refused" else scribe)
    edits = [("SUM(x)", "MAX(x)"), *([(scribe, storage)] if verdict == "kept" else [])]
    assert [one.verdict for one in changes(text, *edits) if one.rule == "aggregates"] == [verdict]
