"""An offset reads back as it was, or is refused: it is kept in files that nobody else checks for us."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.model import sealed_offset
from dovetail.model.offset import JoinOffset

EXAMPLE = JoinOffset(3, 5, 6, 100, 200, 1, 2, 4, False, None, None, [[-7, "left"]], {"rows": 1.5, "keys": []})


def said(**changes: Any) -> dict[str, Any]:
    """An offset that was changed, with a checksum that fits."""
    made = {**EXAMPLE.to_json(), **changes}
    del made["checksum"]
    return {**made, "checksum": sealed_offset.checksum_of(made)}


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


def test_the_way_begins_at_the_last_step_but_one_that_is_in_the_home() -> None:
    home: set[int] = set()
    at = JoinOffset(left=1, right=2, left_floor=1, right_floor=2)
    for step in range(1, 9):
        before = at
        at = at.moved(step=step, tasks=2, left=step + 1, right=step + 2, left_floor=step)
        at = at.remembering(before, lambda known: known.step in home)
        assert JoinOffset.from_json(json.loads(json.dumps(at.to_json()))) == at
        if step in (2, 3, 6, 7):
            home.add(step)
        # 4 was planned when 2 and 3 were there; 5 and 6 came to no more, then 6 was there, and 7
        base = (0, 0, 0, 0, 2, 2, 2, 3, 6)[step]
        assert [one.step for one in at.way] == list(range(base, step + 1))
        assert at.needed == ((base or 1), 2)
        assert at.way[0].version == JoinOffset(**at.way[0].bare()).version
        assert at.version == at.moved(base=None, trail=[]).version


@pytest.mark.parametrize(
    "changes",
    [
        {"base": 7},
        {"base": {"step": 1}},
        {"base": {"step": 2, "left": -1}},
        {"base": {"step": 1}, "trail": [{"step": 3}]},
        {"trail": {}},
        {"base": {"step": 2, "other": 1}},
    ],
)
def test_a_way_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="not one"):
        JoinOffset.from_json(said(**changes))
