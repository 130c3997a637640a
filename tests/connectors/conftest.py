"""One broker for all tests of a process; every test has topics and a home of its own."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from connectors.topics import Topics
from dovetail.connectors.sinks import kafka as kafka_sink
from dovetail.kafka import topic as asked_topic
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.kafka import connection
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import PATIENCE_S
from spark import batch
from spark.conftest import application, spark  # noqa: F401
from unit.log.conftest import category, forget, ids, put  # noqa: F401


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("broker"))
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="session")
def _second_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("mortal"))
    made.start()
    yield made
    made.kill()


@pytest.fixture
def mortal(_second_broker: Broker) -> Iterator[Broker]:
    """A broker that the test may kill. It is up again when the test is over."""
    yield _second_broker
    if not _second_broker.runs:
        _second_broker.start()


@pytest.fixture(autouse=True)
def _what_a_test_opens_ends_with_it() -> Iterator[None]:
    """A process keeps the store of each home. With a home for every test it would run out of file numbers
    that PySpark can wait for."""
    yield
    batch.close_all()
    open_store.cache_clear()
    gc.collect()


@pytest.fixture
def slow_is_not_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls a sink or a topic by itself hears at once of brokers that are slow. A run tries again."""
    monkeypatch.setattr(kafka_sink, "ANSWER_S", 60.0)
    monkeypatch.setattr(asked_topic, "ANSWER_S", 60.0)


@pytest.fixture(autouse=True)
def _a_home_is_reached_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "FIRST_WAIT_S", PATIENCE_S)


@pytest.fixture
def topics(broker: Broker, request: pytest.FixtureRequest) -> Topics:
    """Topics whose names begin with that of the test."""
    return Topics(broker.address, request.node.name.split("[")[0])
