"""What is computed on Arrow columns is what Spark computes: random expressions over random rows."""

from __future__ import annotations

import datetime
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from dovetail.errors import RunError
from dovetail.plan.evaluate import compile_select
from dovetail.slicing.evaluation import Evaluation
from dovetail.spark.arrow_types import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED, ROWS, EXPRESSIONS = 15, 200, 150
MOMENT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("a", pa.int32()),
        ("b", pa.int32()),
        ("c", pa.int64()),
        ("d", pa.int64()),
        ("e", pa.int16()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("u", pa.string()),
        ("v", pa.string()),
        ("p", pa.bool_()),
        ("q", pa.bool_()),
        ("t", MOMENT),
        ("w", MOMENT),
        ("g", pa.date32()),
    ]
)
NAMES = {
    "integer": "abcde",
    "double": "xy",
    "text": "uv",
    "truth": "pq",
    "time": "tw",
    "date": "g",
}
EXTREMES: dict[pa.DataType, list[Any]] = {
    pa.int16(): [-(2**15), 2**15 - 1],
    pa.int32(): [-(2**31), 2**31 - 1],
    pa.int64(): [-(2**63), 2**63 - 1, 2**53 + 1, -(2**53) - 1],
    pa.float64(): [float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1.7e308],
    pa.string(): ["", " x ", "straße", "日本語", "a\nb", "%", "k1%2"],
    pa.bool_(): [],
    MOMENT: [-1, -62_135_596_800_000_000, 253_402_300_799_999_999, -86_400_000_001],
    pa.date32(): [-1, -719_162, 2_932_896],
}
PLAIN: dict[pa.DataType, list[Any]] = {
    pa.int16(): [-7, -1, 1, 2, 3, 100],
    pa.int32(): [-7, -1, 1, 2, 3, 100],
    pa.int64(): [-7, -1, 1, 2, 3, 100],
    pa.float64(): [-1.5, 0.5, 1.0, 2.0, 1e3],
    pa.string(): ["a", "b", "ab", "abc", "k1"],
    pa.bool_(): [True, False],
    MOMENT: [1_767_225_600_123_456, 1_767_225_660_000_000, 1_772_323_199_999_999],
    pa.date32(): [20_454, 20_500],
}


def rows(rng: random.Random, values: list[dict[pa.DataType, list[Any]]]) -> pa.RecordBatch:
    columns = []
    for field in SCHEMA:
        known = [one for given in values for one in given[field.type]]
        drawn = [rng.choice([*known, None]) for _ in range(ROWS)]
        columns.append(pa.array(drawn, _stored(field.type)).cast(field.type))
    return pa.record_batch(columns, schema=SCHEMA)


