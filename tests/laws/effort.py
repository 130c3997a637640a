"""The number of examples for each law.

A usual run tries the same few examples every time. `dovetail test search` (or `HYPOTHESIS_PROFILE=thorough
pytest tests/laws`) tries thousands of new ones and prints how to reproduce a failure. A failure worth keeping
becomes an `@example` of its law.
"""

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


in_full = pytest.mark.skipif(not THOROUGH, reason="one of the tier `full`")
"""For a test that takes minutes and has cheaper ones beside it that show most of what it shows."""


def examples(usual: int, thorough: int) -> settings:
    """Settings for one law, on top of those that all tests share."""
    if THOROUGH:
        return settings(max_examples=thorough, derandomize=False, print_blob=True, deadline=None)
    return settings(max_examples=usual, deadline=None)


tried = examples(usual=25, thorough=3000)


def every_value(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases for a test over several axes: every combination in a thorough run. A usual one takes so few that
    each value of each axis comes up, and those of two axes of unlike length meet in turn."""
    if THOROUGH:
        return list(product(*axes))
    longest = max(len(axis) for axis in axes)
    return [tuple(axis[number % len(axis)] for axis in axes) for number in range(longest)]


def by_turns(*axes: Sequence[Any], last: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Every combination of the axes, in a thorough run with each of `last`. In a usual run each has only one
    of these, in turn."""
    if THOROUGH:
        return list(product(*axes, last))
    places = product(*(range(len(axis)) for axis in axes))
    return [
        (*(axis[number] for axis, number in zip(axes, place, strict=True)), last[sum(place) % len(last)])
        for place in places
    ]


def some(cases: Sequence[Any], usual: int) -> Sequence[Any]:
    """All cases in a thorough run. A usual one takes a few that lie apart."""
    return cases if THOROUGH else cases[:: max(1, len(cases) // usual)]
