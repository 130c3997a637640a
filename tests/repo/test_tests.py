"""How tests are written: they use what is public, and wait for what happens, not for time to pass. Benchmarks
and developers' tools use what is public too."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import pytest

from dovetail.service.checkout import checkout_root

ROOT = checkout_root()
TESTS = ROOT / "tests"
HARNESSES = (TESTS, ROOT / "bench", ROOT / "dev")
ASKS_JAVA = ("dovetail_dev/spark_analyzer.py",)
"""PySpark has no public way to ask its JVM."""
PUBLIC = {"_replace": "of a named tuple", "_asdict": "of a named tuple", "_exit": "of `os`"}
"""Names that begin with an underscore only so that they clash with no field, or by tradition."""
OWN = ("self", "cls", "super")
WAITING = {
    "service/test_keeper.py": "real processes: they say what they do only in files",
    "service/test_pools.py": "real processes, likewise",
    "connectors/test_kafka_in.py": "rows that come at a rate while a real broker is away",
    "service/test_backup.py": "a run that is asked through a file, and looks for it as a real one does",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC and name != "_"


def reached(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Private names of others: imported, read or set as attributes, or named to `setattr` and its like."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            path = [*(node.module or "").split("."), *(one.name for one in node.names)]
            yield from ((node.lineno, name) for name in path if is_private(name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            if not (isinstance(owner, ast.Name) and owner.id in OWN):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and called(node) in {"getattr", "setattr", "delattr", "hasattr"}:
            words = [one.value for one in node.args if isinstance(one, ast.Constant)]
            parts = [part for word in words if isinstance(word, str) for part in word.split(".")]
            yield from ((node.lineno, part) for part in parts if is_private(part))


def slept(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "sleep":
            yield node.lineno, "sleep"


def called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def found(
    look: Callable[[ast.AST], Iterator[tuple[int, str]]],
    but: Collection[str],
    folders: Sequence[Path] = (TESTS,),
) -> list[str]:
    files = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
        if str(path.relative_to(folder)) not in but
    ]
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in files
        for line, name in look(ast.parse(path.read_text()))
    ]


def test_nobody_reaches_for_what_is_private() -> None:
    assert found(reached, ASKS_JAVA, HARNESSES) == []


def test_nobody_sleeps() -> None:
    assert found(slept, WAITING) == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from dovetail.log._parts import one", ["_parts"]),
        ("from dovetail.log import one, _two", ["_two"]),
        ("lease._over.set()", ["_over"]),
        ("self.join._over", ["_over"]),
        ("setattr(lease, '_over', 1)", ["_over"]),
        ("monkeypatch.setattr('dovetail.log._size', 1)", ["_size"]),
        ("self._mine; cls._mine; row._replace(key=1); module.__name__; from_.mine", []),
    ],
)
def test_what_counts_as_reaching(code: str, names: list[str]) -> None:
    assert [name for _, name in reached(ast.parse(code))] == names


def test_whoever_may_wait_is_there_and_waits() -> None:
    assert [name for name in WAITING if not list(slept(ast.parse((TESTS / name).read_text())))] == []


def left_open(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Connections to DuckDB that no `with` closes. What is open at the end of a run is listed on the screen,
    below the count of tests."""
    closed = {
        item.context_expr for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "duckdb.connect" and node not in closed:
            yield node.lineno, "duckdb.connect"


def test_databases_are_closed() -> None:
    assert found(left_open, ["spark/batch.py"]) == []
    besides = [path for path in (TESTS / "spark").glob("*.py") if path.name != "batch.py"]
    named = [path.name for path in besides if re.search(r"^\s*(import|from) duckdb", path.read_text(), re.M)]
    assert named == [], "Spark's gateway keeps errors, and what they saw: `spark/batch.py` says how to do it"


def test_what_counts_as_left_open() -> None:
    lines = left_open(ast.parse("with duckdb.connect() as a:\n    pass\nb = duckdb.connect('x')"))
    assert [line for line, _ in lines] == [3]


def test_what_counts_as_sleeping() -> None:
    lines = slept(ast.parse("time.sleep(1)\nsleep(2)\nevent.wait(3)"))
    assert [line for line, _ in lines] == [1, 2]
