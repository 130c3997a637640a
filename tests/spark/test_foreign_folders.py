"""A change whose table would go on in the folder of somebody else, as only Spark can see it there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dovetail.changes.takeover import consider, take_over
from dovetail.errors import PlanError, StateError
from dovetail.plan.physical import FileSink
from dovetail.pql.compile import compile_pql
from dovetail.spark.progress import require_countable, require_own

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


def test_a_table_that_cannot_count_on_is_refused_before_it_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As in a folder elsewhere, where the rules cannot look. Rows of the log can be counted on from there."""
    home, path = str(tmp_path / "home"), tmp_path / "before"
    (path / "_spark_metadata").mkdir(parents=True)
    (path / "_spark_metadata" / "0").write_text("v1\n")
    of_log = QUERY.format(path=path)
    of_files = of_log.replace('SCRIBE("a")', 'FILES("/in", format = "json")')
    elsewhere = of_files.replace("before", "new")

    def built(text: str) -> Any:
        (stage,) = compile_pql(text).stages
        return SimpleNamespace(stage=stage, output=stage.output, name="o", record="o", sinks=True)

    require_countable(spark, [built(of_log), built(elsewhere)], home, "app")
    with pytest.raises(PlanError, match="would go on writing where another one has written"):
        require_countable(spark, [built(of_files)], home, "app")
    begun = tmp_path / "home/apps/app/checkpoints/o/offsets"
    begun.mkdir(parents=True)
    (begun / "0").write_text("v1\n{}\n{}")
    require_countable(spark, [built(of_files)], home, "app")
