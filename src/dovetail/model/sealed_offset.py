"""Offsets as JSON in Spark's offset log: with a version and a checksum, because Spark itself checks nothing.

Law: what `opened` returns is what `sealed` was given, or it raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import xxhash

from dovetail.errors import CorruptFile, UnknownVersion

WHERE = "Spark's offset log"
REMEDY = "restore the application's checkpoints from a copy of the home, or start in a new home"

Offset = TypeVar("Offset")


def sealed(version: int, fields: dict[str, Any]) -> dict[str, Any]:
    said = {"version": version, **fields}
    return {**said, "checksum": checksum_of(said)}


def opened(
    fields: Any, versions: tuple[int, ...], what: str, made: Callable[[dict[str, Any]], Offset]
) -> Offset:
    """`versions`: those that are read. `made` builds the offset and raises TypeError or ValueError for what
    cannot be one. `what` names it in errors."""
    if not isinstance(fields, dict):
        raise CorruptFile(f"{what} that is not one", where=WHERE, hint=REMEDY)
    said = {name: value for name, value in fields.items() if name != "checksum"}
    if fields.get("checksum") != checksum_of(said) and said.get("version") in versions:
        raise CorruptFile(f"{what} is damaged: its checksum does not fit", where=WHERE, hint=REMEDY)
    if said.pop("version", None) not in versions:
        raise UnknownVersion(
            f"{what} of format {fields.get('version')!r}",
            where=WHERE,
            expected=f"format {' or '.join(map(str, versions))}",
            hint="run the release that wrote it, or start with a new home",
        )
    try:
        return made(said)
    except (TypeError, ValueError) as error:
        raise CorruptFile(f"{what} that is not one: {error}", where=WHERE, hint=REMEDY) from error


def checksum_of(said: dict[str, Any]) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(said, sort_keys=True).encode())
