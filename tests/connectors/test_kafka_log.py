"""The log's own laws on a home that is on Kafka: the tests of `unit/log`, with another home."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from dovetail.log.homes import claims
from dovetail_dev.kafka_broker import Broker
from unit.log.conftest import fresh  # noqa: F401
from unit.log.test_log_append import (  # noqa: F401
    test_a_batch_enters_once,
    test_a_commit_names_no_file_that_is_not_there,
    test_a_lost_commit_is_an_error,
    test_a_writer_that_slept_through_retention_finds_the_end,
    test_rejected_rows_are_named_and_read_back,
)
from unit.log.test_log_corruption import (  # noqa: F401
    filled,
    packed,
    test_a_commit_of_another_number_or_category_is_refused,
    test_a_damaged_compressed_category_is_noticed,
    test_a_damaged_file_is_noticed,
    test_a_missing_segment_is_named,
    test_the_checksum_is_taken_once_per_process,
)
from unit.log.test_log_crash import test_append, test_retain  # noqa: F401


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
