"""The lakes that FROM may name, and what each takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail.connectors.lake import START, Lake, LakeKind
from dovetail.connectors.lakes.delta import DeltaLakeKind
from dovetail.connectors.lakes.iceberg import IcebergLakeKind
from dovetail.connectors.options import Value, with_defaults
from dovetail.connectors.secret import reveal
from dovetail.errors import PlanError

_KINDS: tuple[LakeKind, ...] = (DeltaLakeKind(), IcebergLakeKind())
LAKES: dict[str, LakeKind] = {kind.name: kind for kind in _KINDS}


def open_lake(kind: str, options: Iterable[tuple[str, Value]]) -> Lake:
    """Nothing is contacted yet, but a missing library or secret is an error now."""
    return LAKES[kind].open(reveal(with_defaults(LAKES[kind].options, options).items()))


def validate(kind: str, options: dict[str, Any]) -> None:
    """Raises a PlanError if the options mean nothing."""
    start = str(options[START.name])
    if start not in ("earliest", "latest") and not start.isdecimal():
        raise PlanError(
            f"`{start[:40]}` is not a place to start",
            expected='start = "earliest" | "latest" | a version as text',
        )
    LAKES[kind].validate(options)
