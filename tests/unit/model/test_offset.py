"""An offset, of a join or an aggregate, reads back as it was, or is refused: it is kept in files that nobody
else checks for us."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.model.offset import JoinOffset
from dovetail.model.sealed_offset import checksum_of
from dovetail.model.window_offset import WindowOffset

Offset = JoinOffset | WindowOffset
JOIN = JoinOffset(3, 5, 6, 100, 200, 1, 2, 4, False, None, None, [[-7, "left"]], {"rows": 1.5, "keys": []})
AGGREGATE = WindowOffset(3, 7, 500, {"rows": 1}, 2, 100)
BOTH = pytest.mark.parametrize("example", [JOIN, AGGREGATE], ids=["join", "aggregate"])


def said(example: Offset, **changes: Any) -> dict[str, Any]:
    """An offset that was changed, with a checksum that fits."""
    made = {**example.to_json(), **changes}
    del made["checksum"]
    return {**made, "checksum": checksum_of(made)}


@BOTH
def test_round_trip(example: Offset) -> None:
    assert example.from_json(json.loads(json.dumps(example.to_json()))) == example
    assert example.from_json(said(example)) == example


@pytest.mark.parametrize(
    ("example", "field"),
    [(one, name) for one in (JOIN, AGGREGATE) for name in one.to_json() if name != "version"],
)
def test_another_value_is_noticed(example: Offset, field: str) -> None:
    with pytest.raises(CorruptFile, match="checksum"):
        example.from_json({**example.to_json(), field: 77})


@pytest.mark.parametrize(
    ("example", "changes"),
    [
        (JOIN, {"step": -1}),
        (JOIN, {"step": 1.0}),
        (JOIN, {"left": "5"}),
        (JOIN, {"left_floor": 6}),
        (JOIN, {"tasks": 2**40}),
        (JOIN, {"left_time": 2**63}),
        (JOIN, {"ended": 1}),
        (JOIN, {"hot": [[1, "middle"]]}),
        (JOIN, {"hot": [[1]]}),
        (JOIN, {"heat": 3}),
        (JOIN, {"more": 1}),
        (AGGREGATE, {"step": -1}),
        (AGGREGATE, {"commit": "5"}),
        (AGGREGATE, {"floor": 8}),
        (AGGREGATE, {"time": 2**63}),
        (AGGREGATE, {"ended": 1}),
        (AGGREGATE, {"estimate": 3}),
        (AGGREGATE, {"more": 1}),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(example: Offset, changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="not one") as caught:
        example.from_json(said(example, **changes))
    assert caught.value.where
    assert caught.value.hint


@BOTH
def test_other_versions_and_other_things(example: Offset) -> None:
    with pytest.raises(UnknownVersion):
        example.from_json(said(example, version=99))
    with pytest.raises(CorruptFile):
        example.from_json([])  # type: ignore[arg-type]


def test_after_an_end_the_stream_of_an_aggregate_begins_again() -> None:
    assert AGGREGATE.begun() == AGGREGATE
    assert AGGREGATE.moved(ended=True).begun() == WindowOffset(3, 7, floor=7)


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
        JoinOffset.from_json(said(JOIN, **changes))
