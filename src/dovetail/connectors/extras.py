"""Libraries that only some queries need. Law: a query that needs one that is missing gets one clear line,
before anything starts."""

from __future__ import annotations

import importlib
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from types import ModuleType

from dovetail.errors import ExtraMissing

PROJECT = "dovetail-joins"


def need(extra: str, *modules: str, by: str) -> ModuleType:
    """The first of these modules; all of them must be there. `by`: what needs them, as in STORAGE DELTA."""
    try:
        found = [importlib.import_module(module) for module in modules]
    except ImportError as error:
        raise ExtraMissing(
            f"{by} needs a library that is not installed: {error.name or modules[0]}",
            hint=f"run: {installing(extra)}",
        ) from None
    return found[0]


def installing(extra: str) -> str:
    """The command that installs an extra for this very Python: another `pip` may come first in PATH. It names
    the libraries, because what runs from a checkout cannot be asked of an index."""
    try:
        lines = [line.partition(";") for line in requires(PROJECT) or ()]
    except PackageNotFoundError:  # the sources were put on the path
        lines = []
    marker = f"extra == '{extra}'"
    wanted = [what.strip() for what, _, when in lines if when.strip().replace('"', "'") == marker]
    pip = [sys.executable, "-m", "pip", "install"]
    tool = pip if find_spec("pip") else ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*tool, *(wanted or [f"{PROJECT}[{extra}]"])])
