"""The log's own laws on a home on S3: the same tests, with another home."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dovetail.log.homes import claims
from dovetail_dev.s3_server import CREDENTIALS, S3, s3_server
from laws.effort import THOROUGH
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
)
from unit.log.test_log_crash import test_append  # noqa: F401

if THOROUGH:  # it dies at some forty places, each with requests of its own
    from unit.log.test_log_crash import test_retain  # noqa: F401


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3")) as made:
        yield made


@pytest.fixture
def homes(
    server: S3, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    mark = "".join(c if c.isalnum() else "-" for c in request.node.name)
    return lambda name: server.home(f"{mark}-{name}")


@pytest.fixture(autouse=True)
def an_hour_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since a process died that held a lock."""
    monkeypatch.setattr(claims, "EXPIRES_S", -3600.0)


@pytest.fixture
def samples() -> int:
    return 8
