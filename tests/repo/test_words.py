"""One word for one thing, and words that people use. `docs/glossary.md` has the words."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.service.checkout import checkout_root

ROOT = checkout_root()
SOURCE = ROOT / "src/dovetail"

LOSE = {
    r"told": "says, shows, given",
    r"reckon\w*": "compute, estimate",
    r"anew": "again",
    r"rows a second": "rows per second",
    r"so many": "N, a number",
    r"what all": "everything",
    r"of which to compare": "(say what is compared)",
    r"is had": "is made, is known",
    r"some (two|three|four|five|six|ten|[a-z]+ty|hundred|[0-9]+)": "about N",
}
WORDS = re.compile("|".join(rf"\b{word}\b" for word in LOSE) + r'|"""Of (a|an|the|each|all)\b', re.IGNORECASE)
"""Also a docstring that goes on from a name which is not on its line: say what it is, or "for" whom."""


def written() -> list[Path]:
    """Every file that people read."""
    folders = ("src", "dev", "bench", "tests", "docs", "examples")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    readable = [path for path in files if path.suffix in {".py", ".md", ".pql"}]
    return sorted([*ROOT.glob("*.md"), ROOT / "dovetail", ROOT / "mkdocs.yml", *readable])


def test_words_to_lose_are_lost() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in written()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line", ["As I was told.", "N rows a second", "Reckoned from costs", "what all is", "some twenty cycles"]
)
def test_words_are_found(line: str) -> None:
    assert WORDS.search(line)


KINDS = ("interval", "windowed", "theta")


def home_of(path: Path) -> str:
    """Kinds of join have the same names, and so have the designs of sliding joins, whose kernels share a
    folder. Otherwise a name has one file."""
    folder = str(path.relative_to(SOURCE).parent)
    if folder == "sliding/kernels":
        return folder
    return "joins/<kind>" if folder in {f"joins/{kind}" for kind in KINDS} else str(path.relative_to(SOURCE))


def test_a_class_name_means_one_class() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    homes = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(home_of(path))
    assert {name: sorted(found) for name, found in homes.items() if len(found) > 1} == {}
    named = set(re.findall(r"^\| `([A-Z]\w+)` \|", glossary, re.MULTILINE))
    assert {"Run", "Layout", "Outcome", "Snapshot"} <= named <= set(homes)


REPLAYS = {"src/dovetail/joins", "src/dovetail/why", "src/dovetail/preview", "docs/glossary.md"} | {
    f"docs/how-to/{page}.md" for page in ("explain-a-row", "look-before-you-leap")
}


def test_what_is_replayed_is_replayed_as_the_glossary_says() -> None:
    """A join is rebuilt, rows are read again; only explaining a row and comparing versions replay. Names in
    code keep theirs, and so does what is on disk."""
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in written()
        if path.is_relative_to(ROOT / "src") or path.suffix == ".md"
        if not any(path.relative_to(ROOT).is_relative_to(place) for place in REPLAYS)
        for line in prose(path)
        if re.search(r"\breplay", re.sub(r"`[^`]*`|--replay", "", line), re.IGNORECASE)
    ]
    assert found == []


def prose(path: Path) -> Iterator[str]:
    """The lines of a page; of code those of texts that have more than one word."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from node.value.splitlines()
