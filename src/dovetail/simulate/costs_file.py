"""Costs as JSON: how measured ones reach the simulator.

Law: what is written is read back equal, and a file that is not what a writer of this version writes is an
error that says which field is wrong and what it should be.

    {"format": "dovetail.costs", "version": 1, "source": "...", "compare_ns": [[16384, 0.12], ...], ...}

Fields that are left out keep their placeholders, so a file may hold only what was measured.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from dovetail.errors import InputError, SettingError, UnknownVersion
from dovetail.model.json_values import items, real, text, whole
from dovetail.simulate.costs import CompareLevels, Costs

FORMAT, VERSION = "dovetail.costs", 1
_KNOWN = tuple(field.name for field in fields(Costs))


def to_json(costs: Costs) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, **asdict(costs)}


def write_costs(costs: Costs, path: Path) -> None:
    path.write_text(json.dumps(to_json(costs), indent=1) + "\n")


def read_costs(path: Path) -> Costs:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise InputError(
            f"the costs cannot be read: {error.strerror or error}",
            where=str(path),
            expected="a JSON file of costs",
        ) from error
    except ValueError as error:
        raise InputError(f"the costs are not JSON: {error}", where=str(path)) from error
    return from_json(document, str(path))


def from_json(document: Any, where: str) -> Costs:
    if type(document) is not dict or document.get("format") != FORMAT:
        raise InputError(
            "this is not a file of costs", where=where, expected=f'an object with "format": "{FORMAT}"'
        )
    if document.get("version") != VERSION:
        raise UnknownVersion(
            f"costs of version {document.get('version')!r} are not read here",
            where=where,
            expected=f"version {VERSION}",
            hint="measure them again with this release",
        )
    given = {name: value for name, value in document.items() if name not in ("format", "version")}
    for name in given:
        if name not in _KNOWN:
            raise InputError(
                f"there is no cost {name!r}", where=where, expected=f"one of: {', '.join(_KNOWN)}"
            )
    values: dict[str, Any] = {}
    for name, value in given.items():
        try:
            values[name] = _value(name, value)
        except ValueError as error:
            expected = "pairs [rows, ns]" if name == "compare_ns" else None
            raise InputError(f"{name}: {error}", where=where, expected=expected) from error
    try:
        return Costs(**values)
    except SettingError as error:
        raise InputError(error.what, where=f"{where}, {error.where}", expected=error.expected) from error


def _value(name: str, value: Any) -> Any:
    if name == "source":
        return text(value)
    return _levels(value) if name == "compare_ns" else float(real(value))


def _levels(value: Any) -> CompareLevels:
    pairs = [items(pair) for pair in items(value)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("every level is a pair")
    return tuple((whole(rows, 1), float(real(ns))) for rows, ns in pairs)
