"""Law: `parse(render(program)) == program`, for what is written and for what every rule makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pql_texts import programs

from dovetail.plan.physical import ScribeSource
from dovetail.pql.compile import trace
from dovetail.pql.parser import parse
from dovetail.pql.render import render, text


def test_figure_3_after_every_rule(figure_3_as_printed: str) -> None:
    for name, program in trace(figure_3_as_printed):
        assert parse(render(program)) == program, name


@settings(max_examples=30)
@given(programs())
def test_any_program_after_every_rule(pql: str) -> None:
    for name, program in trace(pql):
        assert parse(render(program)) == program, name


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_string_literals(value: str) -> None:
    program = parse(
        f"CREATE APPLICATION a; CREATE INPUT TABLE t (x) FROM FILES({text(value)}, format = 'json');"
    )
    (statement,) = program.statements
    assert not isinstance(getattr(statement, "origin", None), ScribeSource)
    assert statement.origin.path == value  # type: ignore[union-attr]
    assert parse(render(program)) == program


EXPRESSIONS = [
    "position('a' IN b)",
    "DATE '2020-01-01'",
    "TIMESTAMP '2020-01-01 00:00:00'",
    "'it\\'s'",
    "r'\\d'",
    "current_timestamp",
    "datediff(DAY, a, b)",
    "a.b.c",
    "m['k'].f",
    "CASE WHEN a THEN 1 ELSE 2 END",
    "a BETWEEN 1 AND 2 AND NOT b",
    "-a + (b - c) * d % 2",
    "a <=> b",
    "EXTRACT(HOUR FROM a)",
    "trim(BOTH 'x' FROM a)",
    "overlay(a PLACING b FROM 1)",
    "1L + 2.5D - 1.5BD",
    "a IN (1, 2) OR a IS NOT NULL",
    "INTERVAL 1 HOUR 30 MINUTES",
    "INTERVAL '-3' MINUTES",
    "CAST(a AS STRUCT<x: INT>)",
    "a::DECIMAL(3, 1)",
    "if(a, b, c)",
    "array(1, 2)[0]",
    "`odd name`",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_of_sparks(expression: str) -> None:
    program = parse(f"CREATE APPLICATION app; CREATE VIEW v AS SELECT {expression} AS y FROM t;")
    assert parse(render(program)) == program
