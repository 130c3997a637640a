"""Which time windows there can be."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.errors import PlanError
from dovetail.model.time_window import TimeWindow


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
