"""Requests made up from the API's own description: none makes the service fail, none gets what is not its
caller's. `DOVETAIL_FUZZED_REQUESTS` says how many; the tier `fuzz` makes ten thousand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from httpx2 import InvalidURL
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dovetail.service.keeping import verbs
from dovetail.service.server.state import Daemon
from service.serving import QUERY, as_user, calling, people, quiet_daemon

REQUESTS = int(os.environ.get("DOVETAIL_FUZZED_REQUESTS", "300"))
SECRET = "bob's own secret"
SLOW = ("/api/v1/stream",)
"""It goes on for ever; a test of its own reads from it."""
PARTS = ["api", "v1", "log", "applications", "..", "%2e%2e", "etc", "passwd", "static", "%00", "é", ";"]
HIDDEN = frozenset({"transfer-encoding", "content-length", "host", "authorization", "cookie", "connection"})


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    """Ada is the caller; what is Bob's must not come out."""
    made = quiet_daemon(tmp_path)
    people(made.home)
    text = QUERY.format(name="bob_one").replace("i.campaign AS campaign", f"'{SECRET}' AS campaign", 1)
    verbs.create(made.home, text.replace("bob's", "bob''s"), by="bob")
    verbs.create(made.home, QUERY.format(name="ada_one"), by="ada")
    return made


@pytest.fixture
def client(daemon: Daemon) -> Iterator[TestClient]:
    with calling(daemon) as client:
        headers = {"Content-Type": "application/x-ndjson"}
        as_user(client, daemon, "bob")
        row = b'{"eventtime": "2026-01-01T00:00:00Z", "who": "bob\'s own secret"}'
        assert client.post("/api/v1/log/bob_clicks", content=row, headers=headers).status_code == 201
        as_user(client, daemon, "ada")
        yield client


def operations(client: TestClient) -> list[Any]:
    described = schemathesis.openapi.from_dict(client.get("/api/v1/openapi.json").json())
    return [found.ok() for found in described.get_all_operations() if found.ok().path not in SLOW]


def answered(client: TestClient, case: Any) -> None:
    made = case.as_transport_kwargs(base_url="http://127.0.0.1:8630")
    made.pop("hooks", None)
    made["headers"] = {
        name: value for name, value in dict(made.get("headers") or {}).items() if name.lower() not in HIDDEN
    }
    try:
        answer = client.request(
            **{name: value for name, value in made.items() if name not in ("auth", "cookies")}
        )
    except (ValueError, TypeError, UnicodeError, InvalidURL):
        return  # what no client can put into a request
    assert answer.status_code < 500, f"{case.method} {case.formatted_path}: {answer.text[:500]}"
    assert SECRET not in answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"].startswith("application/problem+json")
        assert {"title", "status", "what"} <= answer.json().keys()
        assert "Traceback" not in answer.text


def test_no_request_makes_the_service_fail_or_tell(client: TestClient) -> None:
    found = operations(client)
    assert len(found) > 20
    each = -(-REQUESTS // len(found))
    for operation in found:

        @settings(
            max_examples=each,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            answered(client, case)

        call()


@settings(max_examples=max(20, REQUESTS // 10), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    path=st.lists(
        st.sampled_from(PARTS),
        max_size=8,
    ),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]),
    body=st.binary(max_size=200),
)
def test_addresses_that_nobody_made(client: TestClient, path: list[str], method: str, body: bytes) -> None:
    answer = client.request(method, "http://127.0.0.1:8630/" + "/".join(path), content=body)
    assert answer.status_code < 500
    assert "root:" not in answer.text
    assert SECRET not in answer.text
