"""An aggregate's offset reads back as it was, or is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.errors import CorruptFile, PlanError, UnknownVersion
from dovetail.model.sealed_offset import checksum_of
from dovetail.model.time_window import TimeWindow
from dovetail.model.window_offset import WindowOffset

EXAMPLE = WindowOffset(3, 7, 500, {"rows": 1}, 2, 100)


def said(**changes: Any) -> dict[str, Any]:
    """An offset that was changed, with a checksum that fits."""
    made = {**EXAMPLE.to_json(), **changes}
    del made["checksum"]
    return {**made, "checksum": checksum_of(made)}


def test_round_trip() -> None:
    assert WindowOffset.from_json(json.loads(json.dumps(EXAMPLE.to_json()))) == EXAMPLE


@pytest.mark.parametrize("field", [name for name in EXAMPLE.to_json() if name != "version"])
def test_another_value_is_noticed(field: str) -> None:
    with pytest.raises(CorruptFile, match="checksum"):
        WindowOffset.from_json({**EXAMPLE.to_json(), field: 77})


@pytest.mark.parametrize(
    "changes",
    [
        {"step": -1},
        {"commit": "5"},
        {"floor": 8},
        {"time": 2**63},
        {"ended": 1},
        {"estimate": 3},
        {"more": 1},
    ],
)
def test_a_value_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="not one") as caught:
        WindowOffset.from_json(said(**changes))
    assert caught.value.where
    assert caught.value.hint


def test_other_versions_and_other_things() -> None:
    with pytest.raises(UnknownVersion):
        WindowOffset.from_json(said(version=99))
    with pytest.raises(CorruptFile):
        WindowOffset.from_json([])  # type: ignore[arg-type]


def test_after_an_end_the_stream_begins_again() -> None:
    assert EXAMPLE.begun() == EXAMPLE
    assert EXAMPLE.moved(ended=True).begun() == WindowOffset(3, 7, floor=7)


@pytest.mark.parametrize(
    ("window", "what"),
    [
        (("tumbling", 0, 0), "cannot be 0"),
        (("hopping", 10, 20), "begin every"),
        (("hopping", 10, 0), "begin every"),
        (("hopping", 10_000, 1), "10,000 windows"),
        (("tumbling", 10, 10, 10), "shifted"),
        (("sliding", 10, 10), "unknown window"),
    ],
)
def test_windows_that_cannot_be(window: tuple[Any, ...], what: str) -> None:
    with pytest.raises(PlanError, match=what):
        TimeWindow(*window)
