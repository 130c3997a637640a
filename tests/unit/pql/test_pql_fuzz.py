"""No text, however broken, gives anything but a plan or a `DovetailError`."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pql_texts import programs

from dovetail.errors import DovetailError
from dovetail.plan.physical import Plan
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql

WORDS = """-- /* */ SELECT FROM JOIN ON WITH AS AND BETWEEN INTERVAL CREATE STORAGE WHERE window( count(*)
    UNION 1e999 99999999999999999999 '' *.* l.* NULL -> CASE END CAST( PIVOT TABLESAMPLE ::"""
PHRASES = """WITH (|CREATE VIEW|CREATE TABLE x AS|GROUP BY|LATERAL VIEW explode(x) e AS y|OVER ()
    |INTERVAL '1 month'|CASE WHEN|VALUES (1)|EXISTS ("""
PIECES = [
    *"()[]{}<>,;.*+-/%=!'\"`:@$#\\|&~^?\n\t\0é🦆",
    *WORDS.split(),
    *(phrase.strip() for phrase in PHRASES.split("|")),
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
        assert Plan.from_json(plan.to_json()) == plan
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


@pytest.mark.parametrize("text", ["\ufeff", "\x00", ";" * 50, "'", "/*", "`", "CREATE APPLICATION a;" * 50])
def test_edge_texts(text: str) -> None:
    either(text)


NESTED = {
    "sum": lambda n: "t.a + " * n + "1",
    "and": lambda n: "t.a > 1 AND " * n + "TRUE",
    "not": lambda n: "NOT " * n + "t.a",
    "minus": lambda n: "- " * n + "t.a",
    "case": lambda n: "CASE WHEN t.a THEN " * n + "1" + " END" * n,
    "brackets": lambda n: "(" * n + "t.a" + ")" * n,
    "calls": lambda n: "abs(" * n + "t.a" + ")" * n,
    "items": lambda n: "t.a" + "[0]" * n,
    "fields": lambda n: "t.a" + ".b" * n,
    "casts": lambda n: "t.a" + "::INT" * n,
}


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("depth", [50, 2000])
def test_deep_expressions(kind: str, depth: int) -> None:
    """What a person could write compiles; what nobody would is refused, wherever the walk is."""
    text = f"""CREATE APPLICATION app; CREATE INPUT TABLE t (a, k, at) FROM SCRIBE("t");
    CREATE INPUT TABLE u (k, at) FROM SCRIBE("u");
    CREATE VIEW v AS SELECT {NESTED[kind](depth)} AS x FROM t JOIN u
    ON t.k = u.k AND u.at BETWEEN t.at AND t.at + INTERVAL 1 DAY;
    CREATE TABLE o AS SELECT x FROM v STORAGE NOOP;"""
    either(text)
    assert check(text).ok is (depth == 50)
