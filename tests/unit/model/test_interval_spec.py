"""What an interval join is asked to do, as data: picks by value, and specs that were written before them."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, ThetaJoin, kind_from_json, kind_to_json
from dovetail.model.theta import Constant, Operand, Operation, Theta

RIGHT = Operand("right", "_on_0")
SPECS = (
    IntervalSpec(1, 2, "left", "one", "nearest", 3, 4),
    IntervalSpec(1, 2, "full", "one", "max", picked_by=RIGHT),
    IntervalSpec(1, 2, "inner", "one", "min", picked_by=Operation("+", (RIGHT, Constant("int", "1")))),
)


@pytest.mark.parametrize("spec", SPECS)
def test_json_and_back(spec: IntervalSpec) -> None:
    assert IntervalSpec.from_json(spec.to_json()) == spec
    assert kind_from_json(kind_to_json(IntervalJoin(spec))) == IntervalJoin(spec)
    if spec.left_cap is None and spec.right_cap is None:
        theta = ThetaJoin(spec, Theta())
        assert kind_from_json(kind_to_json(theta)) == theta


def test_without_a_pick_by_value_the_json_is_what_it_was() -> None:
    assert SPECS[0].to_json() == {
        "before_us": 1,
        "after_us": 2,
        "how": "left",
        "match": "one",
        "pick": "nearest",
        "left_cap": 3,
        "right_cap": 4,
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"pick": "max"}, "does not say what it compares"),
        ({"pick": "nearest", "picked_by": RIGHT}, "compares no values"),
        ({"pick": "min", "picked_by": RIGHT, "match": "all"}, 'has no effect with match = "all"'),
        ({"pick": "min", "picked_by": RIGHT, "how": "semi"}, "a semi join, which returns no partners"),
        ({"pick": "max", "picked_by": RIGHT, "how": "full", "right_cap": 1}, "right_cap has no meaning"),
    ],
)
def test_what_makes_no_sense_cannot_be_built(given: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError, match=says):
        IntervalSpec(1, 2, **{"how": "left", "match": "one", **given})
