"""One rule, one file of pairs: the rule alone turns the first program into the second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail.plan.rules import RULES, Rule
from dovetail.pql.parser import parse
from dovetail.pql.render import render

GOLDEN = Path(__file__).parents[2] / "golden"


def cases() -> Iterator[Any]:
    for rule in RULES:
        text = (GOLDEN / f"{rule.__name__}.pql").read_text()
        for case in re.split(r"^-- case: ", text, flags=re.M)[1:]:
            title, _, pair = case.partition("\n")
            before, _, after = pair.partition("\n-- becomes\n")
            yield pytest.param(rule, before, after, id=f"{rule.__name__}: {title}")


@pytest.mark.parametrize(("rule", "before", "after"), list(cases()))
def test_rule(rule: Rule, before: str, after: str) -> None:
    program = parse(before)
    shown = render(program)
    made = rule(program)
    assert render(made).strip() == after.strip()
    assert made == parse(after)
    assert render(program) == shown, "a rule must not change what it is given"


def test_every_file_has_its_rule() -> None:
    assert {path.stem for path in GOLDEN.glob("*.pql")} == {rule.__name__ for rule in RULES}
