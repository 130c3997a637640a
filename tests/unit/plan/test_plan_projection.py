"""Which slicers, and which joins, only pick and rename."""

from __future__ import annotations

import pytest

from dovetail.plan.physical import SlicerStage
from dovetail.plan.projection import plain_projection
from dovetail.pql.compile import compile_pql

TEXT = """
CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, x DOUBLE) FROM FILES("a", format = "parquet");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, y STRING) FROM FILES("b", format = "parquet");
{view}
CREATE VIEW v AS SELECT {items} FROM {left} AS l JOIN b AS r
ON {key} AND r.t BETWEEN l.t - INTERVAL 1 MINUTE AND l.t + INTERVAL 1 MINUTE;
CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;
"""


def left_slicer(items: str, *, left: str = "a", key: str = "l.k = r.k", view: str = "") -> SlicerStage:
    plan = compile_pql(TEXT.format(items=items, left=left, key=key, view=view))
    return next(stage for stage in plan.slicers if stage.name == "v.left")


def test_columns_picked_renamed_and_doubled() -> None:
    stage = left_slicer("l.t AS t, l.k AS k, l.x AS z, l.x AS again, r.y AS y")
    assert plain_projection(stage) == {
        "_key_0": "k",
        "_time": "t",
        "t": "t",
        "k": "k",
        "z": "x",
        "again": "x",
    }


def test_through_a_view_that_renames() -> None:
    stage = left_slicer(
        "l.t AS t, l.z AS z",
        left="w",
        key="l.n = r.k",
        view="CREATE VIEW w AS SELECT t, k AS n, x AS z FROM a;",
    )
    projection = plain_projection(stage)
    assert projection is not None
    assert projection["_key_0"] == "k"
    assert projection["z"] == "x"


@pytest.mark.parametrize(
    "stage",
    [
        left_slicer("l.t AS t, ABS(l.x) AS x"),
        left_slicer("l.t AS t, 1 AS one"),
        left_slicer("l.t AS t", key="l.k + 1 = r.k"),
        left_slicer("l.t AS t", left="w", view="CREATE VIEW w AS SELECT t, k FROM a WHERE x > 0;"),
    ],
    ids=["expression", "constant", "computed key", "filter"],
)
def test_anything_computed_filtered_or_combined_is_left_to_spark(stage: SlicerStage) -> None:
    assert plain_projection(stage) is None


def test_a_join_whose_columns_are_only_renamed_or_left_out() -> None:
    text = TEXT.format(
        items="r.y AS last, l.x AS z, l.x AS again, l.t AS t", left="a", key="l.k = r.k", view=""
    )
    (join,) = compile_pql(text.replace("SELECT * FROM v", "SELECT z, last AS y, again FROM v")).joins
    source = {column.name: (column.side, column.source) for column in join.columns}
    projection = plain_projection(join)
    assert projection is not None
    assert list(projection) == ["z", "y", "again"]
    assert [source[name][0] for name in projection.values()] == ["left", "right", "left"]


@pytest.mark.parametrize(
    "select", ["COALESCE(y, 'none') AS y FROM v", "y FROM v WHERE y IS NULL", "UPPER(y) AS y FROM v"]
)
def test_a_join_that_computes_or_filters_after_it_is_left_to_spark(select: str) -> None:
    text = TEXT.format(items="l.t AS t, r.y AS y", left="a", key="l.k = r.k", view="")
    text = text.replace("JOIN b", "LEFT OUTER JOIN b").replace("SELECT * FROM v", f"SELECT {select}")
    (join,) = compile_pql(text).joins
    assert plain_projection(join) is None
