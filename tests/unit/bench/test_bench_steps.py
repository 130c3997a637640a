"""`bench steps`: the joins that it measures hold what they should, and every name that benchmarks import is
there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from bench import steps_work
from bench.steps_work import Past

BENCH = Path(steps_work.__file__).parent


@pytest.mark.parametrize("past", [Past(70, 500), Past.of_window(2_000, 100)])
def test_each_new_row_meets_its_partner_and_no_row_of_the_past(tmp_path: Path, past: Past) -> None:
    join = steps_work.build(tmp_path / "work", tmp_path / "index", past)
    for _ in range(3):
        join.step(200)
    assert join.rows == 3 * 100


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_names_that_a_benchmark_imports_exist(path: Path) -> None:
    """Many are imported only when their part runs."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] not in (
            "bench",
            "dovetail",
        ):
            continue
        module = importlib.import_module(str(node.module))
        for name in node.names:
            if not hasattr(module, name.name):
                importlib.import_module(f"{node.module}.{name.name}")
