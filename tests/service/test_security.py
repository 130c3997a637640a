"""Requests that mean harm: paths and SQL in names, bodies that are too large or make no sense, keys that are
code. What comes from another site and values of rows as code are in `test_access.py` and `tests/browser`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx2 import InvalidURL
from serving import QUERY, calling, quiet_daemon

from dovetail.service.access.tokens import new_token
from dovetail.service.keeping import verbs
from dovetail.service.server.bounds import MOST_ELSE, MOST_ROWS
from dovetail.service.server.state import Daemon

NASTY = (
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "/etc/passwd",
    "clicks'; DROP TABLE sessions; --",
    "clicks\x00",
    "a" * 5_000,
    "<script>alert(1)</script>",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "",
)


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    made = quiet_daemon(tmp_path)
    verbs.create(made.home, QUERY.format(name="clicks"), by="ada")
    return made


@pytest.fixture
def admin(daemon: Daemon) -> Iterator[TestClient]:
    with calling(daemon) as client:
        client.headers["Authorization"] = f"Bearer {new_token(daemon.home, 'ada', 'admin', 1)}"
        yield client


@pytest.mark.parametrize("name", NASTY)
def test_names_lead_nowhere_else(admin: TestClient, daemon: Daemon, name: str) -> None:
    before = sorted(path for path in Path(daemon.home).rglob("*") if "log" not in path.parts)
    for path in ("/api/v1/applications/{}", "/api/v1/log/{}", "/applications/{}", "/log/{}", "/static/{}"):
        try:
            answer = admin.get(path.format(name))
        except InvalidURL:
            continue  # no client sends that
        assert answer.status_code < 500
        assert "root:" not in answer.text
        assert "<script>alert" not in answer.text
        assert "49" not in answer.text or "{{" not in name
    for body in ({"name": name}, {"owner": name}, {"tasks": name}, {"version": name}):
        for verb in ("clone", "give", "scale", "rollback"):
            assert admin.post(f"/api/v1/applications/clicks/{verb}", json=body).status_code in (404, 409, 422)
    assert sorted(path for path in Path(daemon.home).rglob("*") if "log" not in path.parts) == before


@pytest.mark.parametrize("key", NASTY)
def test_parameters_are_values(admin: TestClient, key: str) -> None:
    for path in ("why", "rows", "history", "events"):
        asked = {"key": key, "join": key, "table": key, "minutes": key, "limit": key}
        answer = admin.get(f"/api/v1/applications/clicks/{path}", params=asked)
        assert answer.status_code in (200, 404, 409, 422), answer.text


def test_sessions_are_found_by_value(daemon: Daemon) -> None:
    real = daemon.ledger.new_session("ada", "password")
    for given in ("' OR '1'='1", "%", "*", ""):
        assert daemon.ledger.session(given) is None
        assert daemon.ledger.log_in(given) is None
    assert daemon.ledger.session(real) is not None


def test_bodies_that_are_too_large_are_not_read_to_their_end(admin: TestClient) -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while taken <= 4 * MOST_ROWS:
            taken += 1 << 20
            yield b"x" * (1 << 20)

    answer = admin.post("/api/v1/check", content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert answer.json()["what"] == f"the request has more than {MOST_ELSE >> 20} MiB"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"text": 1}', b"\xff\xfe", b'{"text": "' + b"a" * (2 << 20) + b'"}']
)
def test_bodies_that_make_no_sense_are_errors_of_ours(admin: TestClient, body: bytes) -> None:
    answer = admin.put(
        "/api/v1/applications/clicks", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_unknown_addresses_and_methods_are_problems_too(admin: TestClient) -> None:
    for method, path, status in (("GET", "/api/v1/nothing", 404), ("PATCH", "/api/v1/applications", 405)):
        answer = admin.request(method, path)
        assert answer.status_code == status
        assert answer.json()["status"] == status
    assert admin.get("/nothing").status_code == 404


def test_a_plan_draws_text_as_text(admin: TestClient, daemon: Daemon) -> None:
    from dovetail.service.keeping.landing import land
    from dovetail.service.server.plan_picture import draw_plan

    nasty = "</text><script>alert(1)</script>"
    text = QUERY.format(name="x").replace("campaign FROM clicked", f"'{nasty}' AS campaign FROM clicked")
    landing = land(daemon.home, text, owner="ada")
    assert landing.program is not None
    assert "<script>" not in draw_plan(landing.program, daemon.home)
