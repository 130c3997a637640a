"""Libraries that only some queries need. Law: a query that needs one that is missing gets one clear line,
before anything starts."""

from __future__ import annotations

import importlib
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
            hint=f'run: pip install "{PROJECT}[{extra}]"',
        ) from None
    return found[0]
