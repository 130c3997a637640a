"""FROM DELTA and FROM ICEBERG: what is read, and what is said where it cannot be."""

from __future__ import annotations

import pytest

from dovetail.connectors.lake import EVERY_LAKE
from dovetail.connectors.lake_kinds import LAKES
from dovetail.errors import DovetailError
from dovetail.pql.check import check
from dovetail.pql.parser import parse
from dovetail.pql.render import render
from dovetail.service.checkout import checkout_root

TEXT = """CREATE APPLICATION app;
CREATE INPUT TABLE a (k INT) FROM %s;
CREATE TABLE o AS SELECT k FROM a STORAGE NOOP;"""


@pytest.mark.parametrize(
    "origin",
    [
        'DELTA("folder")',
        'DELTA(path = "folder", start = "7", on_change = "skip")',
        'ICEBERG("web.clicks", uri = "sqlite:///c.db", warehouse = "lake")',
        'ICEBERG("web.clicks", uri = "http://h:81", catalog = "rest", token = SECRET("t"), start = "5")',
    ],
)
def test_a_source_is_shown_as_it_was_read(origin: str) -> None:
    program = parse(TEXT % origin)
    assert parse(render(program)) == program
    report = check(TEXT % origin)
    assert report.ok, report.errors
    assert report.plan is not None
    assert [stage.name for stage in report.plan.slicers] == ["a", "o"]


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ('DELTA("folder", start = "yesterday")', "`yesterday` is not a place to start"),
        ('DELTA("folder", on_change = "ignore")', "unknown on_change `ignore`"),
        ("DELTA", "DELTA needs its path"),
        ('ICEBERG("clicks", uri = "sqlite:///c.db")', "`clicks` names no namespace"),
        ('ICEBERG("web.clicks")', "ICEBERG needs its uri"),
        ('DELTA("folder", every = 5)', "DELTA takes no argument `every`"),
        ('DETLA("folder")', "did you mean `DELTA`?"),
    ],
)
def test_a_mistake_is_named(origin: str, words: str) -> None:
    with pytest.raises(DovetailError) as refused:
        parse(TEXT % origin, name="x.pql")
    assert words in str(refused.value)
    assert "x.pql:2:" in str(refused.value)


def test_the_reference_has_every_option() -> None:
    page = (checkout_root() / "docs/reference/pql.md").read_text()
    for lake, kind in LAKES.items():
        for option in kind.options:
            first = "both" if option in EVERY_LAKE else f"`{lake}` read"
            (row,) = [line for line in page.splitlines() if line.startswith(f"| {first} | `{option.name}` |")]
            assert row.endswith(f"| {option.sentence} |")
            assert ("required" in row) == option.required
