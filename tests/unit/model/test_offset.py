"""An offset reads back as it was, or is refused: it is kept in files that nobody else checks for us."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.model import offset
from dovetail.model.offset import JoinOffset

EXAMPLE = JoinOffset(3, 5, 6, 100, 200, 1, 2, 4, False, None, None, [[-7, "left"]], {"rows": 1.5, "keys": []})


def said(**changes: Any) -> dict[str, Any]:
    """An offset that was changed, with a checksum that fits."""
    made = {**EXAMPLE.to_json(), **changes}
    del made["checksum"]
    return {**made, "checksum": offset._checksum(made)}


def test_round_trip() -> None:
    assert JoinOffset.from_json(json.loads(json.dumps(EXAMPLE.to_json()))) == EXAMPLE
    assert JoinOffset.from_json(said()) == EXAMPLE


@pytest.mark.parametrize("field", [name for name in EXAMPLE.to_json() if name != "version"])
def test_another_value_is_noticed(field: str) -> None:
    with pytest.raises(CorruptFile, match="checksum"):
        JoinOffset.from_json({**EXAMPLE.to_json(), field: 77})


@pytest.mark.parametrize(
    "changes",
    [
        {"step": -1},
        {"step": 1.0},
        {"left": "5"},
        {"left_floor": 6},
        {"tasks": 2**40},
        {"left_time": 2**63},
        {"ended": 1},
        {"hot": [[1, "middle"]]},
        {"hot": [[1]]},
        {"heat": 3},
        {"more": 1},
    ],
)
def test_a_value_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="not one") as caught:
        JoinOffset.from_json(said(**changes))
    assert caught.value.where
    assert caught.value.hint


def test_other_versions_and_other_things() -> None:
    with pytest.raises(UnknownVersion):
        JoinOffset.from_json(said(version=99))
    with pytest.raises(CorruptFile):
        JoinOffset.from_json([])  # type: ignore[arg-type]
