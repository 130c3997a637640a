"""Lengths of time, to microseconds and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.plan.dialect import parse_tokens, pql_sql, tokenize
from dovetail.plan.interval_literal import (
    LONGEST_US,
    NotAnInterval,
    interval_node,
    interval_us,
    text_us,
    words,
)


@given(st.integers(-LONGEST_US, LONGEST_US))
def test_words_are_read_back(us: int) -> None:
    assert text_us(words(us)) == us
    assert interval_us(interval_node(us)) == us


@given(st.integers(-(10**12), 10**12))
def test_nodes_are_what_the_parser_makes(us: int) -> None:
    node = interval_node(us)
    text = f"SELECT {pql_sql(node)}"
    tree = parse_tokens(tokenize(text), text)[0]
    assert tree is not None
    assert tree.expressions[0] == node


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("3 minutes", 180_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("-1 day", -86_400_000_000),
        ("1 week", 604_800_000_000),
        ("0.5 seconds", 500_000),
        ("1 second -1 millisecond", 999_000),
        ("7 MICROSECONDS", 7),
    ],
)
def test_texts(text: str, us: int) -> None:
    assert text_us(text) == us


@pytest.mark.parametrize(
    "text", ["", "3", "minutes", "3 months", "1 year", "0.5 microseconds", "3 apples", "4000 days"]
)
def test_texts_that_are_no_fixed_length(text: str) -> None:
    with pytest.raises(NotAnInterval):
        text_us(text)
