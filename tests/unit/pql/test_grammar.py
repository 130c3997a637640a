"""The grammar in the reference names what the parser takes, each in its own production."""

from __future__ import annotations

import re

import pytest

from dovetail.connectors.kinds import STORAGES
from dovetail.connectors.lake_kinds import LAKES
from dovetail.connectors.lookup_kinds import LOOKUPS
from dovetail.service.checkout import checkout_root

NAMED = {
    "origin": {"LOG", "SCRIBE", "FILES", "KAFKA", *LAKES},
    "lookup": set(LOOKUPS),
    "storage": set(STORAGES),
    "zone": set(),
}


def productions() -> dict[str, str]:
    """What stands behind each `name :=`."""
    page = (checkout_root() / "docs/reference/pql.md").read_text()
    text = page.split("## Statements\n\n```text\n")[1].split("```")[0]
    return dict(re.findall(r"^(\w+) +:= (.*?)(?=^\w|\Z)", text, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", NAMED)
def test_a_production_names_every_kind(name: str) -> None:
    said = productions()[name]
    places = {*re.findall(r"\b([A-Z]+)\(", said), *re.findall(r"\b(CONSOLE|NOOP)\b", said)}
    assert places - {"SECRET"} == NAMED[name]
