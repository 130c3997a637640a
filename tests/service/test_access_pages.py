"""Users, groups, roles and tokens in the portal: who may, what is shown once, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from dovetail.service.access.audit import audited
from dovetail.service.access.people import Grant, Reach, read_access
from dovetail.service.access.tokens import find_token, list_tokens, new_token
from dovetail.service.server.state import Daemon
from service.serving import PASSWORD, as_user, calling, csrf, people, quiet_daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    return quiet_daemon(tmp_path)


@pytest.fixture
def client(daemon: Daemon) -> Iterator[TestClient]:
    """Whoever has opened the link."""
    with calling(daemon) as client:
        client.get("/login", params={"link": daemon.ledger.new_link()})
        yield client


def log_in(client: TestClient, user: str) -> None:
    client.cookies.clear()
    assert client.post("/login", data={"user": user, "password": PASSWORD}).status_code == 303


def do(client: TestClient, daemon: Daemon, verb: str, **said: str) -> int:
    fields = {"csrf": csrf(client), "revision": str(read_access(daemon.home).revision), "verb": verb, **said}
    return client.post("/access/do", data=fields).status_code


def made(client: TestClient, **said: str) -> str:
    """The secret of a new token, from the page."""
    answer = client.post("/tokens/new", data={"csrf": csrf(client), "name": "ci", **said})
    assert answer.status_code == 200, answer.text
    found = re.search(r'<pre id="secret"[^>]*>([^<]+)</pre>', answer.text)
    assert found is not None
    return found[1]


def test_from_no_users_to_roles_and_back(client: TestClient, daemon: Daemon) -> None:
    assert "There are no users yet" in client.get("/access").text
    assert do(client, daemon, "add", name="ada", way="password", password=PASSWORD) == 409
    assert do(client, daemon, "add", name="ada", way="password", password="short", role="admin") == 422
    assert do(client, daemon, "add", name="ada", way="password", password=PASSWORD, role="admin") == 303
    assert do(client, daemon, "add", name="bob", way="none", groups="@ads, news") == 303
    assert do(client, daemon, "grant", name="@ads", role="deployer", application="ads_*") == 303
    assert do(client, daemon, "reach", name="bob", read="log:clicks* /data/ads", write="log:ads_*") == 303
    found = read_access(daemon.home)
    bob = found.user("bob")
    assert bob is not None
    assert (bob.password, bob.groups) == (None, ("ads", "news"))
    assert Grant("@ads", "ads_*", "deployer") in found.grants
    assert found.reaches == (Reach("bob", ("log:clicks*", "/data/ads"), ("log:ads_*",)),)
    page = client.get("/access").text
    assert "@ads: bob" in page
    assert "argon2" not in page
    assert do(client, daemon, "revoke", name="@ads", role="deployer", application="ads_*") == 303
    assert do(client, daemon, "groups", name="bob", groups="") == 303
    assert do(client, daemon, "remove", name="bob") == 303
    assert do(client, daemon, "remove", name="ada") == 409, "somebody stays who may change users"
    assert [user.name for user in read_access(daemon.home).users] == ["ada"]
    assert do(client, daemon, "fly", name="ada") == 404


def test_whoever_is_kept_out_is_out_at_once(client: TestClient, daemon: Daemon) -> None:
    people(daemon.home)
    with calling(daemon) as other:
        log_in(other, "bob")
        assert other.get("/").status_code == 200
        assert do(client, daemon, "keep out", name="bob") == 303
        assert other.get("/").status_code == 401
        assert do(client, daemon, "let in", name="bob") == 303
        assert other.get("/").status_code == 401, "the session is over, too"
        log_in(other, "bob")
        assert do(client, daemon, "password", name="bob", password="another long password") == 303
        assert other.get("/").status_code == 401


def test_two_admins_do_not_overwrite_each_other(client: TestClient, daemon: Daemon) -> None:
    people(daemon.home)
    seen = {"csrf": csrf(client), "revision": str(read_access(daemon.home).revision)}
    assert client.post("/access/do", data={**seen, "verb": "remove", "name": "eve"}).status_code == 303
    late = client.post("/access/do", data={**seen, "verb": "remove", "name": "vic"})
    assert late.status_code == 409
    assert "users were changed by somebody else meanwhile" in late.text
    assert read_access(daemon.home).user("vic") is not None


@pytest.mark.parametrize("path", ["/access/do", "/tokens/new", "/tokens/drop"])
def test_another_site_changes_nothing(client: TestClient, daemon: Daemon, path: str) -> None:
    number = new_token(daemon.home, "ci", "viewer", 1).partition(".")[0]
    fields = {"verb": "add", "revision": "0", "name": "eve", "role": "admin", "way": "none", "number": number}
    assert client.post(path, data=fields).status_code == 403, "without the session's secret"
    foreign = {"Origin": "https://evil.example"}
    with_secret = {**fields, "csrf": csrf(client)}
    assert client.post(path, data=with_secret, headers=foreign).status_code == 403
    assert read_access(daemon.home).users == ()
    assert [token.id for token in list_tokens(daemon.home)] == [number]


def test_a_token_is_shown_once_and_opens_until_it_is_revoked(client: TestClient, daemon: Daemon) -> None:
    people(daemon.home)
    secret = made(client, role="deployer", scope="ads_* news", days="2", user="ada")
    token = find_token(daemon.home, secret)
    assert token is not None
    assert (token.user, token.role, token.scope) == ("ada", "deployer", ("ads_*", "news"))
    page = client.get("/tokens").text
    assert token.id in page
    assert secret.partition(".")[2] not in page
    kept = b"".join(path.read_bytes() for path in Path(daemon.home).rglob("*") if path.is_file())
    assert secret.partition(".")[2].encode() not in kept
    deeds = [row["deed"] for row in audited(daemon.home, 10)]
    assert "POST /tokens/new for ci: deployer of ads_* news" in deeds
    answer = client.post("/tokens/drop", data={"csrf": csrf(client), "number": token.id})
    assert answer.status_code == 303
    assert find_token(daemon.home, secret) is None
    ended = new_token(daemon.home, "old", "viewer", -1)
    assert find_token(daemon.home, ended) is None
    assert "ended " in client.get("/tokens").text


def test_people_have_tokens_of_their_own_and_no_others(client: TestClient, daemon: Daemon) -> None:
    people(daemon.home)
    of_bob = new_token(daemon.home, "bob's", "viewer", 1, user="bob").partition(".")[0]
    log_in(client, "ada")
    assert client.get("/access").status_code == 403
    assert do(client, daemon, "grant", name="ada", role="admin") == 403
    assert "Users</a>" not in client.get("/").text
    own = find_token(daemon.home, made(client, role="admin"))
    assert own is not None
    assert own.user == "ada", "it opens no more than she may, whatever role it names"
    refused = client.post("/tokens/new", data={"csrf": csrf(client), "name": "x", "user": "root"})
    assert refused.status_code == 403
    assert of_bob not in client.get("/tokens").text
    answer = client.post("/tokens/drop", data={"csrf": csrf(client), "number": of_bob})
    assert answer.status_code == 404
    wrong = client.post("/tokens/new", data={"csrf": csrf(client), "name": "x", "role": "king"})
    assert wrong.status_code == 404
    assert len(list_tokens(daemon.home)) == 2


def test_a_token_makes_no_tokens(client: TestClient, daemon: Daemon) -> None:
    """One that is limited would make itself an unlimited one."""
    people(daemon.home)
    client.cookies.clear()
    as_user(client, daemon, "root", "viewer")
    before = list_tokens(daemon.home)
    assert client.post("/tokens/new", data={"name": "x", "role": "admin"}).status_code == 403
    assert client.post("/tokens/drop", data={"number": before[0].id}).status_code == 403
    assert list_tokens(daemon.home) == before
