"""No text, however broken, gives anything but a plan or a `DovetailError`."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pql_texts import programs

from dovetail.errors import DovetailError
from dovetail.plan.physical import from_json
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql

PIECES = [
    *"()[]{}<>,;.*+-/%=!'\"`:@$#\\|&~^?\n\t\0é🦆",
    *["--", "/*", "*/", "SELECT", "FROM", "JOIN", "ON", "WITH", "WITH (", "AS", "AND", "BETWEEN", "INTERVAL"],
    *[
        "CREATE",
        "CREATE VIEW",
        "CREATE TABLE x AS",
        "STORAGE",
        "WHERE",
        "GROUP BY",
        "window(",
        "count(*)",
        "UNION",
    ],
    *[
        "LATERAL VIEW explode(x) e AS y",
        "1e999",
        "99999999999999999999",
        "''",
        "*.*",
        "l.*",
        "NULL",
        "OVER ()",
        "->",
    ],
    *[
        "INTERVAL '1 month'",
        "CASE",
        "CASE WHEN",
        "END",
        "CAST(",
        "PIVOT",
        "TABLESAMPLE",
        "VALUES (1)",
        "EXISTS (",
        "::",
    ],
]


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A valid text with pieces removed, doubled, moved and put in."""
    text = draw(programs())
    for _ in range(draw(st.integers(1, 4))):
        words = [match.span() for match in re.finditer(r"\w+|\S", text)]
        if draw(st.booleans()) and words:
            start, stop = draw(st.sampled_from(words))
        else:
            start = draw(st.integers(0, len(text)))
            stop = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(["", text[start:stop] * 2, *PIECES]))
        text = text[:start] + piece + text[stop:]
    return text


def either(text: str) -> None:
    report = check(text, name="x.pql")
    if report.ok:
        plan = compile_pql(text, name="x.pql")
        assert from_json(plan.to_json()) == plan
    else:
        with pytest.raises(DovetailError):
            compile_pql(text, name="x.pql")


@given(mutations())
@example("CREATE APPLICATION a; CREATE VIEW v AS SELECT " + "(" * 300 + "1" + ")" * 300 + " AS x FROM t")
@example("CREATE APPLICATION a; CREATE VIEW v AS SELECT " + "-" * 1 + "- -" * 500 + "1 AS x FROM t")
@example("CREATE APPLICATION a; CREATE VIEW v AS SELECT " + "NOT " * 3000 + "1 AS x FROM t")
@example("CREATE APPLICATION a; CREATE VIEW v AS SELECT " + "a + " * 3000 + "1 AS x FROM t")
@example("CREATE APPLICATION a; CREATE VIEW v AS SELECT " + "CASE WHEN " * 300 + "1 AS x FROM t")
def test_broken_programs(text: str) -> None:
    either(text)


@given(st.text())
def test_any_text(text: str) -> None:
    either(text)


@given(
    st.lists(st.sampled_from([*PIECES, "a", "b", "CREATE APPLICATION a;", "CREATE INPUT TABLE t (a) FROM"]))
)
def test_any_words(words: list[str]) -> None:
    either(" ".join(words))


@settings(max_examples=40)
@given(programs())
def test_valid_programs_are_valid(text: str) -> None:
    report = check(text)
    assert report.ok, "\n".join(str(error) for error in report.errors)


@pytest.mark.parametrize("text", ["\ufeff", "\x00", ";" * 50, "'", "/*", "`", "CREATE APPLICATION a;" * 50])
def test_edge_texts(text: str) -> None:
    either(text)
