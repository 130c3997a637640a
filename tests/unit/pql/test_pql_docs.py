"""The queries of the pages compile, and what the pages show of them is what comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dovetail.connectors.kinds import STORAGES
from dovetail.plan.drawing.graph import graph_of
from dovetail.plan.drawing.svg import draw_svg
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql, trace
from dovetail.pql.ends import FORMATS
from dovetail.pql.parser import parse

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "pql.md").read_text()
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


def test_the_functions_of_the_how_to_compile() -> None:
    page = (ROOT / "docs/how-to/functions.md").read_text()
    first, batches, *_ = re.findall(r"^```sql\n(.*?)^```", page, flags=re.M | re.S)
    assert not check(first).errors
    assert [one.style for one in compile_pql(first).functions] == ["scalar"]
    assert {one.function.style for one in parse(first + batches).functions} == {"scalar", "arrow", "pandas"}


def test_the_grammar_names_every_storage_and_format() -> None:
    for word in (*STORAGES, *(f'"{name}"' for name in FORMATS)):
        assert word in PAGE


def test_the_page_about_many_streams_shows_what_check_and_plan_show() -> None:
    page = (ROOT / "docs/how-to/many-streams.md").read_text()
    query = page.split("```sql\n")[1].split("```")[0]
    report = check(query)
    assert report.summary is not None
    assert page.split("```text\n")[1].split("```")[0] in "\n".join(report.summary.lines()) + "\n"
    assert report.plan is not None
    drawn = draw_svg(graph_of(trace(query)[-1][1], report.plan))
    assert (ROOT / "docs/pictures/many-streams.svg").read_text() == drawn
