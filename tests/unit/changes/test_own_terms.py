"""Expressions are shown as the query writes them."""

from __future__ import annotations

from dovetail.changes.compare import compare
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

QUERY = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE clicks (t TIMESTAMP, k BIGINT, x INT) FROM SCRIBE("a");
    CREATE INPUT TABLE ads (t TIMESTAMP, k BIGINT, y INT) FROM SCRIBE("b");
    CREATE VIEW dear AS SELECT t, k, y * 2 AS y FROM ads;
    CREATE VIEW v AS SELECT c.x AS x, COALESCE(d.y, 0) AS y FROM clicks AS c LEFT JOIN dear AS d ON c.k = d.k
        AND d.t BETWEEN c.t - INTERVAL '1 minute' AND c.t;
    CREATE TABLE o AS SELECT x, y FROM v STORAGE NOOP;
"""


def said(new: str, *, texts: bool = True) -> list[str]:
    programs = [parse(text) for text in (QUERY, new)]
    old, now = (plans_of(trace_program(program))[0] for program in programs)
    return [change.what for change in compare(old, now, *(programs if texts else []))]


def test_each_version_under_the_names_of_its_own_text() -> None:
    renamed = QUERY.replace("d.", "ad.").replace("AS d ", "AS ad ").replace("COALESCE(ad.y, 0)", "ad.y + 1")
    assert said(renamed) == ["column y: COALESCE(d.y, 0), now ad.y + 1"]


def test_a_join_without_a_text_has_a_left_and_a_right_side() -> None:
    other = QUERY.replace("COALESCE(d.y, 0)", "d.y + 1")
    assert said(other, texts=False) == ["column y: COALESCE(right.y, 0), now right.y + 1"]


def test_what_a_view_computes_is_in_terms_of_its_input() -> None:
    assert said(QUERY.replace("y * 2", "y * 3")) == ["column y: y * 2, now y * 3"]
    assert said(QUERY.replace("c.x AS x", "c.x + 1 AS x")) == ["column x: c.x, now c.x + 1"]
