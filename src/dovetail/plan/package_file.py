"""Files of the package that say what Spark accepts. Tools of developers write them, by asking Spark."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from dovetail.errors import UnknownVersion


def package_file(name: str, version: int) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(files("dovetail.plan").joinpath(name).read_text(encoding="utf-8"))
    if said.get("format") != version:
        raise UnknownVersion(
            f"{name} has format {said.get('format')}",
            where=f"dovetail/plan/{name}",
            expected=f"format {version}",
            hint="install Dovetail again: the file is a part of it",
        )
    return said
