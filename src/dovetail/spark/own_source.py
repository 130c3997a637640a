"""Law: no two queries share a registered data source.

Spark keeps one function object for each registered Python data source, with a map of environment variables in
it. It changes that map when it starts a process for one query, and serializes it with the tasks of another.
Such a task fails when it is read back (OptionalDataException). So every stage registers its source under its
own name.
"""

from __future__ import annotations

import uuid
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource


def own_source(spark: SparkSession, kind: type[DataSource], **given: Any) -> str:
    """Register a source for one query, with what its class is given; returns the name to read it by."""
    name = f"{kind.name()}_{uuid.uuid4().hex}"
    members = {"name": classmethod(lambda cls: name), **given}
    spark.dataSource.register(type(kind.__name__, (kind,), members))
    return name
