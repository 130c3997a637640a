"""A changed function is a change of every query that calls it."""

from __future__ import annotations

from dovetail.changes.compare import closest
from dovetail.changes.verdict import Change
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

TEXT = """CREATE APPLICATION app;
CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$ return x $$;
CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("l");
CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, y BIGINT) FROM SCRIBE("r");
CREATE VIEW j AS SELECT l.t AS t, f(l.x) AS x, r.y AS y FROM l JOIN r
  ON l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '1 minute';
CREATE TABLE o AS SELECT t, x, y FROM j STORAGE NOOP;
"""


def changes(old: str, new: str) -> list[Change]:
    before, after = parse(old), parse(new)
    plan = plans_of(trace_program(before))[0]
    return closest(plan, plans_of(trace_program(after), plan), before, after)[1]


def test_code_and_types_are_told_with_what_calls_the_function() -> None:
    found = changes(TEXT, TEXT.replace("return x $$", "return 2 * x $$"))
    assert [(c.rule, c.part, c.verdict) for c in found] == [
        ("functions", "function f", "kept"),
        ("side_columns", "left side of j", "kept"),
    ]
    assert found[0].what == "its code"
    assert ":2:17" in str(found[0].place)
    assert found[1].what.startswith("column x: f@")
    wider = changes(TEXT, TEXT.replace("f(x BIGINT)", "f(x STRING)"))
    assert "f(x BIGINT) RETURNS BIGINT, now f(x STRING) RETURNS BIGINT" in wider[0].what


def test_with_a_function_of_a_key_the_join_begins_afresh() -> None:
    keyed = TEXT.replace("l.k = r.k", "f(l.k) = r.k")
    found = changes(keyed, keyed.replace("return x $$", "return 2 * x $$"))
    assert {c.verdict for c in found if c.rule == "identity"} == {"afresh"}


def test_the_same_text_elsewhere_is_no_change() -> None:
    lines = TEXT.splitlines()
    moved = "\n".join([lines[0], *lines[2:], lines[1]])
    assert changes(TEXT, moved) == []
    assert (
        changes(TEXT, TEXT + "CREATE FUNCTION g(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return 1 $$;") == []
    )
