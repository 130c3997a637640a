"""The options of a join in Python are those of PQL."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from dovetail.errors import PlanError
from dovetail.plan.dataframes.arguments import check_words, key_pairs
from dovetail.plan.dataframes.options import Options, resolved
from dovetail.plan.joins.options import AGGREGATES, NOT_KEYED, OPTIONS, resolve


def test_every_option_of_pql_is_there() -> None:
    assert list(Options.__annotations__) == [
        option.name for option in OPTIONS if option.joins not in (NOT_KEYED, AGGREGATES)
    ]


def test_options_of_joins_without_an_equality_are_refused() -> None:
    for option in OPTIONS:
        if option.joins is not NOT_KEYED:
            continue
        with pytest.raises(PlanError, match="without an equality"):
            resolved({option.name: "none"})  # type: ignore[misc]


def test_defaults_are_those_of_pql() -> None:
    assert resolved({}) == resolve(())


def test_durations() -> None:
    made = resolved({"pacing": "on", "slack": "2 minutes", "max_ahead": datetime.timedelta(days=1)})
    assert made.settings.pacing is not None
    assert made.settings.pacing.slack_us == 120_000_000
    assert made.settings.validity.max_ahead_us == 86_400_000_000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"percentile": 120}, "percentile"),
        ({"stream_time": "percentile", "percentile": 120}, "from 0 to 100"),
        ({"pacing": "on", "slack": "-1 minute"}, "not negative"),
        ({"left_cap": 0}, "from 1 to"),
        ({"stream_time": "median"}, '"fixed" | "percentile" | "mean"'),
        ({"slack": "1 minute"}, "pacing"),
        ({"max_dealy": "1 minute"}, "max_delay"),
        ({"max_delay": 3}, "timedelta"),
        ({"emit": "lazy"}, "`emit` applies only to joins with WITHIN"),
        ({"max_session": "1 hour"}, 'within=dovetail.Tumbling("10 seconds")'),
        ({"max_delay": datetime.timedelta(days=4000)}, "longer than ten years"),
    ],
)
def test_bad_settings_are_refused_with_what_is_allowed(options: Options, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        resolved(options)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"left_cap": 3}, "`left_cap` applies only"),
        ({"right_cap": 3}, "`right_cap` applies only"),
        ({"max_session": "1 day"}, "applies only to SESSION windows"),
        ({"emit": "early"}, '"auto" | "lazy" | "eager"'),
    ],
)
def test_windows_do_not_go_together_with_everything(options: Options, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        resolved(options, "tumbling")
    assert said in str(refused.value)


def test_options_of_windows_are_taken_with_windows() -> None:
    made = resolved({"match": "all", "emit": "lazy", "max_session": "90 seconds"}, "session")
    assert (made.emit, made.max_session_us) == ("lazy", 90_000_000)


@pytest.mark.parametrize(
    ("on", "keys"),
    [
        ("k", [("k", "k")]),
        (["a", "b"], [("a", "a"), ("b", "b")]),
        ([("a", "b"), "c"], [("a", "b"), ("c", "c")]),
        ((["a", "b"],), [("a", "b")]),
    ],
)
def test_keys_are_names_or_pairs(on: Any, keys: list[tuple[str, str]]) -> None:
    assert key_pairs(on) == keys


@pytest.mark.parametrize(
    "on", [None, 5, b"k", {"a": "b"}, [1], [("a", "b", "c")], [("a",)], [("a", None)], []]
)
def test_what_names_no_keys_is_refused(on: Any) -> None:
    with pytest.raises(PlanError, match="key column"):
        key_pairs(on)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"name": ""}, "name of a join"),
        ({"name": "../other"}, "name of a join"),
        ({"name": "a/b"}, "name of a join"),
        ({"name": None}, "name of a join"),
        ({"name": "n" * 200}, "name of a join"),
        ({"mode": "bogus"}, "no mode 'bogus'"),
        ({"mode": ["drain"]}, "no mode"),
        ({"suffix": None}, "suffix cannot be None"),
    ],
)
def test_words_that_mean_nothing_are_refused_at_the_call(words: dict[str, Any], said: str) -> None:
    check_words(**{"name": "clicks_and_views", "mode": "drain", "suffix": "_right"})
    with pytest.raises(PlanError, match=said):
        check_words(**{"name": "clicks_and_views", "mode": "drain", "suffix": "_right", **words})
