"""A test for each rule of access: what a role opens and what it does not, what a query may reach, how people
log in, and that all of it is written down."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from serving import PASSWORD, QUERY, as_user, calling, csrf, people, quiet_daemon

from commands import run_command
from dovetail.errors import CorruptFile, InputError, SettingError, StateError, UnknownVersion
from dovetail.log import document
from dovetail.pql.parser import parse
from dovetail.service.access.audit import audited
from dovetail.service.access.caller import Caller
from dovetail.service.access.passwords import hashed, is_password
from dovetail.service.access.people import (
    Access,
    User,
    add_user,
    change,
    change_user,
    grant,
    read_access,
    remove_user,
    revoke,
    set_reach,
)
from dovetail.service.access.places import path, pattern_of
from dovetail.service.access.reach import beyond, reach_of
from dovetail.service.access.roles import ROLES, Refused
from dovetail.service.access.tokens import KIND, find_token, new_token
from dovetail.service.keeping import verbs
from dovetail.service.keeping.wanted import wanted_of
from dovetail.service.server.ledger import SESSION_S
from dovetail.service.server.listening import Listening, require_safe
from dovetail.service.server.logins import MOST_TRIES
from dovetail.service.server.state import Daemon

ADA, BOB = QUERY.format(name="ada_one"), QUERY.format(name="bob_one")


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    made = quiet_daemon(tmp_path)
    people(made.home)
    return made


@pytest.fixture
def client(daemon: Daemon) -> Iterator[TestClient]:
    with calling(daemon) as client:
        yield client


@pytest.fixture
def deployed(daemon: Daemon) -> Daemon:
    """Ada and Bob have an application each."""
    for user, text in (("ada", ADA), ("bob", BOB)):
        verbs.create(daemon.home, text, by=user)
    return daemon


# ------------------------------------------------------------------------------------- roles, as a table

NEEDED = {
    ("GET", ""): "viewer",
    ("GET", "/events"): "viewer",
    ("GET", "/history"): "viewer",
    ("GET", "/output"): "viewer",
    ("PUT", ""): "deployer",
    ("POST", "/start"): "deployer",
    ("POST", "/stop"): "deployer",
    ("POST", "/restart"): "deployer",
    ("POST", "/rollback"): "deployer",
    ("POST", "/scale"): "deployer",
    ("GET", "/scaler"): "viewer",
    ("POST", "/scaler"): "deployer",
    ("POST", "/place"): "deployer",
    ("POST", "/restore"): "admin",
    ("POST", "/give"): "admin",
    ("DELETE", ""): "admin",
}
BODIES = {
    "/scaler": {"mode": "advise"},
    "/place": {"where": "own"},
    "/rollback": {"version": 1},
    "/scale": {"tasks": "2"},
    "/give": {"owner": "ada"},
    "": {"text": ADA},
}


@pytest.mark.parametrize("role", ROLES)
def test_each_call_needs_its_role_for_this_application(
    client: TestClient, deployed: Daemon, role: str
) -> None:
    change(deployed.home, lambda access: grant(access, "eve", role, "ada_one"))
    as_user(client, deployed, "eve")
    for (method, call), needed in NEEDED.items():
        body = BODIES.get(call) if method in ("PUT", "POST") else None
        answer = client.request(method, f"/api/v1/applications/ada_one{call}", json=body)
        refused = answer.status_code == 403
        assert refused == (ROLES.index(role) < ROLES.index(needed)), (method, call, answer.text)
        other = client.request(method, f"/api/v1/applications/bob_one{call}", json=body)
        assert other.status_code in (403, 404), "a role for one application opens no other"


def test_only_an_admin_of_everything_says_where_code_runs(client: TestClient, deployed: Daemon) -> None:
    wanted = {"where": "own", "master": "spark://elsewhere:7077"}
    for user, status in (("ada", 403), ("root", 200)):
        as_user(client, deployed, user)
        assert client.post("/api/v1/applications/ada_one/place", json=wanted).status_code == status


def test_quotas_are_set_by_admins_of_everything(client: TestClient, deployed: Daemon) -> None:
    for user, status in (("ada", 403), ("root", 200)):
        as_user(client, deployed, user)
        assert client.put("/api/v1/quotas/ada", json={"tasks": 100}).status_code == status
        assert client.get("/api/v1/quotas").status_code == status


def test_what_one_may_not_see_is_not_there(client: TestClient, deployed: Daemon) -> None:
    as_user(client, deployed, "ada")
    hidden = client.get("/api/v1/applications/bob_one")
    nowhere = client.get("/api/v1/applications/nobody")
    assert hidden.status_code == nowhere.status_code == 404
    assert hidden.text.replace("bob_one", "nobody") == nowhere.text
    assert [one["name"] for one in client.get("/api/v1/applications").json()] == ["ada_one"]
    assert "bob_one" not in client.get("/").text
    assert client.get("/applications/bob_one").status_code == 404


def test_a_groups_role_is_its_members(client: TestClient, deployed: Daemon) -> None:
    as_user(client, deployed, "vic")
    assert client.get("/api/v1/applications/ada_one").status_code == 200
    assert client.post("/api/v1/applications/ada_one/stop").status_code == 403
    change(deployed.home, lambda access: change_user(access, "vic", groups=()))
    assert client.get("/api/v1/applications/ada_one").status_code == 404


def test_an_owner_is_admin_of_what_is_theirs(client: TestClient, deployed: Daemon) -> None:
    as_user(client, deployed, "ada")
    assert wanted_of(deployed.home, "ada_one").owner == "ada"
    assert client.delete("/api/v1/applications/ada_one").status_code == 200
    assert client.post("/api/v1/applications/ada_one/restore").status_code == 200
    change(deployed.home, lambda access: set_reach(access, "bob", ["log:*"], ["log:*"]))
    assert client.post("/api/v1/applications/ada_one/give", json={"owner": "bob"}).status_code == 200
    assert client.delete("/api/v1/applications/ada_one").status_code == 403, "it is Bob's now"


def test_an_application_goes_to_nobody_who_may_not_reach_what_it_reads(deployed: Daemon) -> None:
    with pytest.raises(Refused, match="bob may not read category ada_one_clicks"):
        verbs.give(deployed.home, "ada_one", "bob", by="root")
    with pytest.raises(StateError, match="there is no user zoe"):
        verbs.give(deployed.home, "ada_one", "zoe", by="root")


def test_new_applications_need_a_role_for_their_name(client: TestClient, daemon: Daemon) -> None:
    as_user(client, daemon, "ada")
    assert client.post("/api/v1/applications", json={"text": ADA}).status_code == 201
    assert client.post("/api/v1/applications", json={"text": BOB}).status_code == 403
    assert client.put("/api/v1/applications/bob_one", json={"text": BOB}).status_code == 403
    as_user(client, daemon, "eve")
    assert client.post("/api/v1/applications", json={"text": ADA}).status_code == 403


def test_a_token_opens_no_more_than_its_role_scope_and_user(client: TestClient, deployed: Daemon) -> None:
    home = deployed.home
    for token, status in (
        (new_token(home, "t", "viewer", 1, user="root"), 403),
        (new_token(home, "t", "admin", 1, ("bob*",), user="root"), 404),
        (new_token(home, "t", "admin", 1, ("ada*",), user="root"), 200),
        (new_token(home, "t", "admin", 1, user="eve"), 404),
        (new_token(home, "t", "admin", 1, ("ada_one",)), 200),
        (new_token(home, "t", "admin", 1, ("bob_one",)), 404),
    ):
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.post("/api/v1/applications/ada_one/stop").status_code == status
    client.headers["Authorization"] = f"Bearer {new_token(home, 't', 'admin', 1, ('ada_one',))}"
    assert client.get("/metrics").status_code == 403
    assert client.get("/api/v1/log").json() == []


def test_a_user_who_is_put_out_is_out_at_once(client: TestClient, deployed: Daemon) -> None:
    as_user(client, deployed, "ada")
    assert client.get("/api/v1/applications").status_code == 200
    change(deployed.home, lambda access: change_user(access, "ada", active=False))
    assert client.get("/api/v1/applications").status_code == 401
    change(deployed.home, lambda access: remove_user(access, "ada"))
    assert client.get("/api/v1/applications").status_code == 401


def test_tokens_of_an_earlier_release_are_read(tmp_path: Path) -> None:
    made = new_token(str(tmp_path), "old", "viewer", 1)
    path = tmp_path / "service/tokens" / f"{made.partition('.')[0]}.json"
    body = document.decode(path.read_bytes(), KIND, 2, where="", remedy="")
    old = {name: value for name, value in body.items() if name not in ("scope", "user")}
    path.write_bytes(document.encode(KIND, 1, old))
    found = find_token(str(tmp_path), made)
    assert found is not None
    assert (found.role, found.scope, found.user) == ("viewer", ("*",), None)


# ------------------------------------------------------------------------------------------ the log


def row(client: TestClient, category: str) -> int:
    body = b'{"eventtime": "2026-01-01T00:00:00Z", "ad": 1}'
    headers = {"Content-Type": "application/x-ndjson"}
    return client.post(f"/api/v1/log/{category}", content=body, headers=headers).status_code


def test_rows_are_read_and_written_within_reach(client: TestClient, daemon: Daemon) -> None:
    for user in ("ada", "bob"):
        as_user(client, daemon, user)
        assert row(client, f"{user}_clicks") == 201
    assert row(client, "ada_clicks") == 403
    hidden, nowhere = (client.get(f"/api/v1/log/{name}") for name in ("ada_clicks", "nothing"))
    assert hidden.status_code == nowhere.status_code == 404
    assert [one["name"] for one in client.get("/api/v1/log").json()] == ["bob_clicks"]
    assert "ada_clicks" not in client.get("/log").text
    as_user(client, daemon, "root")
    assert {"ada_clicks", "bob_clicks"} <= {one["name"] for one in client.get("/api/v1/log").json()}
    as_user(client, daemon, "ada", "viewer")
    assert row(client, "ada_clicks") == 403, "a token of a lower role"


def test_nobody_writes_what_the_service_writes(client: TestClient, daemon: Daemon) -> None:
    as_user(client, daemon, "root")
    assert row(client, "service.audit") == 403
    text = ADA.replace('"ada_one_out"', '"service.audit"')
    answer = client.post("/api/v1/check", json={"text": text}).json()
    assert [found["rule"] for found in answer["findings"]] == ["reaches"]
    assert client.get("/api/v1/log/service.audit").status_code in (200, 404)
    as_user(client, daemon, "ada")
    assert client.get("/api/v1/log/service.audit").status_code == 404


# --------------------------------------------------------------------------------- what a query reaches

INPUT = "CREATE APPLICATION ada_x; CREATE INPUT TABLE t (k BIGINT, ts TIMESTAMP) FROM {}; CREATE TABLE o AS "
OUTPUT = "SELECT k FROM t STORAGE {};"


def refused(text: str, home: str, owner: str = "ada") -> list[str]:
    return [error.what for error in beyond(read_access(home), owner, parse(text, name="q"), home)]


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ('SCRIBE("ada_in")', None),
        ('SCRIBE("ada_x.v.left")', None),
        ('SCRIBE("bob_in")', "ada may not read category bob_in"),
        ('SCRIBE("service.audit")', "ada may not read category service.audit"),
        ('FILES("/data/ada/in", format = "parquet")', None),
        ('FILES("/data/ada", format = "parquet")', None),
        ('FILES("/data/adam", format = "parquet")', "ada may not read /data/adam"),
        ('FILES("/data/ada/../bob", format = "parquet")', "ada may not read /data/ada/../bob"),
        ('FILES("/data/ada/*/x", format = "parquet")', None),
        ('FILES("/data/ada/{x,../../bob}", format = "csv")', "ada may not read /data/ada/{x,../../bob}"),
        ('FILES("file:///etc/passwd", format = "csv")', "ada may not read file:///etc/passwd"),
        ('FILES("file:///data/ada/%2e%2e/bob", format = "csv")', "ada may not read"),
        ('FILES("s3://bucket/x", format = "csv")', "ada may not read s3://bucket/x"),
        ('KAFKA("t", brokers = "b:9092", format = "json")', "ada may not read topic t"),
        ('DELTA("/data/ada/clicks")', None),
        ('DELTA("/data/bob/clicks")', "ada may not read /data/bob/clicks"),
        ('ICEBERG("web.clicks", uri = "sqlite:///c.db")', "ada may not read Iceberg table web.clicks"),
    ],
)
def test_inputs_are_within_reach(daemon: Daemon, origin: str, said: str | None) -> None:
    found = refused(INPUT.format(origin) + OUTPUT.format("NOOP"), daemon.home)
    assert found[0].startswith(said) if said else not found, found


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ('SCRIBE (category = "ada_out")', None),
        ('SCRIBE (category = "adam")', "ada may not write category adam"),
        ('PARQUET (path = "/data/ada/out")', "ada may not write /data/ada/out"),
        ('DUCKDB (path = "/data/x.duckdb", table = "t")', "ada may not write /data/x.duckdb"),
        ('KAFKA (topic = "t", brokers = "b:9092")', "ada may not write"),
        (
            'HIVE (table = "w.t", uri = "thrift://h:1", path = "/data/ada/t")',
            "ada may not write Hive table w.t of thrift://h:1",
        ),
        ('HIVE (table = "w.t", uri = "thrift://h:1", path = "/data/x")', "ada may not write /data/x"),
        ('POSTGRES (connection = SECRET("PG"), table = "t")', 'ada may not read SECRET("PG")'),
        ("CONSOLE", None),
    ],
)
def test_sinks_and_secrets_are_within_reach(daemon: Daemon, storage: str, said: str | None) -> None:
    found = refused(INPUT.format('SCRIBE("ada_in")') + OUTPUT.format(storage), daemon.home)
    assert any(one.startswith(said) for one in found) if said else not found, found


def test_lookup_tables_are_within_reach(daemon: Daemon) -> None:
    for table, said in (
        ('PARQUET("/data/ada/users")', []),
        ('DELTA("/data/bob/users")', ["ada may not read /data/bob/users"]),
        (
            'POSTGRES(connection = SECRET("db"), table = "users")',
            ["ada may not read table users in PostgreSQL", 'ada may not read SECRET("db")'],
        ),
    ):
        text = INPUT.format('SCRIBE("ada_in")').replace(
            "CREATE TABLE", f"CREATE LOOKUP TABLE u (k BIGINT, n STRING) FROM {table}; CREATE TABLE"
        )
        query = "SELECT u.n FROM t JOIN TABLE u ON t.k = u.k STORAGE NOOP;"
        assert refused(text + query, daemon.home) == said


def test_a_schema_registry_is_within_reach_before_it_is_asked(daemon: Daemon) -> None:
    change(daemon.home, lambda access: set_reach(access, "ada", ["kafka:b:9092/t"], []))
    origin = 'KAFKA("t", brokers = "b:9092", format = "avro", schema_registry = "http://inside:8081")'
    assert refused(INPUT.format(origin) + OUTPUT.format("NOOP"), daemon.home) == [
        "ada may not read the schema registry http://inside:8081"
    ]


def test_a_link_does_not_lead_out_of_reach(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "other").symlink_to("/etc")
    change(daemon.home, lambda access: set_reach(access, "eve", [str(tmp_path / "mine")], []))
    home = str(tmp_path / "elsewhere")
    access = read_access(daemon.home)
    for name, fine in (("x", True), ("other", False)):
        text = INPUT.format(f'FILES("{tmp_path}/mine/{name}", format = "csv")') + OUTPUT.format("NOOP")
        assert (not list(beyond(access, "eve", parse(text, name="q"), home))) == fine


def test_the_home_is_in_nobodys_reach(daemon: Daemon) -> None:
    text = INPUT.format(f'FILES("{daemon.home}/service", format = "json")') + OUTPUT.format("NOOP")
    assert refused(text, daemon.home, "root")


def test_functions_need_a_role_of_their_own(daemon: Daemon) -> None:
    text = INPUT.format('SCRIBE("ada_in")') + (
        "SELECT k, java_method('java.lang.System', 'getenv', 'X') AS x FROM t STORAGE NOOP;"
    )
    for owner in ("ada", "root"):  # an admin does not have it by being one
        (said,) = refused(text, daemon.home, owner)
        assert said.startswith(f"{owner} may not use functions")
    change(daemon.home, lambda access: grant(access, "ada", "functions", "ada_*"))
    assert refused(text, daemon.home) == []


def test_a_function_of_the_query_itself_needs_it_too(daemon: Daemon) -> None:
    text = "CREATE FUNCTION twice (x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$ return x * 2 $$;"
    text = INPUT.format('SCRIBE("ada_in")').replace("CREATE INPUT", text + " CREATE INPUT", 1)
    assert refused(text + "SELECT twice(k) AS k FROM t STORAGE NOOP;", daemon.home) == [
        "ada may not use functions such as twice: they run any code"
    ]


def test_what_may_not_be_read_is_not_looked_at(client: TestClient, daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("salary\n100\n")
    as_user(client, daemon, "ada")
    text = INPUT.replace(" (k BIGINT, ts TIMESTAMP)", "").format(f'FILES("{tmp_path}", format = "csv")')
    answer = client.post("/api/v1/check", json={"text": text + OUTPUT.format("NOOP")})
    assert [one["rule"] for one in answer.json()["findings"]] == ["reaches"]
    assert "salary" not in answer.text


def test_a_query_is_checked_by_its_owners_reach_whoever_deploys_it(
    client: TestClient, deployed: Daemon
) -> None:
    change(deployed.home, lambda access: grant(access, "bob", "deployer", "ada_one"))
    as_user(client, deployed, "bob")
    wrong = ADA.replace("ada_one_clicks", "bob_clicks")
    assert client.put("/api/v1/applications/ada_one", json={"text": wrong}).status_code == 403
    assert client.put("/api/v1/applications/ada_one", json={"text": ADA}).status_code == 200
    assert wanted_of(deployed.home, "ada_one").owner == "ada"


def test_without_users_the_home_is_its_own_owners(tmp_path: Path) -> None:
    assert reach_of(Access(), "anybody").read == ("*",)
    text = INPUT.format('FILES("/etc", format = "csv")') + OUTPUT.format("NOOP")
    assert refused(text, str(tmp_path)) == []


def test_a_place_that_is_none_is_refused() -> None:
    for text in ("relative/path", "", "log:", "nothing"):
        with pytest.raises(InputError, match="is not a place"):
            pattern_of(text)
    assert pattern_of("/data/../data/x/") == "/data/x"
    assert path("s3://bucket/../other").name == ""


# ------------------------------------------------------------------------------------------- passwords


def enter(client: TestClient, user: str, password: str, **more: str) -> int:
    return client.post("/login", data={"user": user, "password": password, **more}).status_code


def test_people_log_in_with_a_password(client: TestClient, daemon: Daemon) -> None:
    assert enter(client, "ada", "wrong") == 401
    assert enter(client, "nobody", PASSWORD) == 401
    assert client.get("/").status_code == 401
    assert enter(client, "ada", PASSWORD) == 303
    page = client.get("/").text
    assert "Log out ada" in page
    assert client.post("/deploy", data={"text": ADA}).status_code == 403, "the session's secret is missing"
    assert client.post("/deploy", data={"text": ADA, "csrf": csrf(client)}).status_code == 303
    assert wanted_of(daemon.home, "ada_one").owner == "ada"


def test_passwords_are_tried_at_the_pace_of_people(client: TestClient, daemon: Daemon) -> None:
    for _ in range(MOST_TRIES["both"]):
        assert enter(client, "ada", "wrong") == 401
    answer = client.post("/login", data={"user": "ada", "password": PASSWORD})
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert enter(client, "bob", PASSWORD) == 303, "others are let in"


def test_one_address_does_not_try_all_names(client: TestClient, daemon: Daemon) -> None:
    daemon.ledger.tried(*(["address testclient"] * MOST_TRIES["address"]))
    assert enter(client, "bob", PASSWORD) == 429


def test_a_password_that_changes_ends_sessions(
    client: TestClient, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert enter(client, "ada", PASSWORD) == 303
    monkeypatch.setattr("sys.stdin", io.StringIO("another long one\n"))
    assert run_command("user", "password", "ada", "--password-stdin", "--home", daemon.home) == 0
    assert client.get("/").status_code == 401
    assert enter(client, "ada", "another long one") == 303


def test_a_session_ends(client: TestClient, daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    assert enter(client, "ada", PASSWORD) == 303
    later = time.time() + SESSION_S + 1
    monkeypatch.setattr("dovetail.service.server.ledger.time.time", lambda: later)
    assert client.get("/").status_code == 401
    part = client.get("/fragments/applications")
    assert part.status_code == 401
    assert "Your session is over." in part.text
    back = client.post("/deploy", data={"text": "what I wrote", "csrf": "x"})
    assert "what I wrote" in back.text, "nobody loses a text for having been away over night"


def test_passwords_are_hashed_with_argon2() -> None:
    known = hashed(PASSWORD)
    assert known.startswith("$argon2id$")
    assert is_password(known, PASSWORD)
    assert not is_password(known, PASSWORD + "x")
    assert not is_password(None, PASSWORD)
    assert not is_password("no hash", PASSWORD)
    with pytest.raises(InputError, match="10 to"):
        hashed("short")


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", "x"])
def test_nobody_is_sent_elsewhere_after_a_log_in(client: TestClient, back: str) -> None:
    answer = client.post("/login", data={"user": "ada", "password": PASSWORD, "back": back})
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}]
)
def test_what_comes_from_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    data = {"user": "ada", "password": PASSWORD}
    assert client.post("/login", data=data, headers=headers).status_code == 403
    assert enter(client, "ada", PASSWORD) == 303
    body = {"text": ADA, "csrf": csrf(client)}
    assert client.post("/deploy", data=body, headers=headers).status_code == 403


# -------------------------------------------------------------------------------------------- the audit


def test_every_change_is_written_down_and_every_try(client: TestClient, deployed: Daemon) -> None:
    as_user(client, deployed, "ada")
    client.post("/api/v1/applications/ada_one/stop")
    client.post("/api/v1/applications/bob_one/stop")
    client.post("/api/v1/check", json={"text": ADA})
    del client.headers["Authorization"]
    enter(client, "ada", "wrong")
    enter(client, "ada", PASSWORD)
    client.post("/applications/ada_one/do", data={"verb": "restart", "csrf": csrf(client)})
    said = [(row["by"], row["way"], row["deed"], row["outcome"]) for row in reversed(audited(deployed.home))]
    assert said == [
        ("ada", "token", "POST /api/v1/applications/ada_one/stop", "done"),
        ("ada", "token", "POST /api/v1/applications/bob_one/stop", "404 there is no application bob_one"),
        ("ada", "password", "logged in", "the name or the password is wrong"),
        ("ada", "password", "logged in", "done"),
        ("ada", "password", "POST /applications/ada_one/do restart", "done"),
    ]
    assert all(row["address"] == "testclient" for row in audited(deployed.home))


# ---------------------------------------------------------------------------------------- the document


def test_two_who_change_users_at_once_are_told_apart(tmp_path: Path) -> None:
    home = str(tmp_path)
    people(home)
    seen = read_access(home).revision
    change(home, lambda access: grant(access, "eve", "viewer"), seen)
    with pytest.raises(StateError, match="changed by somebody else meanwhile"):
        change(home, lambda access: grant(access, "eve", "admin"), seen)
    assert read_access(home).role(frozenset({"eve"}), "x") == "viewer"


def test_somebody_stays_who_may_change_users(tmp_path: Path) -> None:
    home = str(tmp_path)
    people(home)
    for last in (
        lambda access: remove_user(access, "root"),
        lambda access: revoke(access, "root", "admin"),
        lambda access: change_user(access, "root", active=False),
    ):
        with pytest.raises(StateError, match="nobody would be left"):
            change(home, last)


def test_the_document_is_checked_when_it_is_read(tmp_path: Path) -> None:
    home = str(tmp_path)
    people(home)
    file = next((tmp_path / "service/access").iterdir())
    whole = file.read_bytes()
    assert PASSWORD.encode() not in whole
    file.write_bytes(whole[:-9])
    with pytest.raises(CorruptFile):
        read_access(home)
    file.write_bytes(document.encode("dovetail.access", 9, {}))
    with pytest.raises(UnknownVersion):
        read_access(home)
    body = {"revision": 1, "users": [], "grants": [{"who": "x", "application": "*", "role": "king"}]}
    file.write_bytes(document.encode("dovetail.access", 1, {**body, "reaches": []}))
    with pytest.raises(CorruptFile, match="king"):
        read_access(home)


@pytest.mark.parametrize("name", ["admin", "Service", "", "a b", "../x", "@x", "<b>"])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        add_user(Access(), User(name))


def test_a_callers_role_is_never_above_the_limit_of_a_token() -> None:
    access = grant(add_user(Access(), User("ada")), "ada", "admin")
    caller = Caller("ada", access, limit="viewer")
    assert caller.role("x") == "viewer"
    assert replace(caller, scope=("y",)).role("x") is None
    with pytest.raises(Refused, match="ada may not do this"):
        caller.require("deployer", "x")


# ---------------------------------------------------------------------------------- where it may listen


def problem(wanted: Listening, home: str) -> str:
    try:
        require_safe(wanted, home)
    except SettingError as error:
        return error.what
    return ""


def test_other_addresses_need_users_and_tls_or_a_proxy(tmp_path: Path) -> None:
    home, file = str(tmp_path), tmp_path / "x.pem"
    file.write_text("x")
    assert problem(Listening(), home) == ""
    assert "there are no users" in problem(Listening("0.0.0.0", 1, certificate=file, key=file), home)
    assert "there are no users" in problem(Listening(proxy="https://a.example"), home)
    people(home)
    assert "without TLS" in problem(Listening("0.0.0.0"), home)
    assert problem(Listening("0.0.0.0", 1, certificate=file, key=file), home) == ""
    assert problem(Listening("10.0.0.1", proxy="https://a.example"), home) == ""
    assert "is not the address of a proxy" in problem(Listening(proxy="http://a.example"), home)
    assert "go together" in problem(Listening(certificate=file), home)
    assert "cannot read" in problem(Listening(certificate=tmp_path / "no", key=file), home)
    assert Listening("0.0.0.0", names=("a.example",)).hosts(443) >= {"a.example", "a.example:443"}


def test_elsewhere_than_on_loopback_no_link_lets_in(tmp_path: Path) -> None:
    daemon = quiet_daemon(tmp_path, links=False)
    people(daemon.home)
    with calling(daemon) as client:
        assert client.get("/login", params={"link": daemon.ledger.new_link()}).status_code == 403


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ("--home", str(tmp_path))
    assert run_command("user", "add", "ada", "--no-password", *home) == 1
    assert "the first user must be an admin" in capsys.readouterr().err
    assert run_command("user", "add", "root", "--admin", "--no-password", *home) == 0
    assert run_command("user", "add", "ada", "--oidc", "--group", "team", *home) == 0
    assert run_command("access", "grant", "@team", "deployer", "ads_*", *home) == 0
    assert run_command("access", "reach", "@team", "--read", "log:*", *home) == 0
    assert run_command("user", "change", "ada", "--out", *home) == 0
    capsys.readouterr()
    assert run_command("access", "list", *home) == 0
    said = capsys.readouterr().out
    for line in ("ada  (out)", "@team is deployer of ads_*", "@team reads log:*", "root is admin of *"):
        assert line in said
    assert run_command("access", "revoke", "@team", "deployer", "ads_*", *home) == 0
    assert run_command("user", "remove", "ada", *home) == 0
    assert run_command("access", "audit", *home) == 0
    assert "user ada removed: done" in capsys.readouterr().out
    assert run_command("access", "grant", "zoe", "viewer", *home) == 1
