"""Docs that are asserted: paths, anchors and names exist, commands are understood, prose lines are short."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import dovetail
from commands import run_command
from dovetail.service.checkout import checkout_root
from dovetail_dev.bench_command import benchmarks

ROOT = checkout_root()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
FENCE_ANYWHERE = re.compile(r"^ *```[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
OURS = re.compile(r"(?:src|tests|bench|docs|\.ci)/[\w./-]*")
NOT_A_COMMAND = re.compile(r"[|<>\[{…]|\.\.\.")

GENERATED = Path("docs/reference/faults-survived.md")


def paths(text: str) -> Iterator[str]:
    """What a page names that lies in the checkout, from its root; a glob or a pattern is not a path."""
    for code in INLINE.findall(text):
        if OURS.fullmatch(code):
            yield code.rstrip("/")


def links(text: str) -> Iterator[str]:
    """Relative links, without their fragment."""
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:|#", target):
            yield target.partition("#")[0]


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every `dovetail` call shown, in blocks and in running text."""
    blocks = FENCE.findall(text)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    for line in lines + INLINE.findall(FENCE.sub("", text)):
        shown = re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\./)?dovetail((?: .*)?)$", line)
        if shown is None:
            continue
        arguments = shown[1].partition(" #")[0]
        if not NOT_A_COMMAND.search(arguments):
            yield shlex.split(arguments)


def test_there_are_pages() -> None:
    assert ROOT / "README.md" in PAGES
    assert ROOT / "docs/glossary.md" in PAGES


def test_every_page_is_reached_from_the_index() -> None:
    index = ROOT / "docs/index.md"
    linked = {(index.parent / link).resolve() for link in links(index.read_text())}
    pages = {page for page in PAGES if page.is_relative_to(ROOT / "docs") and page != index}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - linked) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_exists(page: Path) -> None:
    text = page.read_text()
    assert [path for path in paths(text) if not (ROOT / path).exists()] == []
    assert [link for link in links(text) if not (page.parent / link).exists()] == []


def anchors(text: str) -> set[str]:
    """What a link may name after `#`: the headings, as both the site and a repository page spell them."""
    headings = re.findall(r"^#+ (.+)$", FENCE_ANYWHERE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_anchor_is_a_heading(page: Path) -> None:
    missing = []
    for target in LINK.findall(page.read_text()):
        name, _, anchor = target.partition("#")
        if anchor and not re.match(r"[a-z]+:", target):
            linked = page.parent / name if name else page
            if anchor not in anchors(linked.read_text()):
                missing.append(target)
    assert missing == []


PYTHON = re.compile(r"^ *```python[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_a_page_is_python_and_uses_public_names(page: Path) -> None:
    for block in PYTHON.findall(page.read_text()):
        tree = ast.parse(textwrap.dedent(block))
        for node in ast.walk(tree):
            for alias in node.names if isinstance(node, ast.Import) else ():
                if alias.name.partition(".")[0] == "dovetail":
                    importlib.import_module(alias.name)
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "dovetail"
        }
        assert [name for name in sorted(used) if not hasattr(dovetail, name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_easy_to_compare(page: Path) -> None:
    """Lines of prose are under 100 characters, so that a change shows what changed. Tables and code are as
    wide as they need to be.
    """
    if page.relative_to(ROOT) == GENERATED:
        return
    prose = FENCE_ANYWHERE.sub("", page.read_text()).splitlines()
    assert [line for line in prose if len(line) >= 100 and not line.lstrip().startswith("|")] == []


SHOWN = sorted({tuple(arguments) for page in PAGES for arguments in commands(page.read_text())})


@pytest.mark.parametrize("arguments", SHOWN, ids=" ".join)
def test_every_command_is_understood(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--help` added a command parses its options and does nothing."""
    if arguments[:1] == ("bench",):
        assert set(arguments[1:2]) <= {"NAME", *benchmarks(ROOT / "bench")}
        return
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    assert run_command(*own, "--help") == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\n$ ./dovetail run a.pql --drain   # all of it\n```", [["run", "a.pql", "--drain"]]),
        ("```sh\ndovetail log append left \\\n  rows.csv\n```", [["log", "append", "left", "rows.csv"]]),
        ("`DOVETAIL_HOME=x dovetail demo` and `dovetail`", [["demo"], []]),
        ("`dovetail log ls | cat` and `dovetail test [TIER]` and dovetail demo", []),
    ],
)
def test_commands_are_found(text: str, found: list[list[str]]) -> None:
    assert list(commands(text)) == found


def test_paths_and_links_are_found() -> None:
    text = "see `src/dovetail/errors.py`, `docs/`, `tests/*.py`, [a](b.md#c), [d](https://e.org), [f](#g)"
    assert list(paths(text)) == ["src/dovetail/errors.py", "docs"]
    assert list(links(text)) == ["b.md"]
