"""One rule, one file of cases: an edit of `query.pql`, and the words for it.

    -- case: what it shows
    - a piece of the query
    + what it becomes
    -- says
    the words

Several edits may follow each other. A piece may have several lines: each begins with the sign. A line
`-- from clicks=latest` or `-- reslice` is an option of the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dovetail.changes.between import Beginning
from dovetail.changes.compare import closest
from dovetail.changes.positions import positions_in
from dovetail.changes.rules import RULES
from dovetail.changes.verdict import Change
from dovetail.changes.words import change_lines, verdict_words
from dovetail.plan.physical import Plan
from dovetail.plan.statements import Program
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

GOLDEN = Path(__file__).parents[2] / "golden" / "changes"
QUERY = (GOLDEN / "query.pql").read_text()
OTHERS = {"application", "tables", "spelling", "afresh"}


def cases() -> Iterator[Any]:
    for path in sorted(GOLDEN.glob("*.txt")):
        for case in re.split(r"^-- case: ", path.read_text(), flags=re.M)[1:]:
            title, _, rest = case.partition("\n")
            edits, _, words = rest.partition("-- says\n")
            yield pytest.param(path.stem, edits, words.strip(), id=f"{path.stem}: {title}")


def edited(text: str, edits: str) -> str:
    """Every run of `-` lines becomes the run of `+` lines after it; without `-` lines they are added at the
    end."""
    for old, new in re.findall(r"((?:^- .*\n)*)((?:^\+ .*\n)+)", edits, flags=re.M):
        before, after = ("\n".join(line[2:] for line in piece.splitlines()) for piece in (old, new))
        if not before:
            text += f"\n{after}\n"
            continue
        assert text.count(before) == 1, f"{before!r} is there {text.count(before)} times"
        text = text.replace(before, after)
    return text


@cache
def compiled(text: str) -> tuple[Program, list[Plan]]:
    program = parse(text, name="new.pql")
    before = None if text == QUERY else compiled(QUERY)[1][0]
    return program, plans_of(trace_program(program), before)


def changes(edits: str) -> list[Change]:
    old, (plan, *_) = compiled(QUERY)
    new, plans = compiled(edited(QUERY, edits))
    begins = positions_in(re.findall(r"^-- from (.*)$", edits, flags=re.M))
    said = {table: Beginning(str(position)) for table, position in begins.items()}
    reslice = "\n-- reslice\n" in edits
    return closest(plan, plans, old, new, lambda stage, source: said.get(source.name), reslice=reslice)[1]


@pytest.mark.parametrize(("rule", "edits", "words"), list(cases()))
def test_rule(rule: str, edits: str, words: str) -> None:
    found = changes(edits)
    shown = "\n".join([verdict_words(found), *change_lines(found)])
    assert shown.strip() == words
    assert rule in {change.rule for change in found} | OTHERS | {"side_columns"}


def test_every_rule_has_its_cases() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {rule.__name__ for rule in RULES} | OTHERS


def test_every_refusal_names_a_way_that_works() -> None:
    for case in cases():
        for change in changes(case.values[1]):
            assert change.verdict != "refused" or change.instead, change
