"""The reference page's own queries compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dovetail.pql.compile import compile_pql
from dovetail.pql.ends import ARGUMENTS, FORMATS
from dovetail.pql.parser import parse

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "pql.md").read_text()
BLOCKS = re.findall(r"^ *```sql\n(.*?)^ *```", PAGE, flags=re.M | re.S)


def test_the_first_query_is_the_papers(figure_3: str) -> None:
    assert parse(BLOCKS[0]) == parse(figure_3)


def test_the_aggregation_compiles() -> None:
    plan = compile_pql(BLOCKS[0] + next(block for block in BLOCKS if "GROUP BY" in block))
    assert [stage.table for stage in plan.windows] == ["hourly"]


@pytest.mark.parametrize(
    "window", next(b for b in BLOCKS if b.lstrip().startswith("r.t BETWEEN")).splitlines()
)
def test_the_windows_compile(window: str) -> None:
    plan = compile_pql(
        f"""CREATE APPLICATION app;
        CREATE INPUT TABLE l (t, k) FROM SCRIBE("l"); CREATE INPUT TABLE r (t, ts, k) FROM SCRIBE("r");
        CREATE VIEW v AS SELECT l.k FROM l JOIN r ON l.k = r.k AND {window};
        CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;"""
    )
    assert len(plan.joins) == 1


def test_the_grammar_names_every_storage_and_format() -> None:
    for word in (*ARGUMENTS, *(f'"{name}"' for name in FORMATS)):
        assert word in PAGE
