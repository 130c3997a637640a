"""What rows pass on their way to a join's side: all of it counts as not sliced yet."""

from __future__ import annotations

from dovetail.pql.compile import compile_pql
from dovetail.service.topics import intakes_before


def test_a_table_of_a_lake_and_two_lookups() -> None:
    plan = compile_pql(
        """CREATE APPLICATION app;
        CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM DELTA("a");
        CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("b");
        CREATE LOOKUP TABLE u (k BIGINT, name STRING) FROM PARQUET("u");
        CREATE TABLE o AS SELECT x.name, y.name AS other FROM a JOIN TABLE u AS x ON a.k = x.k
            JOIN u AS y ON x.name = y.name
            JOIN b ON a.k = b.k AND b.t BETWEEN a.t AND a.t + INTERVAL '1 minute' STORAGE NOOP;"""
    )
    (join,) = plan.joins
    found = {
        stage.name: [one.name for one in intakes_before(plan, stage)]
        for stage in plan.slicers
        if stage.name.startswith(f"{join.name}.")
    }
    assert found == {
        f"{join.name}.left": ["o_joined_with_y", "o_joined_with_x", "a"],
        f"{join.name}.right": [],
    }
