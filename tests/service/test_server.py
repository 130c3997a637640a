"""The daemon over HTTP: who gets in, what the API says, what pages show. No application is started: that is
the keeper's work."""

from __future__ import annotations

import io
import json
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from dovetail.errors import Unreachable
from dovetail.log.category import Category
from dovetail.service.access.roles import ROLES
from dovetail.service.access.tokens import new_token
from dovetail.service.alarms.look import Look
from dovetail.service.alarms.settings import read_settings
from dovetail.service.keeping.wanted import find_wanted, wanted_of
from dovetail.service.server.app import make_app
from dovetail.service.server.ledger import ServiceLedger, ledger_path
from dovetail.service.server.state import Daemon
from service.test_landing import TAPS, ads_has_run

HOST = "127.0.0.1:8630"
QUERY = """CREATE APPLICATION clicks;
CREATE INPUT TABLE c (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("clicks");
CREATE INPUT TABLE i (eventtime TIMESTAMP, ad BIGINT, campaign STRING) FROM SCRIBE("impressions");
CREATE VIEW clicked AS SELECT c.eventtime AS eventtime, c.ad AS ad, i.campaign AS campaign
FROM c LEFT JOIN i ON c.ad = i.ad
  AND i.eventtime BETWEEN c.eventtime - INTERVAL '1 minute' AND c.eventtime;
CREATE TABLE result AS SELECT eventtime, ad, campaign FROM clicked STORAGE SCRIBE (category = "clicked");
"""
ROW = {"eventtime": "2026-01-01T00:00:00Z", "ad": 1}


class Quiet(Daemon):
    """Looks at nothing by itself."""

    async def keep(self) -> None:
        return None


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    return Quiet(str(tmp_path), ledger_path(str(tmp_path)), frozenset({HOST}))


@pytest.fixture
def anyone(daemon: Daemon) -> Iterator[TestClient]:
    with TestClient(make_app(daemon), base_url=f"http://{HOST}", follow_redirects=False) as client:
        yield client


@pytest.fixture
def person(anyone: TestClient, daemon: Daemon) -> TestClient:
    assert anyone.get("/login", params={"link": daemon.ledger.new_link()}).status_code == 303
    return anyone


@pytest.fixture
def admin(anyone: TestClient, daemon: Daemon) -> TestClient:
    anyone.headers["Authorization"] = f"Bearer {new_token(daemon.home, 'ada', 'admin', 1)}"
    return anyone


