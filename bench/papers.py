"""The figures and tables of the papers, made here: tables, pictures, and whether each finding holds.

Without options all exhibits of all papers are made. `--write` puts them into the pages of `docs/papers`, each
between its comments and as soon as it is made; nothing else of a page is touched. `--quick` only shows that
each can be made.
"""

from __future__ import annotations

import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import Command, finish, tell

if TYPE_CHECKING:
    from bench.paper.exhibit import Exhibit, Made, Paper

PAGES = Path(__file__).parent.parent / "docs" / "papers"


def command(papers: tuple[str, ...]) -> Command:
    made = Command("papers", __doc__)
    add = made.add_argument
    add("--paper", choices=papers, action="append", help="one paper alone; can be repeated")
    add("--figure", action="append", help="one figure or table alone: 9, table_6, ...; can be repeated")
    add("--list", action="store_true", help="list the exhibits, with the names that --figure takes")
    add("--quick", action="store_true", help="the smallest sizes: the values mean nothing")
    add("--write", action="store_true", help="write tables and pictures into docs/papers")
    add("--data", type=Path, help="folder with the authors' stock and rovio files (default: generated)")
    made.number("--scale", 0.1, "share of the rates and rows of the paper on joins within a window")
    made.number("--threads", 2, "threads of joins within a window")
    made.number("--seconds", 1.0, "length of each run of a sliding-window join")
    made.count("--seed", 1, "random seed")
    return made


def main(argv: list[str], pages: Path = PAGES) -> int:
    from rich.console import Console

    from bench.paper.catalog import PAPERS
    from bench.paper.exhibit import Effort, judged

    args = command(tuple(paper.name for paper in PAPERS)).parse_args(argv)
    if args.write and args.quick:
        raise SystemExit("dovetail bench papers: --quick values mean nothing and are not written")
    effort = Effort(
        args.quick,
        args.scale,
        args.threads,
        args.seconds,
        args.data,
        pages if args.write else None,
        args.seed,
    )
    chosen = [
        (paper, exhibit)
        for paper in PAPERS
        if not args.paper or paper.name in args.paper
        for exhibit in paper.exhibits
        if not args.figure or _wanted(exhibit.name, args.figure)
    ]
    if not chosen:
        raise SystemExit(f"dovetail bench papers: no exhibit is called {', '.join(args.figure)} (see --list)")
    console = Console(width=160, highlight=False)
    found: dict[str, dict[str, Any]] = {}
    wrong, failed = [], []
    for paper, exhibit in chosen:
        if args.list or exhibit.make is None:
            if not args.json:
                line = f"{paper.name} {exhibit.name}: {exhibit.label}, {exhibit.title} ({exhibit.way})"
                console.print(line, soft_wrap=True, markup=False)
            continue
        tell(f"{paper.name} {exhibit.label}: {exhibit.title} ...")
        try:
            made = exhibit.make(effort)
        except Exception as error:
            # The others took hours, maybe: one that fails does not take them with it.
            traceback.print_exc()
            failed.append(f"{paper.name} {exhibit.label}: {type(error).__name__}: {error}")
            continue
        found.setdefault(paper.name, {})[exhibit.name] = made
        if not made.right:
            wrong.append(f"{paper.name} {exhibit.label}")
        if not args.json:
            for caption, table in made.tables.items():
                console.print(table.rich(f"{exhibit.label}: {caption or exhibit.title}"))
            verdicts = judged(exhibit, made)
            if verdicts:
                console.print(verdicts.rich(f"{exhibit.label}: findings"))
        if args.write:
            write(paper, {exhibit.name: made}, pages)
    document = {
        name: {exhibit: _document(made) for exhibit, made in exhibits.items()}
        for name, exhibits in found.items()
    }
    finish(args.json, document, lambda: None)
    for one in wrong:
        tell(f"{one}: some runs found other rows than there are")
    for one in failed:
        tell(f"{one}: not made")
    return 1 if wrong or failed else 0


def write(paper: Paper, made: dict[str, Made], pages: Path) -> None:
    """The contents of the page and the exhibits that were made."""
    from bench.paper.exhibit import block
    from bench.tables import renew_tables

    def of(exhibit: Exhibit) -> str:
        return block(exhibit, made[exhibit.name])

    blocks = {
        exhibit.name: (lambda exhibit=exhibit: of(exhibit))
        for exhibit in paper.exhibits
        if exhibit.name in made
    }
    renew_tables(pages / paper.page, {"contents": paper.contents().markdown, **blocks})


def _wanted(name: str, asked: list[str]) -> bool:
    """By its name, or as one of the exhibits that show a figure of that number."""
    kind, *parts = name.split("_")
    return any(one == name or (kind in ("figure", "figures") and one in parts) for one in asked)


def _document(made: Made) -> dict[str, Any]:
    return {
        "tables": {caption: asdict(table) for caption, table in made.tables.items()},
        "pictures": list(made.pictures),
        "right": made.right,
    }
