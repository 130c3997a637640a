"""Only the kinds of joins themselves know which kinds there are: everyone else asks a kind what it does. So
a fourth kind is a module in `model/kinds/`, a package in `joins/`, and a line in each of the two tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from dovetail.model.join_kind import KINDS
from dovetail.service.checkout import checkout_root

SOURCE = checkout_root() / "src/dovetail"
NAMES = {kind.__name__ for kind in KINDS}
THEIR_OWN = ("model/kinds/", "joins/interval/", "joins/windowed/", "joins/theta/")
TABLES = ("model/join_kind.py", "joins/kinds.py")
MAKERS = {
    "plan/build.py": "makes one of a query's text",
    "plan/dataframes/build.py": "makes one of a call's arguments",
    "service/torture/quick_kinds.py": "makes one of what a torture run draws",
}


def told_apart(tree: ast.AST) -> Iterator[int]:
    """Lines that ask which kind a join is: isinstance, a class pattern, or its type compared."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, kinds]) if named(kinds):
                yield node.lineno
            case ast.MatchClass(cls=kind) if named(kind):
                yield kind.lineno
            case ast.Compare() if named(node):
                yield node.lineno
            case ast.Dict(keys=keys) if any(key is not None and named(key) for key in keys):
                yield node.lineno


def named(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Name) and one.id in NAMES for one in ast.walk(node))


def elsewhere() -> Iterator[tuple[str, ast.Module]]:
    """The modules that name a kind, outside the kinds' own."""
    for path in sorted(SOURCE.rglob("*.py")):
        name, text = str(path.relative_to(SOURCE)), path.read_text()
        if not name.startswith(THEIR_OWN) and name not in TABLES and any(kind in text for kind in NAMES):
            yield name, ast.parse(text)


def test_nobody_asks_which_kind_a_join_is() -> None:
    assert [f"{name}:{line}" for name, tree in elsewhere() for line in told_apart(tree)] == []


def test_only_whoever_makes_a_join_names_its_kind() -> None:
    found = {
        name
        for name, tree in elsewhere()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and NAMES & {one.name for one in node.names}
    }
    assert found == set(MAKERS)


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(kind, ThetaJoin)",
        "isinstance(kind, IntervalJoin | ThetaJoin)",
        "type(kind) is WindowedJoin",
        "match kind:\n    case ThetaJoin(spec):\n        pass",
        "words = {IntervalJoin: 'a', ThetaJoin: 'b'}",
    ],
)
def test_what_counts_as_asking(code: str) -> None:
    assert len(list(told_apart(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code", ["kind.windows is None", "type(was) is not type(now)", "IntervalJoin(spec)", "print(kind.noun)"]
)
def test_what_does_not(code: str) -> None:
    assert list(told_apart(ast.parse(code))) == []
