"""A change whose table would go on in the folder of somebody else, as only Spark can see it there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dovetail.changes.takeover import consider, take_over
from dovetail.errors import StateError
from dovetail.plan.physical import FileSink
from dovetail.pql.compile import compile_pql
from dovetail.spark.progress import require_own

QUERY = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, x INT) FROM SCRIBE("a");
    CREATE TABLE o AS SELECT x FROM a STORAGE PARQUET (path = "{path}");
"""


def test_only_folders_of_its_own_are_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    home, names = str(tmp_path / "home"), ("own", "theirs", "empty")
    for name in names[:2]:
        (tmp_path / name / "_spark_metadata").mkdir(parents=True)
        (tmp_path / name / "_spark_metadata" / "0").write_text("v1\n")
    take_over(consider(home, [compile_pql(QUERY.format(path=tmp_path / "own"))]))
    sinks: dict[str, Any] = {
        name: SimpleNamespace(output=FileSink("parquet", str(tmp_path / name))) for name in names
    }
    require_own(spark, [sinks["own"], sinks["empty"]], home, "app")
    with pytest.raises(StateError, match="were written by another application, or from another home"):
        require_own(spark, list(sinks.values()), home, "app")
