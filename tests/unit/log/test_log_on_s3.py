"""The log's own laws on a home on S3: the same tests, with another home."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dovetail.log.homes import claims
from dovetail_dev.s3_server import CREDENTIALS, S3, s3_server
from unit.log.any_home import *  # noqa: F403


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
