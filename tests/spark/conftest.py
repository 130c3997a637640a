"""One Spark session for all tests of a process; every test has a home and an index directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spark import batch
from spark.application import Application

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from dovetail.spark.session import open_session

    session = open_session("test", "local[2]", "2g", {})
    yield session
    session.stop()


@pytest.fixture
def application(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Application:
    """A place to write a query and run it; its live indexes are there too: nothing stays behind."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("DOVETAIL_INDEX_DIR", str(index))
    return Application(tmp_path, spark)


@pytest.fixture(autouse=True)
def _databases_end_with_their_test() -> Iterator[None]:
    yield
    batch.close_all()
