"""Common mistakes, and what people know from other systems: what `check` says, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail.pql.check import check

GOLDEN = Path(__file__).parents[2] / "golden" / "mistakes.txt"
INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k STRING, x INT) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k STRING, y INT) FROM SCRIBE("b");
"""
OUTPUT = "CREATE TABLE o AS SELECT t FROM v STORAGE NOOP;\n"


def cases() -> Iterator[Any]:
    """A case that is no whole file has its inputs above it and, if it is a view, an output below."""
    for case in re.split(r"^-- case: ", GOLDEN.read_text(), flags=re.M)[1:]:
        title, _, both = case.partition("\n")
        text, _, says = both.partition("\n-- says\n")
        text = text.strip("\n") + "\n"
        if not text.startswith("CREATE APPLICATION"):
            text = INPUTS + text + ("" if "STOR" in text else OUTPUT)
        yield pytest.param(text, says.strip(), id=title)


def said(text: str) -> str:
    found = check(text, name="app.pql")
    idle = re.compile("is read by no table|is called nowhere")
    warnings = [f"warning: {line}" for line in found.warnings if not idle.search(line)]
    return "\n".join([*map(str, found.errors), *warnings])


@pytest.mark.parametrize(("text", "says"), list(cases()))
def test_mistake(text: str, says: str) -> None:
    assert said(text) == says
