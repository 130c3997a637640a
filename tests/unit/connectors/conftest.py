"""One PostgreSQL server and one Hive metastore for all tests of a process; each test has a database of its
own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail_dev.hive_metastore import HiveMetastore, hive_metastore
from dovetail_dev.postgres_server import Postgres, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with hive_metastore(tmp_path_factory.mktemp("metastore")) as server:
        yield server
