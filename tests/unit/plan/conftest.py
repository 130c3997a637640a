"""A program of two inputs to put joins over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k STRING, x INT, ts BIGINT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k STRING, y INT, ts BIGINT) FROM SCRIBE("b");
"""
WINDOW = "b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '2 minutes'"


@pytest.fixture
def text() -> Callable[[str], str]:
    """The rest of a program, after its inputs."""
    return lambda rest: INPUTS + rest


@pytest.fixture
def joined() -> Callable[..., str]:
    """A whole program with one join, given its select list and join type."""

    def make(items: str = "a.k AS k", how: str = "", more: str = "", table: str | None = None) -> str:
        table = table or "CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;"
        view = f"CREATE VIEW v AS SELECT {items} FROM a {how} JOIN b ON a.k = b.k AND {WINDOW}{more};"
        return f"{INPUTS}{view}\n{table}"

    return make
