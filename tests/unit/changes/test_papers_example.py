"""Section 4.2 of the Facebook paper: what an update of a streaming join may do there, and here.

There, a new attribute must be projected at the end of the list, because the schema of a Scribe category
goes by order; a constant is projected by the left slicer, so that it can be changed later; and the equality
must stay as it is. The developer is shown alternatives, such as a view of a new name. Here columns go by
name, so an attribute may come anywhere."""

from __future__ import annotations

import pytest

from dovetail.changes.compare import closest
from dovetail.changes.verdict import Change
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

FIGURE_3 = """
    CREATE APPLICATION sample_app; CREATE INPUT TABLE left (eventtime TIMESTAMP, key STRING, dim_one STRING,
    metric BIGINT) FROM SCRIBE("left"); CREATE INPUT TABLE right (eventtime TIMESTAMP, key STRING, dim_two
    STRING, dim_three STRING)
        FROM SCRIBE("right");
    CREATE VIEW joined_streams AS
    SELECT l.eventtime AS eventtime, l.key AS key, l.dim_one AS dim_one, 'v1' AS release,
        COALESCE(r.dim_two, "example") AS dim_two, ABS(l.metric) AS metric
    FROM left AS l LEFT OUTER JOIN right AS r ON (l.key = r.key) AND
        (r.eventtime BETWEEN l.eventtime - INTERVAL '3 minutes' AND l.eventtime + INTERVAL '3 minutes');
    CREATE TABLE result AS SELECT eventtime, key, dim_one, release, dim_two, metric FROM joined_streams
    STORAGE SCRIBE(category = "result");
"""
COLUMN = "r.dim_three AS dim_three, "


def changes(text: str) -> list[Change]:
    old, new = (parse(query, name="app.pql") for query in (FIGURE_3, text))
    (plan, *_) = plans_of(trace_program(old))
    return closest(plan, plans_of(trace_program(new), plan), old, new)[1]


@pytest.mark.parametrize("before", ["l.key AS key", "COALESCE(r.dim_two", "ABS(l.metric) AS metric"])
def test_an_attribute_is_projected_anywhere_in_the_list(before: str) -> None:
    wider = FIGURE_3.replace(before, COLUMN + before).replace(
        "dim_two, metric FROM", "dim_two, dim_three, metric FROM"
    )
    found = changes(wider)
    assert {change.verdict for change in found} == {"kept"}
    assert [change.what for change in found if change.part == "right side of joined_streams"] == [
        "new column dim_three: r.dim_three"
    ]


def test_a_constant_of_the_left_slicer_is_changed() -> None:
    (found,) = changes(FIGURE_3.replace("'v1' AS release", "'v2' AS release"))
    assert (found.part, found.verdict) == ("left side of joined_streams", "kept")
    assert found.flight == "they have the old value, for one window (6 minutes)"
    assert "--reslice" in str(found.instead)


def test_another_equality_begins_afresh_or_is_a_view_of_a_new_name() -> None:
    """The paper does not allow it: a new view beside the old one is its way."""
    found = changes(FIGURE_3.replace("(l.key = r.key)", "(l.dim_one = r.key)"))
    assert {change.verdict for change in found} == {"afresh"}
    beside = FIGURE_3.replace("joined_streams", "joined_by_dim").replace(
        "(l.key = r.key)", "(l.dim_one = r.key)"
    )
    came, gone, *others = changes(beside)
    assert (came.what, came.verdict) == ("new join joined_by_dim", "kept")
    assert (gone.what, gone.verdict) == ("join joined_streams is removed", "let go")
    assert {change.verdict for change in others} <= {"kept"}
