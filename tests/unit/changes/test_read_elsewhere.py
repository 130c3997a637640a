"""Whoever changes a query hears which other applications read what goes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.changes.takeover import take_over
from dovetail.changes.verdict import Change
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import application_path
from unit.changes.test_takeover import considered

UPPER = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, x INT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, y INT) FROM SCRIBE("b");
CREATE VIEW v AS SELECT a.t AS t, a.k AS k, a.x AS x, b.y AS y FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
CREATE TABLE o AS SELECT t, k, x, y FROM v STORAGE SCRIBE(category = "shared");
CREATE TABLE n AS SELECT window(t, '5 minutes').start AS start, COUNT(*) AS n, SUM(x) AS xs FROM v
  GROUP BY window(t, '5 minutes') STORAGE SCRIBE(category = "counts");
"""
LOWER = """CREATE APPLICATION lower;
CREATE INPUT TABLE s (t TIMESTAMP, k BIGINT, x INT, y INT) FROM SCRIBE("shared");
CREATE INPUT TABLE c (start TIMESTAMP, n BIGINT, xs BIGINT) FROM SCRIBE("counts");
CREATE TABLE big AS SELECT k FROM s WHERE X > 7 STORAGE NOOP;
CREATE TABLE sums AS SELECT start, xs + 1 AS more FROM c STORAGE NOOP;
"""


@pytest.fixture
def home(tmp_path: Path) -> str:
    """Both applications have run."""
    made = str(tmp_path)
    for text, name in ((UPPER, "app"), (LOWER, "lower")):
        take_over(considered(made, text))
        open_store(made).make_folder(f"apps/{name}/checkpoints/one")
    types = {"shared": ["t", "k", "x", "y"], "counts": ["start", "n", "xs"]}
    for name, columns in types.items():
        category = Category.create(made, name, pa.schema([(column, pa.int64()) for column in columns]))
        category.set_reader(f"lower.{name}", 0, application="lower")
        category.set_reader("app.itself", 0, application="app")
    return made


def said(home: str, *edits: tuple[str, str]) -> list[Change]:
    text = UPPER
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return [change for change in considered(home, text).changes if change.rule == "readers"]


def test_a_column_that_goes_is_told_with_who_reads_it(home: str) -> None:
    (change,) = said(home, ("SELECT t, k, x, y FROM v", "SELECT t, k, y FROM v"))
    assert change.what == "column x is no longer in category shared"
    assert change.flight == "it is null from the change on for table big of application lower"
    assert change.instead == "keep x, or change application lower first"
    (change,) = said(home, ("SUM(x) AS xs", "SUM(x) AS sum"))
    assert change.what == "column xs is no longer in category counts"
    assert "table sums of application lower" in str(change.flight)


def test_nobody_is_told_of_what_nobody_reads(home: str) -> None:
    assert said(home, ("SELECT t, k, x, y FROM v", "SELECT t, k, x, y, x + y AS more FROM v")) == []
    assert said(home, ("SELECT t, k, x, y FROM v", "SELECT t, X + 1 AS X, k FROM v")) == [], "y is not read"
    assert said(home, ("- INTERVAL '1 minute'", "- INTERVAL '9 minutes'")) == []


@pytest.mark.parametrize(
    "edit",
    [('SCRIBE(category = "shared")', "NOOP"), ('category = "shared"', 'category = "elsewhere"')],
    ids=["another kind of output", "another category"],
)
def test_a_category_that_gets_no_more_rows(home: str, edit: tuple[str, str]) -> None:
    (change,) = said(home, edit)
    assert change.what == "category shared gets no more rows"
    assert change.flight == "application lower reads it, and will wait for rows that do not come"
    assert "change application lower first" in str(change.instead)


def test_an_application_whose_plan_cannot_be_read_is_named(home: str) -> None:
    open_store(home).replace(application_path("lower"), b"damaged")
    (change,) = said(home, ("SELECT t, k, x, y FROM v", "SELECT t, k, y FROM v"))
    assert change.flight == "it is null from the change on for application lower"
