"""Types that a column of an input may get while its rows are in flight: those that hold all its values."""

from __future__ import annotations

import pytest

from unit.changes.test_several_inputs import UNION, changes

QUERY = UNION.replace(
    '(t TIMESTAMP, k BIGINT, id BIGINT, x INT) FROM SCRIBE("a")',
    '(t TIMESTAMP, k BIGINT, id TYPE) FROM SCRIBE("a")',
)


@pytest.mark.parametrize(
    ("was", "now", "verdict"),
    [
        ("DECIMAL(10, 2)", "DECIMAL(12, 2)", "kept"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 4)", "kept"),
        ("DECIMAL(10, 2)", "DECIMAL(10, 4)", "refused"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 1)", "refused"),
        ("DECIMAL(10, 2)", "DOUBLE", "refused"),
        ("SMALLINT", "INT", "kept"),
        ("BIGINT", "DOUBLE", "refused"),
        ("INT", "SMALLINT", "refused"),
    ],
)
def test_a_type(was: str, now: str, verdict: str) -> None:
    (change,) = changes(QUERY.replace("TYPE", was), (f"id {was}) FROM", f"id {now}) FROM"))
    assert (change.rule, change.verdict) == ("sources", verdict)
    assert change.what == f"column id of a is {now}, was {was}"
    assert verdict == "kept" or f"write CAST(id AS {now})" in str(change.instead)
