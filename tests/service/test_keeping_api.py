"""The API of how applications are kept: the same verbs, errors and words as the command line."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from commands import run_command
from dovetail.service.access.tokens import new_token
from dovetail.service.keeping.wanted import wanted_of
from dovetail.service.server.state import Daemon
from service.test_server import QUERY, admin, anyone, daemon  # noqa: F401

BASE = "/api/v1/applications/clicks"


@pytest.fixture
def clicks(admin: TestClient) -> TestClient:  # noqa: F811
    assert admin.put(BASE, json={"text": QUERY}).status_code == 200
    return admin


def test_an_application_is_moved_and_its_place_is_shown(clicks: TestClient, daemon: Daemon) -> None:  # noqa: F811
    assert clicks.get(BASE).json()["place"] == "pool"
    moved = clicks.post(f"{BASE}/place", json={"where": "own", "master": "local[1]"})
    assert moved.json()["place"] == "own"
    assert wanted_of(daemon.home, "clicks").master == "local[1]"
    late = clicks.post(f"{BASE}/place", json={"where": "pool"}, headers={"If-Match": '"1"'})
    assert late.status_code == 409
    assert clicks.post(f"{BASE}/place", json={"where": "moon"}).status_code == 422
    wrong = clicks.post(f"{BASE}/place", json={"where": "pool", "master": "local[1]"})
    assert wrong.status_code == 422
    assert wrong.json()["what"] == "a pool has the Spark master of the service"


def test_the_words_of_an_error_are_those_of_the_command_line(
    clicks: TestClient,
    daemon: Daemon,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    clicks.post(f"{BASE}/stop")
    owner = wanted_of(daemon.home, "clicks").owner
    assert clicks.put(f"/api/v1/quotas/{owner}", json={"tasks": 0}).status_code == 200
    answer = clicks.post(f"{BASE}/start")
    assert answer.status_code == 409
    assert answer.json()["condition"] == "QUOTA_EXCEEDED"
    assert run_command("service", "start", "clicks", "--home", daemon.home) == 1
    said = capsys.readouterr().err
    assert all(answer.json()[part] in said for part in ("what", "where", "expected", "hint"))


def test_quotas_are_for_admins(clicks: TestClient, daemon: Daemon) -> None:  # noqa: F811
    clicks.put("/api/v1/quotas/bob", json={"memory_bytes": 1000})
    assert clicks.get("/api/v1/quotas").json() == [
        {"owner": "bob", "memory_bytes": 1000, "rows_per_s": None, "tasks": None}
    ]
    assert clicks.put("/api/v1/quotas/..%2Fx", json={}).status_code in (404, 422)
    assert clicks.put("/api/v1/quotas/bob", json={"tasks": -1}).status_code == 422
    clicks.headers["Authorization"] = f"Bearer {new_token(daemon.home, 'eve', 'deployer', 1)}"
    assert clicks.put("/api/v1/quotas/eve", json={"tasks": 9}).status_code == 403


def test_who_scales_and_what_would_go(clicks: TestClient, daemon: Daemon) -> None:  # noqa: F811
    assert clicks.post(f"{BASE}/scaler", json={"mode": "act"}).status_code == 200
    assert wanted_of(daemon.home, "clicks").scaler == "act"
    assert clicks.get(f"{BASE}/scaler").json() == []
    assert clicks.get(f"{BASE}/belongings").json() == []
    assert clicks.get("/api/v1/applications/nobody/belongings").status_code == 404