def _stored(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if kind == MOMENT else pa.int32() if kind == pa.date32() else kind


class Grammar:
    """Expressions of a kind, a few levels deep."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def any(self, depth: int) -> str:
        return getattr(self, self._rng.choice(list(NAMES)))(depth)

    def _of(self, kind: str, depth: int, constants: list[str], calls: list[str]) -> str:
        if depth == 0 or self._rng.random() < 0.15:
            return self._rng.choice([*NAMES[kind], *constants])
        text = self._rng.choice(calls)
        while "{" in text:
            before, _, rest = text.partition("{")
            name, _, after = rest.partition("}")
            name = kind if name == "same" else name
            text = f"{before}{getattr(self, name)(depth - 1)}{after}"
        return text

    def _branches(self) -> list[str]:
        return [
            "coalesce({same}, {same})",
            "nvl({same}, {same})",
            "if({truth}, {same}, {same})",
            "CASE WHEN {truth} THEN {same} WHEN {truth} THEN {same} ELSE {same} END",
            "CASE WHEN {truth} THEN {same} END",
            "nullif({same}, {same})",
        ]

    def integer(self, depth: int) -> str:
        calls = ["({same} + {same})", "({same} - {same})", "({same} * {same})", "({same} % {same})"]
        calls += ["(- {same})", "abs({same})", "length({text})", "hour({time})", "minute({time})"]
        calls += ["year({time})", "month({time})", "day({time})", "second({time})", "year({date})"]
        calls += [
            "unix_micros({time})",
            "unix_millis({time})",
            "unix_seconds({time})",
            "CAST({same} AS BIGINT)",
        ]
        calls += ["least({same}, {same})", "greatest({same}, {same}, {same})", *self._branches()]
        return self._of("integer", depth, ["0", "1", "-3", "9999999999"], calls)

    def double(self, depth: int) -> str:
        calls = ["({same} + {same})", "({same} * {integer})", "({same} - 1.5)", "({integer} / {integer})"]
        calls += [
            "({same} / {same})",
            "(- {same})",
            "abs({same})",
            "CAST({integer} AS DOUBLE)",
            *self._branches(),
        ]
        return self._of("double", depth, ["1e3", "0.5D"], calls)

    def text(self, depth: int) -> str:
        calls = ["({same} || {same})", "concat({same}, {integer}, {same})", "trim({same})", *self._branches()]
        calls += ["substring({same}, 2, 2)", "substr({same}, 1, 0)", "CAST({integer} AS STRING)"]
        return self._of("text", depth, ["'a'", "''", "' é'"], [*calls, "CAST({truth} AS STRING)"])

    def truth(self, depth: int) -> str:
        calls = ["({same} AND {same})", "({same} OR {same})", "(NOT {same})", "isnull({double})"]
        calls += ["({integer} IN (1, 2, 9999999999))", "({text} NOT IN ('a', 'b'))", "({text} LIKE 'a%')"]
        calls += ["({text} LIKE '%b')", "({text} LIKE '%b%')", "({text} LIKE 'ab')", "({text} IS NOT NULL)"]
        calls += [
            "({time} < TIMESTAMP '2026-01-01 00:01:00')",
            "({date} = DATE '2026-01-01')",
            "({double} > 0.5)",
        ]
        for kind in NAMES:
            calls += [f"({{{kind}}} {word} {{{kind}}})" for word in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
            calls += [f"({{{kind}}} BETWEEN {{{kind}}} AND {{{kind}}})", f"({{{kind}}} IS NULL)"]
        return self._of("truth", depth, ["TRUE", "FALSE"], [*calls, *self._branches()])

    def time(self, depth: int) -> str:
        units = ["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
        calls = [
            "({same} + INTERVAL '90' SECOND)",
            "({same} - INTERVAL '2' DAYS)",
            "timestamp_seconds({integer})",
        ]
        calls += ["CAST({date} AS TIMESTAMP)", "least({same}, {same})", "timestamp_millis({integer})"]
        calls += [f"date_trunc('{unit}', {{same}})" for unit in units]
        return self._of("time", depth, ["TIMESTAMP '2026-01-01 00:00:00'"], [*calls, *self._branches()])

    def date(self, depth: int) -> str:
        calls = ["CAST({time} AS DATE)", "greatest({same}, {same})", *self._branches()]
        return self._of("date", depth, ["DATE '2026-01-01'"], calls)


def compiled(expression: str, where: str = "") -> Evaluation | None:
    return compile_select(f"SELECT {expression} AS made FROM given {where}", {"given": SCHEMA})


def shown(column: Any) -> list[str]:
    """Values as texts: NaN is like itself, zeros have a sign, and times may be beyond Python's."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return [repr(value) for value in column.to_pylist()]


def by_spark(spark: SparkSession, batch: pa.RecordBatch, select: str) -> pa.Table:
    spark.createDataFrame(pa.Table.from_batches([batch])).createOrReplaceTempView("given")
    return spark.sql(select).toArrow()


def test_random_expressions_that_cannot_fail(spark: SparkSession) -> None:
    rng = random.Random(SEED)
    grammar, batch = Grammar(rng), rows(rng, [PLAIN, EXTREMES])
    found: dict[str, Evaluation] = {}
    while len(found) < EXPRESSIONS:
        text = grammar.any(rng.randint(1, 3))
        evaluation = compiled(text)
        if evaluation is not None and all(node.total for _, node in evaluation.columns):
            found[text] = evaluation
    items = ", ".join(f"{text} AS m{number}" for number, text in enumerate(found))
    expected = by_spark(spark, batch, f"SELECT {items} FROM given")
    for number, (text, evaluation) in enumerate(found.items()):
        (made,) = evaluation(batch).columns
        assert made.type.equals(_of_spark(expected.column(number).type)), text
        assert shown(made) == shown(expected.column(number)), text


def _of_spark(kind: pa.DataType) -> pa.DataType:
    return MOMENT if pa.types.is_timestamp(kind) and kind.tz else kind


def test_random_expressions_that_may_fail(spark: SparkSession) -> None:
    """On plain values most of them do not. Those that do are tried one by one, in the next test."""
    rng = random.Random(SEED + 1)
    grammar, batch = Grammar(rng), rows(rng, [PLAIN])
    found: dict[str, pa.Array] = {}
    tries = 0
    while len(found) < EXPRESSIONS and tries < 20 * EXPRESSIONS:
        tries += 1
        text = grammar.any(rng.randint(1, 3))
        evaluation = compiled(text)
        if evaluation is None or all(node.total for _, node in evaluation.columns):
            continue
        try:
            found[text] = evaluation(batch).column(0)
        except RunError:
            continue
    assert len(found) > EXPRESSIONS / 2
    items = ", ".join(f"{text} AS m{number}" for number, text in enumerate(found))
    expected = by_spark(spark, batch, f"SELECT {items} FROM given")
    for number, (text, made) in enumerate(found.items()):
        assert made.type.equals(_of_spark(expected.column(number).type)), text
        assert shown(made) == shown(expected.column(number)), text


@pytest.mark.parametrize(
    "text",
    [
        "a + b",
        "c * d",
        "c - d",
        "e + e",
        "- c",
        "- a",
        "abs(c)",
        "a / b",
        "c % d",
        "x / y",
        "t + INTERVAL '2' DAYS",
    ],
)
@pytest.mark.parametrize("extreme", [False, True])
def test_it_fails_where_spark_fails(spark: SparkSession, text: str, extreme: bool) -> None:
    """Zero and null divisors are among the rows; a null by zero is no failure."""
    rng = random.Random(SEED + 2)
    zeros: dict[pa.DataType, list[Any]] = {kind: [] for kind in PLAIN}
    zeros |= {pa.int32(): [0], pa.int64(): [0], pa.float64(): [0.0, -0.0]}
    batch = rows(rng, [PLAIN, EXTREMES] if extreme else [PLAIN, zeros])
    for row in range(0, ROWS, 20):
        part = batch.slice(row, 20)
        evaluation = compiled(text)
        assert evaluation is not None
        try:
            expected = by_spark(spark, part, f"SELECT {text} AS made FROM given").column(0)
        except Exception:
            with pytest.raises(RunError):
                evaluation(part)
            return
        assert shown(evaluation(part).column(0)) == shown(expected)


def test_conditions_drop_rows_one_after_the_other(spark: SparkSession) -> None:
    rng = random.Random(SEED + 3)
    batch = rows(rng, [PLAIN, EXTREMES])
    wheres = [
        "WHERE a > 0 AND (p OR u LIKE 'a%') AND x < 2.5",
        "WHERE NOT p",
        "WHERE TRUE",
        "WHERE FALSE AND q",
    ]
    wheres += ["WHERE a <> 0 AND 1 / a > 0.1", "WHERE (x <> 0 AND x IS NOT NULL) AND 1 / x >= 0"]
    for where in wheres:
        evaluation = compiled("c", where)
        assert evaluation is not None, where
        expected = by_spark(spark, batch, f"SELECT c AS made FROM given {where}")
        assert shown(evaluation(batch).column(0)) == shown(expected.column(0)), where


def test_the_types_are_those_of_the_analyzer(spark: SparkSession) -> None:
    texts = [
        "a + e",
        "e + e",
        "e + 1",
        "a * c",
        "a / e",
        "length(u)",
        "1",
        "9999999999",
        "nvl(a, c)",
        "hour(t)",
    ]
    by_spark(spark, pa.RecordBatch.from_pylist([], SCHEMA), "SELECT 1")
    for text in texts:
        evaluation = compiled(text)
        assert evaluation is not None, text
        analysed = arrow_schema(spark.sql(f"SELECT {text} AS made FROM given").schema)
        assert evaluation.schema.types == analysed.types, text


def test_a_year_of_four_digits_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    evaluation = compiled("TIMESTAMP '0001-01-01 00:00:00'")
    assert evaluation is not None
    batch = rows(random.Random(SEED), [PLAIN]).slice(0, 1)
    found = by_spark(spark, batch, "SELECT TIMESTAMP '0001-01-01 00:00:00' AS made FROM given")
    assert evaluation(batch).column(0).to_pylist() == found.column(0).to_pylist()
    assert found.column(0)[0].as_py() == datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)
