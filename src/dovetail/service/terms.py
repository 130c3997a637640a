"""What must be the same so that a running application can take over the query of another run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import dovetail
from dovetail.engine.shipped_code import digest

SERVICE_ORIGIN = "the service"
"""Brings the queries of the applications that it keeps."""


def terms_of(origin: str | None, **given: Any) -> dict[str, Any]:
    """`origin`: what brings the query when the run is started again, a file for example."""
    return {"code": _code(), "python": sys.executable, "file": origin, **given}


def same_terms(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Files may differ: a run of the old file that is started again does not bring an old query back, because
    it stops with an error (`changes/made_from.py`). The service brings a query back without asking, so
    its runs take none but its own."""
    kept = [{**terms, "file": terms.get("file") == SERVICE_ORIGIN} for terms in (one, other)]
    return kept[0] == kept[1]


def file_of(terms: Mapping[str, Any]) -> str | None:
    """The file that a query was offered from."""
    file = terms.get("file")
    return None if file == SERVICE_ORIGIN else file


def run_terms(
    mode: str, master: str, settings: dict[str, str], index_dir: str | None, metrics_port: int | None
) -> dict[str, object]:
    return {
        "mode": mode,
        "master": master,
        "settings": settings,
        "index_dir": index_dir,
        "metrics_port": metrics_port,
    }


def service_terms(master: str) -> dict[str, Any]:
    """For every run that the service starts."""
    return terms_of(SERVICE_ORIGIN, **run_terms("stream", master, {}, None, None))


@cache
def _code() -> str:
    return digest(Path(dovetail.__file__).parent)
