"""A side that is a union of inputs: its keys, its event time, and the inputs themselves are what the join has
seen, as those of any other side; columns and filters may change."""

from __future__ import annotations

import pytest

from dovetail.changes.compare import closest
from dovetail.changes.verdict import Change, strictest
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

INPUTS = "".join(
    f'CREATE INPUT TABLE {name} (t TIMESTAMP, k BIGINT, id BIGINT, x INT) FROM SCRIBE("{name}");\n'
    for name in "abcd"
)
UNION = f"""CREATE APPLICATION app;
{INPUTS}CREATE VIEW u AS SELECT t, k, id, x FROM b UNION ALL SELECT t, k, id, x FROM c WHERE x > 0;
CREATE VIEW v AS SELECT a.id AS a, u.id AS b, u.x AS x FROM a JOIN u ON a.k = u.k
  AND u.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
CREATE TABLE o AS SELECT a, b, x FROM v STORAGE NOOP;
"""
INNER = UNION.replace(
    "SELECT t, k, id, x FROM b UNION ALL SELECT t, k, id, x FROM c WHERE x > 0",
    "SELECT t, k, id, x FROM (SELECT t, k, id, x FROM b) AS q",
)


def changes(text: str, *edits: tuple[str, str]) -> list[Change]:
    old, changed = parse(text, name="old.pql"), text
    for was, now in edits:
        assert changed.count(was) == 1, was
        changed = changed.replace(was, now)
    new = parse(changed, name="new.pql")
    (plan, *_) = plans_of(trace_program(old))
    return closest(plan, plans_of(trace_program(new), plan), old, new)[1]


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        ("id, x FROM b", "id + 1 AS id, x FROM b", None),
        (
            "SELECT t, k, id, x FROM b",
            "SELECT t, id AS k, id, x FROM b",
            "the key: UNION_OF(k, k), now UNION_OF(id, k)",
        ),
        ("SELECT t, k, id, x FROM c", "SELECT t - INTERVAL '1 hour' AS t, k, id, x FROM c", "the event time"),
        ("FROM c WHERE", "FROM d WHERE", "inputs b, d, they were b, c"),
        ("x > 0;", "x > 0 UNION ALL SELECT t, k, id, x FROM d;", "inputs b, c, d, they were b, c"),
        (" UNION ALL SELECT t, k, id, x FROM c WHERE x > 0", "", "inputs b, they were b, c"),
        (
            "FROM b UNION ALL SELECT t, k, id, x FROM c WHERE x > 0",
            "FROM c UNION ALL SELECT t, k, id, x FROM b WHERE x > 0",
            "inputs c, b, they were b, c",
        ),
    ],
)
def test_what_a_union_is_made_of(was: str, now: str, what: str | None) -> None:
    found = changes(UNION, (was, now))
    refused = [change for change in found if change.verdict == "refused"]
    assert all(change.instead for change in refused)
    assert any(change.what.startswith(what) for change in refused) if what else strictest(found) == "kept"


def test_a_column_and_a_filter_of_one_part_of_it() -> None:
    column, filter_ = changes(UNION, ("id, x FROM b", "id, x + 1 AS x FROM b"), ("x > 0", "x > 7"))
    assert column.what == "column x: UNION_OF(x, x), now UNION_OF(x + 1, x)"
    assert column.flight == "they have the old value, for one window (2 minutes)"
    assert filter_.what == "filter: no longer PART_OF_UNION(2, x > 0); now also PART_OF_UNION(2, x > 7)"
    assert changes(UNION, ("CREATE VIEW u", "CREATE VIEW w"), ("FROM a JOIN u", "FROM a JOIN w AS u")) == []


def test_a_query_of_which_it_cannot_be_said_what_its_key_is() -> None:
    found = changes(INNER, ("(SELECT t, k, id, x FROM b)", "(SELECT t, id AS k, id, x FROM b)"))
    assert strictest(found) == "afresh"
    assert "from which its key and its event time come" in found[0].what
