"""The shape of the source: small files, named ideas, light imports, nothing of one person's machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

from dovetail.service.checkout import checkout_root

ROOT = checkout_root()
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MEDIAN_LINES = 150
DRAWERS = {"utils", "util", "helpers", "helper", "common", "core", "misc"}
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:tmp|home|root|Users|mnt|work)/\w")


def written() -> list[Path]:
    """Everything a reader reads."""
    folders = [
        path for name in ("src", "bench", "docs") for path in (ROOT / name).rglob("*") if path.is_file()
    ]
    return [
        path
        for path in [*ROOT.glob("*.md"), *folders]
        if path.suffix in {".py", ".md", ".pql", ".svg", ".toml"}
    ]


def test_files_are_small() -> None:
    lines = sorted(len(path.read_text().splitlines()) for path in SOURCES)
    assert lines[len(lines) // 2] <= MEDIAN_LINES


def test_no_drawers() -> None:
    names = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    assert names & DRAWERS == set()


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.read_text().strip() and not path.read_text().startswith('"""')
    ]
    assert silent == []


def test_no_path_of_one_machine() -> None:
    assert [str(path) for path in written() if MACHINE_PATH.search(path.read_text())] == []


KEPT_FOR_GOOD = {
    "open_store": "homes of a process",
    "bring": "applications that a process has run",
    "_worker": "two threads of a process",
    "address": "functions of a library",
}
"""Functions that remember an answer for each argument, without a bound, and what bounds the arguments."""


def test_what_a_process_remembers_has_a_bound() -> None:
    """It runs for months: a cache whose keys come from data would grow for as long."""
    unbounded = {
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and node.args.args
        and any(map(_is_unbounded, node.decorator_list))
    }
    assert unbounded == set(KEPT_FOR_GOOD)


def _is_unbounded(decorator: ast.expr) -> bool:
    name = ast.unparse(decorator).removeprefix("functools.")
    return name in ("cache", "lru_cache(None)", "lru_cache(maxsize=None)")


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, dovetail; print({'pyspark', 'numba', 'pyarrow', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


BY_NAME = {
    "failures": "reads Spark's errors, Java's too, as the texts that reach us",
    "nursery": "imports PySpark by name, in the process that others fork from",
    "nursery_client": "stands for a process of Spark, which waits for it: it imports next to nothing",
}


def test_what_is_in_spark_needs_spark() -> None:
    """It imports PySpark, or a sibling that does. What needs none of it has its room elsewhere."""
    modules = {path.stem: imported(path) for path in SOURCES if path.parent == ROOT / "src/dovetail/spark"}
    needs = {name for name, found in modules.items() if found & {"pyspark", "py4j"}}
    while more := {name for name, found in modules.items() if found & needs} - needs:
        needs |= more
    assert set(modules) - needs - {"__init__"} == set(BY_NAME)


def imported(path: Path) -> set[str]:
    """Packages outside, and siblings by their names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{one.name}" for one in node.names)
    own = f"dovetail.{path.parent.name}."
    return {name.removeprefix(own).partition(".")[0] for name in names}


def test_numba_is_at_home_in_folders_called_kernels() -> None:
    users = [path for path in SOURCES if re.search(r"^\s*(import|from) numba", path.read_text(), re.M)]
    assert [str(path.relative_to(ROOT)) for path in users if path.parent.name != "kernels"] == []
