"""What the daemon keeps for itself in SQLite: logins, and the history of figures. It may be deleted at any
time: people then log in again, and plots begin again."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.errors import Unreachable
from dovetail.service.access.people import LOCAL

SESSION_S = 12 * 3600
LINK_S = 600
TRIES_KEPT_S = 3600
KEPT_S = 8 * 86_400
"""How long figures are kept: alarms look at this hour of the seven days before."""
LOGINS = 2
"""Version of the tables of logins. Those of another release go: people log in again."""
_LOGINS = ("links", "sessions", "tries", "journeys")
_TABLES = """
CREATE TABLE IF NOT EXISTS links (hash TEXT PRIMARY KEY, ends REAL NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (hash TEXT PRIMARY KEY, user TEXT NOT NULL, way TEXT NOT NULL,
                                     groups TEXT NOT NULL, csrf TEXT NOT NULL, ends REAL NOT NULL);
CREATE TABLE IF NOT EXISTS tries (who TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS tries_of ON tries (who, at);
CREATE TABLE IF NOT EXISTS journeys (hash TEXT PRIMARY KEY, nonce TEXT NOT NULL, verifier TEXT NOT NULL,
                                     back TEXT NOT NULL, ends REAL NOT NULL);
CREATE TABLE IF NOT EXISTS figures (application TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL,
                                    PRIMARY KEY (application, at)) WITHOUT ROWID;
"""


class LoginSession(NamedTuple):
    """`way`: how somebody logged in. `groups`: those that an identity provider named."""

    user: str
    way: str
    groups: tuple[str, ...]
    csrf: str
    ends_s: float


class Journey(NamedTuple):
    """For somebody who was sent to an identity provider, and is to come back."""

    nonce: str
    verifier: str
    back: str


class ServiceLedger:
    """One connection, used by one thread at a time. A file that is no database is replaced by a new one."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock, self._path = threading.Lock(), path
        try:
            self._connection = _opened(path)
        except sqlite3.DatabaseError:
            for name in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
                name.unlink(missing_ok=True)
            self._connection = _opened(path)
        path.chmod(0o600)

    def close(self) -> None:
        self._connection.close()

    def new_link(self) -> str:
        """A secret that logs in once."""
        secret = secrets.token_urlsafe(32)
        with self._writing() as cursor:
            cursor.execute("INSERT INTO links VALUES (?, ?)", (_hash(secret), time.time() + LINK_S))
        return secret

    def log_in(self, link: str) -> str | None:
        """A session's secret for a link; None: it was used, is too old, or never was one."""
        with self._writing() as cursor:
            cursor.execute("DELETE FROM links WHERE ends < ?", (time.time(),))
            cursor.execute("DELETE FROM links WHERE hash = ?", (_hash(link),))
            used = cursor.rowcount
        return self.new_session(LOCAL, "link") if used else None

    def new_session(self, user: str, way: str, groups: Sequence[str] = ()) -> str:
        secret = secrets.token_urlsafe(32)
        row = _hash(secret), user, way, json.dumps(list(groups)), secrets.token_urlsafe(24)
        with self._writing() as cursor:
            cursor.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", (*row, time.time() + SESSION_S))
        return secret

    def session(self, secret: str) -> LoginSession | None:
        with self._writing() as cursor:
            cursor.execute("DELETE FROM sessions WHERE ends < ?", (time.time(),))
            cursor.execute(
                "SELECT user, way, groups, csrf, ends FROM sessions WHERE hash = ?", (_hash(secret),)
            )
            found = cursor.fetchone()
        if found is None:
            return None
        user, way, groups, csrf, ends = found
        return LoginSession(user, way, tuple(json.loads(groups)), csrf, ends)

    def end_sessions(self, user: str) -> None:
        """For somebody whose password has changed."""
        with self._writing() as cursor:
            cursor.execute("DELETE FROM sessions WHERE user = ?", (user,))

    def tries(self, who: str, since_s: float) -> int:
        """How often a log-in has failed lately."""
        with self._writing() as cursor:
            cursor.execute("DELETE FROM tries WHERE at < ?", (time.time() - TRIES_KEPT_S,))
            cursor.execute("SELECT count(*) FROM tries WHERE who = ? AND at >= ?", (who, since_s))
            return int(cursor.fetchone()[0])

    def tried(self, *who: str) -> None:
        with self._writing() as cursor:
            cursor.executemany("INSERT INTO tries VALUES (?, ?)", [(one, time.time()) for one in who])

    def forget_tries(self, who: str) -> None:
        with self._writing() as cursor:
            cursor.execute("DELETE FROM tries WHERE who = ?", (who,))

    def set_out(self, state: str, journey: Journey) -> None:
        with self._writing() as cursor:
            row = _hash(state), *journey, time.time() + LINK_S
            cursor.execute("INSERT INTO journeys VALUES (?, ?, ?, ?, ?)", row)

    def come_back(self, state: str) -> Journey | None:
        """Once."""
        with self._writing() as cursor:
            cursor.execute("DELETE FROM journeys WHERE ends < ?", (time.time(),))
            cursor.execute(
                "DELETE FROM journeys WHERE hash = ? RETURNING nonce, verifier, back", (_hash(state),)
            )
            found = cursor.fetchone()
        return None if found is None else Journey(*found)

    def log_out(self, secret: str) -> None:
        with self._writing() as cursor:
            cursor.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))

    def remember(self, application: str, at_s: float, figures: dict[str, Any]) -> None:
        """What lies ahead goes: the clock was set back, and the newest figures must be those of now."""
        with self._writing() as cursor:
            row = application, at_s, json.dumps(figures, separators=(",", ":"))
            cursor.execute("INSERT OR REPLACE INTO figures VALUES (?, ?, ?)", row)
            cursor.execute(
                "DELETE FROM figures WHERE application = ? AND (at < ? OR at > ?)",
                (application, at_s - KEPT_S, at_s),
            )

    def figures(self, application: str, after_s: float, until_s: float) -> list[tuple[float, dict[str, Any]]]:
        """All figures of a span, in the order of time."""
        with self._writing() as cursor:
            cursor.execute(
                "SELECT at, body FROM figures WHERE application = ? AND at > ? AND at <= ? ORDER BY at",
                (application, after_s, until_s),
            )
            return [(at, json.loads(body)) for at, body in cursor.fetchall()]

    def history(
        self, application: str, since_s: float, most: int = 500
    ) -> list[tuple[float, dict[str, Any]]]:
        """Figures in the order of time, thinned out to about `most`."""
        with self._writing() as cursor:
            cursor.execute(
                "SELECT at, body FROM figures WHERE application = ? AND at >= ? ORDER BY at",
                (application, since_s),
            )
            rows = cursor.fetchall()
        step = -(-len(rows) // most) or 1
        return [(at, json.loads(body)) for at, body in rows[(len(rows) - 1) % step :: step]]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Cursor]:
        try:
            with self._lock, self._connection:
                yield self._connection.cursor()
        except sqlite3.Error as error:
            raise Unreachable(
                f"the service's own file cannot be written: {error}",
                where=str(self._path),
                hint="make room on its disk; it may be deleted while the service is stopped",
            ) from error


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=10)
    connection.execute("PRAGMA journal_mode = WAL")
    if connection.execute("PRAGMA user_version").fetchone()[0] != LOGINS:
        drops = "".join(f"DROP TABLE IF EXISTS {name};" for name in _LOGINS)
        connection.executescript(f"{drops} PRAGMA user_version = {LOGINS};")
    connection.executescript(_TABLES)
    return connection


def _hash(secret: str) -> str:
    """Secrets are random and long, so a plain hash keeps them."""
    return hashlib.sha256(secret.encode()).hexdigest()


def ledger_path(home: str) -> Path:
    if "://" in home:
        from dovetail.engine.process_folder import hosts_folder

        return hosts_folder() / f"service-{hashlib.sha256(home.encode()).hexdigest()[:12]}.sqlite"
    return Path(home) / "service" / "ledger.sqlite"
