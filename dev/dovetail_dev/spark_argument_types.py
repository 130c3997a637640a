"""Asks Spark's analyzer which types each of its functions refuses, and writes it down for `check`.

    PYTHONPATH=dev .venv/bin/python -m dovetail_dev.spark_argument_types

writes src/dovetail/plan/spark_argument_types.json

A call with NULL everywhere is tried first: where that is refused, nothing is said of the function. Then each
argument gets each type in turn, and what the analyzer calls a mismatch of types is a refusal. It takes some
minutes.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.plan.functions import TIME_WINDOWS
from dovetail.plan.spark_functions import spark_functions
from dovetail_dev.spark_analyzer import analyzer, refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path(__file__).parents[2] / "src" / "dovetail" / "plan" / "spark_argument_types.json"
FORMAT = 1
TYPES = {
    "int": "INT",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "string": "STRING",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP",
    "date": "DATE",
    "array": "ARRAY<INT>",
    "map": "MAP<STRING, INT>",
    "struct": "STRUCT<a: INT>",
}
MOST_ARGUMENTS = 3


def refused(spark: SparkSession, name: str, count: int) -> list[list[str]] | None:
    """For each argument, the kinds of types that are refused; None: nothing can be said."""

    def analyzed(given: list[str]) -> str:
        return refusal(spark, f"SELECT {name}({', '.join(given)})")

    nothing = ["NULL"] * count
    if analyzed(nothing):
        return None
    found = []
    for position in range(count):
        kinds = []
        for kind, type_ in TYPES.items():
            given = [*nothing]
            given[position] = f"CAST(NULL AS {type_})"
            if "DATATYPE_MISMATCH" in analyzed(given):
                kinds.append(kind)
        found.append(kinds)
    return found if any(found) else None


def dumped(spark: SparkSession) -> dict[str, Any]:
    functions: dict[str, dict[str, list[list[str]]]] = {}
    for name, function in spark_functions().functions.items():
        if name in TIME_WINDOWS:
            continue
        for count in function.counts or ():
            said = refused(spark, name, count) if 0 < count <= MOST_ARGUMENTS else None
            if said is not None:
                functions.setdefault(name, {})[str(count)] = said
    return {"format": FORMAT, "spark": version("pyspark"), "functions": functions}


def rendered(found: dict[str, Any]) -> str:
    """One function a line."""
    entries = [f"  {json.dumps(name)}: {json.dumps(said)}" for name, said in found["functions"].items()]
    first = f'{{"format": {found["format"]}, "spark": {json.dumps(found["spark"])}, "functions": {{'
    return "\n".join([first, ",\n".join(entries), "}}"]) + "\n"


if __name__ == "__main__":
    FILE.write_text(rendered(dumped(analyzer())))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
