"""A run that is killed before, between and after what a sink does, and in the middle of it: every row is
there once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail_dev.hive_metastore import HiveMetastore, hive_metastore
from dovetail_dev.postgres_server import Postgres, postgres_server
from faults import writing_process
from unit.connectors.places import DeltaPlace, DuckdbPlace, HivePlace, IcebergPlace, Place, PostgresPlace

BATCHES = 8
POINTS = ("sink.begun:2", "sink.written:2", "sink.committed:2")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with hive_metastore(tmp_path_factory.mktemp("metastore")) as server:
        yield server


@pytest.mark.parametrize("kind", ["POSTGRES", "DUCKDB", "DELTA", "ICEBERG", "HIVE"])
def test_killed_at_every_moment(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place: Place
    if kind == "POSTGRES":
        place = PostgresPlace(request.getfixturevalue("postgres"))
    elif kind == "HIVE":
        place = HivePlace(tmp_path, request.getfixturevalue("metastore"))
    else:
        place = {"DUCKDB": DuckdbPlace, "DELTA": DeltaPlace, "ICEBERG": IcebergPlace}[kind](tmp_path)
    chance = random.Random(kind)
    # At the points between; then in the middle of something, as far as the machine lets us choose.
    for crash in (*POINTS, "any", "any", None):
        point = crash if crash in POINTS else None
        process, said = writing_process.start(place.kind, place.options, BATCHES, point, stays=crash == "any")
        if crash == "any":
            for _ in range(chance.randrange(1, 3)):
                said.recv()
            process.kill()
        process.join(300)
        assert process.exitcode == (0 if crash is None else -9)
    found = place.rows()
    counts = Counter(zip(found["batch"].to_pylist(), found["row"].to_pylist(), strict=True))
    assert counts == Counter((b, row) for b in range(BATCHES) for row in range(writing_process.ROWS))
