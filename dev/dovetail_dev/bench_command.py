"""`dovetail bench NAME ...`: runs `bench/NAME.py` of the checkout. Without a name, lists them.

A benchmark is a file with a docstring and `main(argv) -> int | None`. It is loaded by its path, so that
nothing in `src` can depend on `bench`.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from dovetail.errors import InputError
from dovetail.service.checkout import checkout_root

app = typer.Typer(add_completion=False)


def _names(incomplete: str) -> list[str]:
    return [name for name in benchmarks(checkout_root() / "bench") if name.startswith(incomplete)]


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)
def bench(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="Name of the benchmark. Without it, list them.", autocompletion=_names),
    ] = None,
) -> None:
    """Run a benchmark with its own options (`dovetail bench NAME --help` shows them)."""
    folder = checkout_root() / "bench"
    if name is None or name in ("-h", "--help"):
        print("Benchmarks, each run as: dovetail bench NAME [OPTIONS]\n")
        for found, sentence in benchmarks(folder).items():
            print(f"  {found:<12} {sentence}")
        return
    raise typer.Exit(load(folder, name).main(list(context.args)) or 0)


def benchmarks(folder: Path) -> dict[str, str]:
    """Every benchmark with the first line of its docstring. The files are read, not imported."""
    return {
        path.stem: (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
        for path in sorted(folder.glob("*.py"))
        if not path.stem.startswith("_") and "def main(" in path.read_text()
    }


def load(folder: Path, name: str) -> ModuleType:
    """Import one benchmark by path, under a name of its own so that its classes can be pickled."""
    known = benchmarks(folder)
    if name not in known:
        raise InputError(
            f"there is no benchmark {name!r}",
            where=str(folder),
            expected=", ".join(known) or "a benchmark in this folder",
            hint="dovetail bench lists them",
        )
    spec = importlib.util.spec_from_file_location(f"bench_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(folder.parent))  # a benchmark imports its parts as `bench.part`
    spec.loader.exec_module(module)
    return module
