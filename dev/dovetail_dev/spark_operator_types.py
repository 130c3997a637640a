"""Asks Spark's analyzer which types its operators and conditions refuse, and writes it down for `check`.

    PYTHONPATH=dev .venv/bin/python -m dovetail_dev.spark_operator_types

writes src/dovetail/plan/spark_operator_types.json

Spark casts constants where it does not cast columns. So each form is asked with columns and with constants,
and only what the analyzer calls a mismatch of types in all of them is a refusal.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail_dev.spark_analyzer import analyzer, refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path(__file__).parents[2] / "src" / "dovetail" / "plan" / "spark_operator_types.json"
FORMAT = 1
TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal": "DECIMAL(10, 2)",
    "string": "STRING",
    "binary": "BINARY",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP_NTZ",
    "array": "ARRAY<INT>",
    "map": "MAP<STRING, INT>",
    "struct": "STRUCT<a: INT>",
}
ALONE = {
    "WHERE": "SELECT 1 AS n FROM {rows} WHERE {x}",
    "HAVING": "SELECT count(*) AS n FROM {rows} GROUP BY x HAVING {x}",
    "WHEN": "SELECT CASE WHEN {x} THEN 1 END AS n FROM {rows}",
    "NOT": "SELECT NOT {x} AS n FROM {rows}",
    "AND": "SELECT {x} AND true AS n FROM {rows}",
    "OR": "SELECT {x} OR true AS n FROM {rows}",
    "-": "SELECT - {x} AS n FROM {rows}",
}
BETWEEN_TWO = ("+", "-", "*", "/", "%", "DIV", "=", "<")
"""The other comparisons refuse what `=` or `<` refuses."""
MISMATCH = "[DATATYPE_MISMATCH."


def alone(spark: SparkSession, form: str) -> list[str]:
    """The types that a condition or an operator of one operand refuses."""

    def refused(type_: str) -> bool:
        constant = f"CAST(NULL AS {type_})"
        rows = f"(SELECT {constant} AS x)"
        return all(_is_mismatch(spark, ALONE[form].format(x=x, rows=rows)) for x in ("x", constant))

    return [kind for kind, type_ in TYPES.items() if refused(type_)]


def between_two(spark: SparkSession, operator: str, kind: str) -> list[str]:
    """The types that an operator refuses on its right, beside a type on its left."""

    def refused(right: str) -> bool:
        constants = f"CAST(NULL AS {TYPES[kind]})", f"CAST(NULL AS {right})"
        rows = f"(SELECT {constants[0]} AS x, {constants[1]} AS y)"
        sides = product((constants[0], "x"), (constants[1], "y"))
        return all(_is_mismatch(spark, f"SELECT {x} {operator} {y} AS n FROM {rows}") for x, y in sides)

    return [right for right, type_ in TYPES.items() if refused(type_)]


def _is_mismatch(spark: SparkSession, sql: str) -> bool:
    return refusal(spark, sql).startswith(MISMATCH)


def dumped(spark: SparkSession) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "spark": version("pyspark"),
        "alone": {form: alone(spark, form) for form in ALONE},
        "between_two": {
            operator: {kind: said for kind in TYPES if (said := between_two(spark, operator, kind))}
            for operator in BETWEEN_TWO
        },
    }


def rendered(found: dict[str, Any]) -> str:
    """One form, or one type beside an operator, a line."""
    forms = [f"  {json.dumps(form)}: {json.dumps(said)}" for form, said in found["alone"].items()]
    operators = []
    for operator, by_left in found["between_two"].items():
        lines = [f"    {json.dumps(kind)}: {json.dumps(said)}" for kind, said in by_left.items()]
        operators.append(f"  {json.dumps(operator)}: {{\n" + ",\n".join(lines) + "\n  }")
    first = f'{{"format": {found["format"]}, "spark": {json.dumps(found["spark"])}, "alone": {{'
    parts = [first, ",\n".join(forms), '}, "between_two": {', ",\n".join(operators), "}}"]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.write_text(rendered(dumped(analyzer())))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
