"""A daemon for tests that starts nothing by itself, and people who call it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from fastapi.testclient import TestClient

from dovetail.service.access.passwords import hashed
from dovetail.service.access.people import Access, User, add_user, change, grant, set_reach
from dovetail.service.access.roles import Role
from dovetail.service.access.tokens import new_token
from dovetail.service.server.app import make_app
from dovetail.service.server.ledger import ledger_path
from dovetail.service.server.state import Daemon

HOST = "127.0.0.1:8630"
PASSWORD = "four words are long enough"
QUERY = """CREATE APPLICATION {name};
CREATE INPUT TABLE c (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("{name}_clicks");
CREATE INPUT TABLE i (eventtime TIMESTAMP, ad BIGINT, campaign STRING) FROM SCRIBE("{name}_views");
CREATE VIEW clicked AS SELECT c.eventtime AS eventtime, c.ad AS ad, i.campaign AS campaign
FROM c LEFT JOIN i ON c.ad = i.ad
  AND i.eventtime BETWEEN c.eventtime - INTERVAL '1 minute' AND c.eventtime;
CREATE TABLE result AS SELECT eventtime, ad, campaign FROM clicked STORAGE SCRIBE (category = "{name}_out");
"""


class Quiet(Daemon):
    """Looks at nothing by itself."""

    async def keep(self) -> None:
        return None


def quiet_daemon(home: Path, **other: bool) -> Daemon:
    return Quiet(str(home), ledger_path(str(home)), frozenset({HOST}), **other)


@contextmanager
def calling(daemon: Daemon) -> Iterator[TestClient]:
    with TestClient(make_app(daemon), base_url=f"http://{HOST}", follow_redirects=False) as client:
        yield client


@cache
def _hashed() -> str:
    """It takes long by design: once for all."""
    return hashed(PASSWORD)


def people(home: str) -> Access:
    """Root is admin of everything; Ada and Bob each deploy what begins with their name, and reach what is
    called so; Vic sees all of Ada's; Eve may do nothing."""

    def wanted(access: Access) -> Access:
        for name in ("root", "ada", "bob", "vic", "eve"):
            access = add_user(access, User(name, _hashed(), groups=("seers",) if name == "vic" else ()))
        for who, role, application in (
            ("root", "admin", "*"),
            ("ada", "deployer", "ada*"),
            ("bob", "deployer", "bob*"),
            ("@seers", "viewer", "ada*"),
        ):
            access = grant(access, who, role, application)
        for name in ("ada", "bob"):
            access = set_reach(access, name, [f"log:{name}*", f"/data/{name}"], [f"log:{name}_*"])
        return access

    return change(home, wanted)


def as_user(client: TestClient, daemon: Daemon, user: str, role: Role = "admin") -> TestClient:
    """The client, with a token of this user."""
    client.headers["Authorization"] = f"Bearer {new_token(daemon.home, user, role, 1, user=user)}"
    return client


def csrf(client: TestClient) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get("/").text)
    assert found is not None
    return found[1]
