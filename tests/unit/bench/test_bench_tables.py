"""Tables that benchmarks write into pages."""

from __future__ import annotations

from pathlib import Path

from bench.tables import Table, renew_tables, with_tables

MADE = Table(["", "rows"], [["one", "1"], ["two", "2"]])
PAGE = "before\n<!-- table: mine -->\nold\n<!-- end -->\nbetween\n<!-- table: other -->\nold\n<!-- end -->\n"


def test_a_table_as_markdown() -> None:
    assert MADE.markdown() == "|  | rows |\n| --- | ---: |\n| one | 1 |\n| two | 2 |"


def test_a_page_gets_the_tables_that_are_known(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    renew_tables(path, {"mine": MADE.markdown})
    assert path.read_text() == PAGE.replace("old", f"\n{MADE.markdown()}\n", 1)
    assert with_tables(path.read_text(), {"mine": MADE.markdown}) == path.read_text()
