"""One rule, one file of cases: an edit of `query.pql`, or of a query of its own, and the words for it.

    -- case: what it shows
    - a piece of the query
    + what it becomes
    -- says
    the words

Several edits may follow each other. A piece may have several lines: each begins with the sign. A line
`-- from clicks=latest` or `-- reslice` is an option of the command. `-- log exact from <time>` and
`-- next commit <number>` are what the log says, and `-- foreign <folder>` is one that others have written,
`-- written <place>` one that has batches of an earlier table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dovetail.changes import rules as change_rules
from dovetail.changes.between import Beginning
from dovetail.changes.compare import closest
from dovetail.changes.costs import Unknown
from dovetail.changes.positions import positions_in
from dovetail.changes.promises import older_than_promised
from dovetail.changes.rules import RULES
from dovetail.changes.verdict import Change
from dovetail.changes.words import change_lines, verdict_words
from dovetail.plan.physical import FileSink, JoinStage, Plan, Stage
from dovetail.plan.statements import Program
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

GOLDEN = Path(__file__).parents[2] / "golden" / "changes"
QUERY = (GOLDEN / "query.pql").read_text()
ELSEWHERE = {"afresh", "promises", "spelling", "stored_views", "unknown"}
"""What is said, or not, by more than a file of `rules/`."""
SAYS = {
    "side_columns": {"side_columns", "side_filters"},
    "identity": {"identity", "sharing"},
    "stored_views": {"tables"},
}


class AsSaid(Unknown):
    """What a home would say, as the case says it."""

    def __init__(self, edits: str) -> None:
        self._edits = edits

    def exact_us(self, stage: JoinStage) -> int | None:
        said = re.search(r"^-- log exact from (.*)$", self._edits, flags=re.M)
        return None if said is None else round(datetime.fromisoformat(said[1]).timestamp() * 1e6)

    def next_commit(self, category: str) -> int | None:
        said = re.search(r"^-- next commit (.*)$", self._edits, flags=re.M)
        return None if said is None else int(said[1])

    def is_foreign(self, sink: FileSink) -> bool:
        return f"\n-- foreign {sink.path}\n" in self._edits

    def has_batches(self, stage: Stage) -> bool:
        place = getattr(stage.output, "path", None) or getattr(stage.output, "category", None)
        return f"\n-- written {place}\n" in self._edits


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


def query_of(rule: str) -> str:
    own = GOLDEN / f"{rule}.pql"
    return own.read_text() if own.exists() else QUERY


@cache
def compiled(text: str, query: str = QUERY) -> tuple[Program, list[Plan]]:
    program = parse(text, name="new.pql")
    before = None if text == query else compiled(query, query)[1][0]
    return program, plans_of(trace_program(program), before)


def changes(rule: str, edits: str) -> list[Change]:
    query = query_of(rule)
    old, (plan, *_) = compiled(query, query)
    new, plans = compiled(edited(query, edits), query)
    begins = positions_in(re.findall(r"^-- from (.*)$", edits, flags=re.M))
    said = {table: Beginning(str(position)) for table, position in begins.items()}
    reslice = "\n-- reslice\n" in edits
    home = AsSaid(edits)
    now, found = closest(plan, plans, old, new, lambda stage, source: said.get(source.name), home, reslice)
    return [*found, *older_than_promised(str(GOLDEN), plan, now)]


@pytest.mark.parametrize(("rule", "edits", "words"), list(cases()))
def test_rule(rule: str, edits: str, words: str) -> None:
    found = changes(rule, edits)
    shown = "\n".join([verdict_words(found), *change_lines(found)])
    assert shown.strip() == words
    said = {change.rule for change in found}
    assert said & SAYS.get(rule, {rule}) if rule != "spelling" else not said


def test_every_rule_has_its_cases() -> None:
    files = {path.stem for path in Path(str(change_rules.__file__)).parent.glob("*.py")} - {"__init__"}
    assert {rule.__name__ for rule in RULES} <= files
    assert {path.stem for path in GOLDEN.glob("*.txt")} == files | ELSEWHERE


def test_every_refusal_names_a_way_that_works() -> None:
    for case in cases():
        for change in changes(*case.values[:2]):
            assert change.verdict != "refused" or change.instead, change