def lines(*rows: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def csrf(client: TestClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)
    assert found is not None
    return found[1]


# ------------------------------------------------------------------------------------------ who gets in


@pytest.mark.parametrize(
    "path", ["/", "/new", "/log", "/api/v1/applications", "/api/v1/log", "/api/v1/stream"]
)
def test_nobody_gets_in_without_a_session_or_a_token(anyone: TestClient, path: str) -> None:
    answer = anyone.get(path)
    assert answer.status_code == 401
    if path.startswith("/api/"):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["condition"] == "NOT_LOGGED_IN"


def test_a_link_works_once(anyone: TestClient, daemon: Daemon) -> None:
    link = daemon.ledger.new_link()
    answer = anyone.get("/login", params={"link": link})
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert anyone.get("/").status_code == 200
    anyone.cookies.clear()
    assert anyone.get("/login", params={"link": link}).status_code == 403
    assert "Open the link" in anyone.get("/login").text


def test_after_logging_out_the_session_is_over(person: TestClient) -> None:
    session = person.cookies["dovetail_session"]
    assert person.post("/logout", data={"csrf": csrf(person)}).status_code == 303
    person.cookies.set("dovetail_session", session)
    assert person.get("/").status_code == 401


def test_a_change_needs_the_secret_of_the_session(person: TestClient, daemon: Daemon) -> None:
    body = {"text": QUERY}
    assert person.post("/api/v1/applications", json=body).status_code == 403
    assert person.post("/deploy", data={"text": QUERY, "csrf": "guess"}).status_code == 403
    answer = person.post("/api/v1/applications", json=body, headers={"X-CSRF": csrf(person)})
    assert answer.status_code == 201


def test_another_name_of_this_host_is_refused(admin: TestClient) -> None:
    assert admin.get("/api/v1/applications", headers={"Host": "evil.example"}).status_code == 421


def test_tokens_open_what_their_role_allows(anyone: TestClient, daemon: Daemon) -> None:
    wanted = {"viewer": [200, 403, 403, 403], "author": [200, 201, 403, 403]}
    for role in ROLES[:2]:
        anyone.headers["Authorization"] = f"Bearer {new_token(daemon.home, role, role, 1)}"
        answers = [
            anyone.get("/api/v1/applications"),
            anyone.post("/api/v1/applications", json={"text": QUERY}),
            anyone.post("/api/v1/applications/clicks/start"),
            anyone.delete("/api/v1/applications/clicks"),
        ]
        assert [answer.status_code for answer in answers] == wanted[role]
    anyone.headers["Authorization"] = f"Bearer {new_token(daemon.home, 'd', 'deployer', 1)}"
    assert anyone.post("/api/v1/applications/clicks/stop").status_code == 200
    assert anyone.delete("/api/v1/applications/clicks").status_code == 403


@pytest.mark.parametrize("given", ["", "x", "../../x.y", "abcd1234.wrong", "é.ü"])
def test_a_wrong_token_opens_nothing(anyone: TestClient, daemon: Daemon, given: str) -> None:
    new_token(daemon.home, "ada", "admin", 1)
    headers = {"Authorization": f"Bearer {given}".encode()}
    assert anyone.get("/api/v1/applications", headers=headers).status_code == 401


def test_a_token_ends(anyone: TestClient, daemon: Daemon) -> None:
    headers = {"Authorization": f"Bearer {new_token(daemon.home, 'ada', 'admin', -1)}"}
    assert anyone.get("/api/v1/applications", headers=headers).status_code == 401


def test_secrets_are_written_nowhere(anyone: TestClient, daemon: Daemon, tmp_path: Path) -> None:
    link, token = daemon.ledger.new_link(), new_token(daemon.home, "ada", "admin", 1)
    anyone.get("/login", params={"link": link})
    session = anyone.cookies["dovetail_session"]
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (link, token.partition(".")[2], session):
        assert secret.encode() not in stored


def test_every_answer_forbids_foreign_scripts(person: TestClient) -> None:
    for path in ("/", "/new", "/healthz", "/api/v1/applications", "/nothing"):
        policy = person.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy


def test_a_ledger_that_was_damaged_or_deleted_only_costs_a_login(tmp_path: Path) -> None:
    path = ledger_path(str(tmp_path))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all" * 1000)
    ledger = ServiceLedger(path)
    assert ledger.log_in(ledger.new_link()) is not None
    ledger.close()


# ---------------------------------------------------------------------------------------- applications


def test_from_nothing_to_a_deployed_application_and_back(admin: TestClient, daemon: Daemon) -> None:
    made = admin.put("/api/v1/applications/clicks", json={"text": QUERY})
    assert made.status_code == 200, made.text
    assert made.json()["wanted"] == "running"
    assert wanted_of(daemon.home, "clicks").by == "ada"
    for verb, state in (("stop", "stopped"), ("start", "running"), ("restart", "running")):
        assert admin.post(f"/api/v1/applications/clicks/{verb}").json()["wanted"] == state
    gone = admin.delete("/api/v1/applications/clicks").json()
    assert gone["wanted"] == "deleted"
    assert admin.post("/api/v1/applications/clicks/start").status_code == 409
    assert admin.post("/api/v1/applications/clicks/restore").json()["wanted"] == "stopped"
    kinds = [event["kind"] for event in admin.get("/api/v1/applications/clicks/events").json()]
    assert kinds == ["restored", "deleted", "restarted", "started", "stopped", "deployed"]


def test_a_stale_revision_changes_nothing(admin: TestClient, daemon: Daemon) -> None:
    tag = admin.put("/api/v1/applications/clicks", json={"text": QUERY}).headers["etag"]
    assert admin.get("/api/v1/applications/clicks").headers["etag"] == tag
    assert admin.post("/api/v1/applications/clicks/stop", headers={"If-Match": tag}).status_code == 200
    late = admin.put("/api/v1/applications/clicks", json={"text": QUERY}, headers={"If-Match": tag})
    assert late.status_code == 409
    assert "was changed by ada meanwhile: stopped" in late.json()["what"]
    assert wanted_of(daemon.home, "clicks").state == "stopped"


def test_errors_have_the_words_and_the_place_of_the_command_line(admin: TestClient) -> None:
    wrong = QUERY.replace("c.ad = i.ad", "c.ad = i.nothing")
    answer = admin.post("/api/v1/check", json={"text": wrong}).json()
    assert not answer["ok"]
    (found,) = answer["findings"]
    assert found["rule"] == "compiles"
    assert "nothing" in found["what"]
    assert "line" in found["where"] or ":" in found["where"]
    refused = admin.put("/api/v1/applications/clicks", json={"text": wrong})
    assert refused.status_code == 422
    assert refused.json()["what"] == found["what"]


def test_a_query_belongs_to_the_application_that_it_names(admin: TestClient) -> None:
    answer = admin.put("/api/v1/applications/views", json={"text": QUERY})
    assert answer.status_code == 422
    assert "is for application clicks, not for views" in answer.json()["what"]


def test_two_applications_cannot_write_to_one_place(admin: TestClient, daemon: Daemon) -> None:
    from dovetail.plan.application_file import application_path, encode
    from dovetail.pql.compile import compile_program
    from dovetail.pql.parser import parse

    other = QUERY.replace("CREATE APPLICATION clicks", "CREATE APPLICATION other")
    path = Path(daemon.home) / application_path("other")
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(compile_program(parse(other, name="other"), {})))
    found = admin.post("/api/v1/check", json={"text": QUERY}).json()["findings"]
    assert [(one["rule"], one["what"]) for one in found] == [
        ("alone", "application other writes to category clicked already")
    ]


