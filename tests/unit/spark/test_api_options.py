"""The options of a join in Python are those of PQL."""

from __future__ import annotations

import datetime

import pytest

from dovetail.errors import PlanError
from dovetail.plan.options import OPTIONS, WITHOUT_EQUALITY, resolve
from dovetail.spark.api_options import WITHIN_WINDOWS, Options, resolved


def test_every_option_of_pql_is_there() -> None:
    assert list(Options.__annotations__) == [
        option.name for option in OPTIONS if option.name not in (*WITHOUT_EQUALITY, *WITHIN_WINDOWS)
    ]


def test_options_of_joins_without_an_equality_are_refused() -> None:
    for name in WITHOUT_EQUALITY:
        with pytest.raises(PlanError, match="without an equality"):
            resolved({name: "none"})  # type: ignore[misc]


def test_defaults_are_those_of_pql() -> None:
    assert resolved({}) == resolve(())


def test_durations() -> None:
    made = resolved({"pacing": "on", "slack": "2 minutes", "max_ahead": datetime.timedelta(days=1)})
    assert made.settings.pacing is not None
    assert made.settings.pacing.slack_us == 120_000_000
    assert made.settings.validity.max_ahead_us == 86_400_000_000


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"percentile": 120}, "percentile"),
        ({"stream_time": "percentile", "percentile": 120}, "from 0 to 100"),
        ({"pacing": "on", "slack": "-1 minute"}, "not negative"),
        ({"left_cap": 0}, "from 1 to"),
        ({"stream_time": "median"}, '"fixed" | "percentile" | "mean"'),
        ({"slack": "1 minute"}, "pacing"),
        ({"max_dealy": "1 minute"}, "max_delay"),
        ({"max_delay": 3}, "timedelta"),
        ({"emit": "lazy"}, "within windows"),
    ],
)
def test_bad_settings_are_refused_with_what_is_allowed(options: Options, told: str) -> None:
    with pytest.raises(PlanError) as refused:
        resolved(options)
    assert told in str(refused.value)
