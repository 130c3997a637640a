"""Types of keys: one type on both sides, or an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail.plan.physical import SlicerStage
from dovetail.plan.types import common_type, spark_type
from dovetail.pql.compile import compile_pql


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        ("INT", "INT", "INT"),
        ("INT", "BIGINT", "BIGINT"),
        ("TINYINT", "SMALLINT", "SMALLINT"),
        ("INT", "FLOAT", "DOUBLE"),
        ("DECIMAL(10, 2)", "INT", "DECIMAL(12, 2)"),
        ("DECIMAL(10, 2)", "DECIMAL(8, 4)", "DECIMAL(12, 4)"),
        ("DECIMAL(38, 10)", "BIGINT", "DECIMAL(38, 10)"),
        ("DATE", "TIMESTAMP", "TIMESTAMP"),
        ("VARCHAR(10)", "STRING", "STRING"),
        ("STRING", "INT", None),
        ("BOOLEAN", "INT", None),
        ("TIMESTAMP", "STRING", None),
        ("BINARY", "STRING", None),
        ("ARRAY<INT>", "ARRAY<STRING>", None),
    ],
)
def test_common_type(left: str, right: str, common: str | None) -> None:
    assert common_type(left, right) == common
    assert common_type(right, left) == common


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("long", "BIGINT"),
        ("integer", "INT"),
        ("timestamp", "TIMESTAMP"),
        ("map<string,array<int>>", "MAP<STRING, ARRAY<INT>>"),
        ("decimal(10,2)", "DECIMAL(10, 2)"),
        ("uuid", None),
        ("foo", None),
        ("", None),
        ("INT INT", None),
    ],
)
def test_spark_type(text: str, spelled: str | None) -> None:
    assert spark_type(text) == spelled


def test_both_sides_of_a_key_are_written_in_one_type(text: Callable[[str], str]) -> None:
    plan = compile_pql(
        text(
            """CREATE VIEW v AS SELECT a.k AS k FROM a JOIN b
            ON a.x = b.ts AND b.t BETWEEN a.t AND a.t + INTERVAL 1 DAY;
            CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;"""
        )
    )
    left, right = (stage for stage in plan.stages if isinstance(stage, SlicerStage))
    assert "CAST(`a`.`x` AS BIGINT) AS `_key_0`" in left.views[-1].sql
    assert "`b`.`ts` AS `_key_0`" in right.views[-1].sql


SCHEMA = {"T": {"A": "bigint", "b": "struct<x:int>", "c": "string"}}


def test_the_source_knows_types_that_are_not_declared() -> None:
    plan = compile_pql(
        """CREATE APPLICATION app; CREATE INPUT TABLE t (a, b, c INT, d) FROM SCRIBE("t");
        CREATE TABLE o AS SELECT a + 1 AS a, b, c, d * 2 AS d FROM t STORAGE NOOP;""",
        source_schemas=SCHEMA,
    )
    (stage,) = plan.slicers
    types = {column.name: column.type for column in stage.inputs[0].columns}
    assert types == {"a": "BIGINT", "b": "STRUCT<x: INT>", "c": "INT", "d": "DOUBLE"}
