"""The log's own laws on a home that is on Kafka: the tests of `unit/log`, with another home."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from dovetail.log.homes import claims
from dovetail_dev.kafka_broker import Broker
from unit.log.any_home import *  # noqa: F403
from unit.log.conftest import fresh  # noqa: F401
from unit.log.test_log_corruption import test_the_checksum_is_taken_once_per_process  # noqa: F401
from unit.log.test_log_crash import test_retain  # noqa: F401


@pytest.fixture
def homes(broker: Broker, request: pytest.FixtureRequest) -> Callable[[str], str]:
    mark = uuid.uuid4().hex[:8]
    return lambda name: f"kafka://{broker.address}/{mark}-{name}"


@pytest.fixture(autouse=True)
def an_hour_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since a process died that held a lock."""
    monkeypatch.setattr(claims, "EXPIRES_S", -3600.0)


@pytest.fixture
def samples() -> int:
    return 8
