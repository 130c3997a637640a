"""A table as text: for the terminal, and as Markdown for the pages whose tables a benchmark writes.

Such a page has each table between two comments, of which the first names it: `<!-- table: costs -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import rich.table

_MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """The first column is text; the others are figures if `figures` says so."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: bool = True

    def markdown(self) -> str:
        rule = ["---", *["---:" if self.figures else "---"] * (len(self.heads) - 1)]
        return "\n".join(f"| {' | '.join(line)} |" for line in [self.heads, rule, *self.rows])

    def rich(self, title: str) -> rich.table.Table:
        made = rich.table.Table(title=title)
        for number, head in enumerate(self.heads):
            made.add_column(head, justify="right" if number and self.figures else "left")
        for row in self.rows:
            made.add_row(*row)
        return made


def with_tables(page: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """The page with each of its tables that is known here made again."""

    def renew(found: re.Match[str]) -> str:
        return f"{found[1]}\n{tables[found[2]]()}\n\n{found[3]}" if found[2] in tables else found[0]

    return _MARKED.sub(renew, page)


def renew_tables(path: Path, tables: Mapping[str, Callable[[], str]]) -> None:
    page = path.read_text()
    missing = tables.keys() - {found[2] for found in _MARKED.finditer(page)}
    if missing:
        raise ValueError(f"{path} has no place for {', '.join(sorted(missing))}")
    path.write_text(with_tables(page, tables))
