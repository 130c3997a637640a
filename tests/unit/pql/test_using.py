"""USING is short for ON, with the common columns once."""

from __future__ import annotations

import pytest

from dovetail.plan.dialect import pql_sql
from dovetail.pql.compile import trace

INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k STRING, x INT) FROM LOG("a");
CREATE INPUT TABLE b (t TIMESTAMP, k STRING, y INT) FROM LOG("b");
CREATE INPUT TABLE c (t TIMESTAMP, z INT) FROM LOG("c");
"""
WITHIN = "WITHIN TUMBLING '10 seconds'"
PAIRS = [
    (f"SELECT k, x, y FROM a LEFT JOIN b USING (k) {WITHIN}",
     f"SELECT a.k, x, y FROM a LEFT JOIN b ON a.k = b.k {WITHIN}"),
    (f"SELECT k, upper(k) AS u FROM a FULL JOIN b USING (k) {WITHIN} WHERE k <> 'z'",
     "SELECT coalesce(a.k, b.k) AS k, upper(coalesce(a.k, b.k)) AS u FROM a "
     f"FULL JOIN b ON a.k = b.k {WITHIN}"
     " WHERE coalesce(a.k, b.k) <> 'z'"),
    ("SELECT k FROM a AS l RIGHT JOIN b AS r USING (k, t)",
     "SELECT r.k FROM a AS l RIGHT JOIN b AS r ON l.k = r.k AND l.t = r.t"),
    ("SELECT * FROM a JOIN b USING (k, t)", "SELECT a.k, a.t, x, y FROM a JOIN b ON a.k = b.k AND a.t = b.t"),
    (f"SELECT * FROM a LEFT SEMI JOIN b USING (k) {WITHIN}",
     f"SELECT a.k, a.t, a.x FROM a LEFT SEMI JOIN b ON a.k = b.k {WITHIN}"),
    ("SELECT * FROM a JOIN b USING (k, t) JOIN c USING (t)",
     "SELECT a.k, a.t, x, y, z FROM a JOIN b ON a.k = b.k AND a.t = b.t JOIN c ON a.t = c.t"),
]  # fmt: skip


def resolved(query: str) -> str:
    text = f"{INPUTS} CREATE VIEW v AS {query}; CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;"
    program = dict(trace(text))["resolve_names"]
    return pql_sql(next(s.query for s in program if s.name == "v")).lower()  # type: ignore[union-attr]


@pytest.mark.parametrize(("short", "long"), PAIRS)
def test_using(short: str, long: str) -> None:
    assert resolved(short) == resolved(long)
