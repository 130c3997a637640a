"""What may change about an input that is a Kafka topic."""

from __future__ import annotations

import pytest

from dovetail.changes.between import Beginning
from dovetail.changes.compare import closest
from dovetail.changes.verdict import Change
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

OLD = """
CREATE APPLICATION shop;
CREATE INPUT TABLE views (t TIMESTAMP, k STRING)
    FROM KAFKA("views", brokers = "one:9092", format = "json", sasl_password = SECRET("old"));
CREATE INPUT TABLE clicks (t TIMESTAMP, k STRING, b STRING)
    FROM KAFKA("clicks", brokers = "one:9092", format = "json");
CREATE TABLE o AS SELECT v.k AS k, c.b AS b FROM views v LEFT JOIN clicks c
    ON v.k = c.k AND c.t BETWEEN v.t AND v.t + INTERVAL '1 minute' STORAGE SCRIBE(category = "o");
"""


def changes(before: str, after: str, begins: Beginning | None = None) -> list[Change]:
    assert before in OLD
    old, new = parse(OLD), parse(OLD.replace(before, after))
    plan = plans_of(trace_program(old), None)[0]
    return closest(plan, plans_of(trace_program(new), plan), old, new, lambda stage, source: begins)[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"views", brokers = "one:9092"', '"views", brokers = "one:9092,two:9092"'),
        ('SECRET("old")', 'SECRET("new")'),
        ('SECRET("old")', 'SECRET("old"), max_records_per_second = 1000'),
        ('SECRET("old")', 'SECRET("old"), on_data_loss = "continue"'),
    ],
)
def test_how_brokers_are_reached_may_change(before: str, after: str) -> None:
    assert not [change for change in changes(before, after) if change.verdict == "refused"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('KAFKA("views"', 'KAFKA("views_2"'),
        ('"one:9092", format = "json", sasl', '"one:9092", format = "csv", sasl'),
        ('KAFKA("views", brokers = "one:9092", format', 'FILES("views", format'),
    ],
)
def test_another_topic_is_another_source(before: str, after: str) -> None:
    if "FILES" in after:
        before, after = before + ' = "json", sasl_password = SECRET("old")', after + ' = "json"'
    [change] = [change for change in changes(before, after) if change.rule == "sources"]
    assert change.verdict == "refused"
    assert "input views comes from" in change.what
    assert "it came from topic views at one:9092" in change.what
    assert "say where" in str(change.instead)
    [change] = [one for one in changes(before, after, Beginning("all")) if one.rule == "sources"]
    assert change.verdict == "kept"


def test_one_more_column() -> None:
    found = changes("(t TIMESTAMP, k STRING, b STRING)", "(t TIMESTAMP, k STRING, b STRING, n BIGINT)")
    assert not [change for change in found if change.verdict == "refused"]
