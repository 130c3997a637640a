"""ARCHITECTURE.md is true: the row's way is the way rows go, the join is read at one sitting, paths exist."""

from __future__ import annotations

import ast
import re

from dovetail.service.checkout import checkout_root

ROOT = checkout_root()
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
WAY = re.findall(r"^(\d+)\. `([\w/]+\.py):(\w+)`", TEXT, re.MULTILINE)
MOST_FILES, MOST_JOIN_FILES, MOST_JOIN_LINES = 35, 8, 1_000


def test_every_function_of_a_rows_way_exists() -> None:
    assert [int(number) for number, _, _ in WAY] == list(range(1, len(WAY) + 1))
    for _, path, function in WAY:
        tree = ast.walk(ast.parse((ROOT / path).read_text()))
        assert function in {node.name for node in tree if isinstance(node, ast.FunctionDef)}, (path, function)


def test_a_rows_way_is_short() -> None:
    assert len({path for _, path, _ in WAY}) <= MOST_FILES


def test_the_join_is_read_at_one_sitting() -> None:
    (first, last), *rest = re.findall(r"is steps (\d+) to (\d+)", TEXT)
    assert rest == []
    files = {path for number, path, _ in WAY if int(first) <= int(number) <= int(last)}
    assert len(files) <= MOST_JOIN_FILES
    assert sum(len((ROOT / path).read_text().splitlines()) for path in files) <= MOST_JOIN_LINES


def test_lines_are_short() -> None:
    assert [line for line in TEXT.splitlines() if len(line) >= 100 and not line.startswith("|")] == []


def test_every_room_has_its_sentence() -> None:
    package = ROOT / "src/dovetail"
    rooms = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    named = set(re.findall(r"^\| `src/dovetail/(\w+)/` \|", TEXT, re.MULTILINE))
    assert rooms == named