def test_a_folder_that_cannot_be_written_is_found_before_anything_runs(
    admin: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    text = QUERY.replace('SCRIBE (category = "clicked")', f'PARQUET (path = "{tmp_path}/file/out")')
    found = admin.post("/api/v1/check", json={"text": text}).json()["findings"]
    assert [one["rule"] for one in found] == ["writable"]


def test_a_clone_has_another_name_and_waits_for_other_places(admin: TestClient, daemon: Daemon) -> None:
    admin.post("/api/v1/applications", json={"text": QUERY})
    made = admin.post("/api/v1/applications/clicks/clone", json={"name": "second"})
    assert made.status_code == 201
    assert "CREATE APPLICATION second;" in wanted_of(daemon.home, "second").text
    assert admin.post("/api/v1/applications/clicks/clone", json={"name": "second"}).status_code == 409


def test_an_application_nobody_knows(admin: TestClient) -> None:
    for path in ("", "/events", "/versions", "/rows", "/why?key=1", "/output"):
        answer = admin.get(f"/api/v1/applications/nobody{path}")
        assert answer.status_code in (200, 404), path
        assert answer.status_code == 404 or path == "/events"


# ------------------------------------------------------------------------------------------- the log


def test_rows_enter_once_by_producer_and_sequence(admin: TestClient, daemon: Daemon) -> None:
    headers = {"Content-Type": "application/x-ndjson", "Producer": "app-1", "Sequence": "1"}
    for _ in range(3):
        answer = admin.post("/api/v1/log/clicks", content=lines(ROW, ROW), headers=headers)
        assert answer.status_code == 201, answer.text
    headers["Sequence"] = "2"
    admin.post("/api/v1/log/clicks", content=lines(ROW), headers=headers)
    category = Category.open(daemon.home, "clicks")
    assert sum(commit.rows for commit in category.commits(0, category.next_commit())) == 3
    assert admin.get("/api/v1/log/clicks").json()["rows_shown"][-1][1] == 1


def test_rows_enter_as_an_arrow_stream(admin: TestClient) -> None:
    table = pa.table({"eventtime": pa.array([0], pa.timestamp("us", "UTC")), "ad": pa.array([7])})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    assert admin.post("/api/v1/log/ads", content=sink.getvalue(), headers=headers).json()["rows"] == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-ndjson", b"{"),
        ("application/x-ndjson", b""),
        ("application/vnd.apache.arrow.stream", b"no arrow"),
        ("text/html", b"<p>"),
        ("", b"x"),
    ],
)
def test_a_bad_body_is_refused_and_leaves_nothing(
    admin: TestClient, daemon: Daemon, kind: str, body: bytes
) -> None:
    answer = admin.post("/api/v1/log/clicks", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422, answer.text
    assert str(daemon.home) not in answer.text or "tmp" not in answer.json()["where"]
    assert not (Path(daemon.home) / "log" / "clicks" / "category.json").exists()


# ------------------------------------------------------------------------------------------ the portal


def test_pages_show_a_rows_text_as_text(person: TestClient, daemon: Daemon) -> None:
    nasty = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    headers = {"Content-Type": "application/x-ndjson", "X-CSRF": csrf(person)}
    row = {**ROW, "campaign": nasty}
    assert person.post("/api/v1/log/clicks", content=lines(row), headers=headers).status_code == 201
    page = person.get("/log/clicks").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_editor_checks_while_one_types_and_keeps_what_was_typed(person: TestClient) -> None:
    headers = {"X-CSRF": csrf(person)}
    checked = person.post("/fragments/check", data={"text": QUERY}, headers=headers).text
    assert "No mistakes found." in checked
    assert "<svg" in checked
    wrong = QUERY.replace("SELECT eventtime", "SELECT nothing")
    assert "nothing" in person.post("/fragments/check", data={"text": wrong}, headers=headers).text
    back = person.post("/deploy", data={"text": wrong, "csrf": csrf(person)})
    assert back.status_code == 422
    assert "SELECT nothing" in back.text


def test_by_clicks_from_an_empty_home_to_a_deployed_application(person: TestClient) -> None:
    assert "No applications yet." in person.get("/").text
    assert "CREATE APPLICATION" in person.get("/new").text
    answer = person.post("/deploy", data={"text": QUERY, "csrf": csrf(person)})
    assert answer.headers["location"] == "/applications/clicks"
    page = person.get("/applications/clicks")
    assert page.status_code == 200
    assert "pending" in page.text
    stop = {"csrf": csrf(person), "verb": "stop", "revision": "1"}
    assert person.post("/applications/clicks/do", data=stop).status_code == 303
    late = person.post("/applications/clicks/do", data=stop)
    assert late.status_code == 409
    assert "was changed by admin meanwhile" in late.text
    assert "Start" in person.get("/applications/clicks").text
    for path in ("/applications/clicks/edit", "/fragments/applications/clicks", "/applications/clicks/why"):
        assert person.get(path).status_code == 200


def test_the_editor_has_fields_for_what_goes_with_a_query(
    person: TestClient, daemon: Daemon, tmp_path: Path
) -> None:
    """What was filled in is checked, and is there again if the query is refused."""
    ads_has_run(daemon.home, tmp_path)
    assert 'name="begins"' in person.get("/applications/ads/edit").text
    assert 'name="begins"' not in person.get("/new").text, "a first query has nothing to go on from"
    secret, said = csrf(person), {"text": TAPS, "application": "ads"}
    headers = {"X-CSRF": secret}
    assert "cannot go on" in person.post("/fragments/check", data=said, headers=headers).text
    found = person.post("/fragments/check", data={**said, "begins": "c=latest"}, headers=headers).text
    assert "No mistakes found." in found
    back = person.post(
        "/deploy", data={**said, "begins": "c=soon, i=latest", "csrf": secret, "reslice": "yes"}
    )
    assert back.status_code == 422
    assert 'value="c=soon, i=latest"' in back.text
    assert 'value="yes" checked' in back.text
    given = {**said, "begins": " c=latest ,", "csrf": secret, "reslice": "yes"}
    assert person.post("/deploy", data=given).status_code == 303
    wanted = wanted_of(daemon.home, "ads")
    assert (wanted.begins, wanted.reslice, wanted.beside) == (("c=latest",), True, 1)


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may get longer than nothing: as on a full disk, every write fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_an_error_with_words_and_then_over(admin: TestClient, daemon: Daemon) -> None:
    link = daemon.ledger.new_link()
    with full_disk():
        refused = admin.put("/api/v1/applications/clicks", json={"text": QUERY})
        page = admin.get("/login", params={"link": link})
        with pytest.raises(Unreachable, match="cannot be written"):
            daemon.ledger.remember("clicks", 1.0, {})
    assert (refused.status_code, page.status_code) == (503, 503)
    assert refused.json()["condition"] == "HOME_UNUSABLE"
    assert find_wanted(daemon.home, "clicks") is None
    assert admin.get("/login", params={"link": link}).status_code == 303, "the link was not used up"
    assert admin.put("/api/v1/applications/clicks", json={"text": QUERY}).status_code == 200
    daemon.ledger.remember("clicks", 1.0, {})


def test_health_needs_nobody(anyone: TestClient) -> None:
    assert anyone.get("/healthz").text == "ok\n"
    assert anyone.get("/readyz").status_code == 503


def test_alarms_are_seen_and_muted(person: TestClient, daemon: Daemon) -> None:
    secret = {"X-CSRF": csrf(person)}
    person.put("/api/v1/applications/clicks", json={"text": QUERY}, headers=secret)
    wrong = Look("clicks", "running", "crash loop", "<b>the sink is full</b>")
    daemon.bell.look([wrong])
    assert [held["name"] for held in person.get("/api/v1/alarms").json()] == ["crash_loop"]
    for path in ("/", "/applications/clicks"):
        page = person.get(path).text
        assert "crash loop" in page
        assert "<b>the sink" not in page
    muted = {"application": "clicks", "alarm": "crash_loop", "hours": 1}
    assert person.post("/api/v1/alarms/mute", json=muted, headers=secret).status_code == 204
    wild = {"application": "../x", "alarm": "*", "hours": 1}
    assert person.post("/api/v1/alarms/mute", json=wild, headers=secret).status_code == 422
    assert read_settings(daemon.home).is_muted("clicks", "crash_loop", 0)


def test_prometheus_reads_the_state_of_all_applications(admin: TestClient, anyone: TestClient) -> None:
    admin.post("/api/v1/applications", json={"text": QUERY})
    said = admin.get("/metrics").text
    assert 'dovetail_application_state{application="clicks",state="pending"} 1.0' in said
    assert 'dovetail_application_backlog_rows{application="clicks"} 0.0' in said
    del anyone.headers["Authorization"]
    assert anyone.get("/metrics").status_code == 401


def test_the_api_describes_itself(anyone: TestClient) -> None:
    described = anyone.get("/api/v1/openapi.json").json()
    assert "/api/v1/applications/{name}/rollback" in described["paths"]
    assert not any(path.startswith("/fragments") for path in described["paths"])
