"""Joins that share a category: which plan an application keeps, and that no join loses rows to another."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import dovetail.local
from dovetail.changes.takeover import consider, take_over
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import CategoryOutput, Plan
from dovetail.pql.compile import compile_pql, plans_of, trace

SECOND_US = 1_000_000
START_US = 1_767_225_600 * SECOND_US
WITH = "WITH (history = INTERVAL 0 SECONDS, buckets = 2, max_delay = INTERVAL 1 SECOND, max_step_rows = 2)"
PQL = """CREATE APPLICATION app;
CREATE INPUT TABLE s (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}", format = "parquet");
CREATE VIEW near AS SELECT x.id AS x, y.id AS y FROM s AS x JOIN s AS y ON x.k = y.k
    AND y.t BETWEEN x.t AND x.t + INTERVAL '2 seconds' {options};
CREATE VIEW far AS SELECT x.id AS x, y.id AS y, y.t AS t FROM s AS x LEFT JOIN s AS y ON y.k = x.k
    AND y.t BETWEEN x.t - INTERVAL '20 seconds' AND x.t - INTERVAL '10 seconds' {options};
CREATE TABLE nears AS SELECT x, y FROM near STORAGE NOOP;
CREATE TABLE fars AS SELECT x, y FROM far STORAGE NOOP;
"""


def plans(**values: str) -> list[Plan]:
    return plans_of(trace(PQL.format(**{"here": "/nowhere", "options": "", **values})))


def test_one_slicer_writes_one_category_for_all_four_sides() -> None:
    shared, apart = plans()
    assert [stage.name for stage in shared.slicers] == ["near.left"]
    assert [(join.name, join.left, join.right) for join in shared.joins] == [
        ("near", "app.near.left", "app.near.left"),
        ("far", "app.near.left", "app.near.left"),
    ]
    assert len(apart.slicers) == 4
    assert shared == compile_pql(PQL.format(here="/nowhere", options=""))


def test_without_anything_to_share_there_is_one_plan() -> None:
    text = PQL.format(here="/nowhere", options="").replace("s AS y ON y.k = x.k", "s AS y ON y.id = x.k")
    text = text.replace("s AS x JOIN s AS y ON x.k = y.k", "s AS x JOIN s AS y ON x.k = y.id")
    assert len(plans_of(trace(text))) == 2  # the left sides still are the same
    text = text.replace("FROM s AS x LEFT JOIN", "FROM (SELECT * FROM s) AS x LEFT JOIN")
    one = text.split("CREATE VIEW far")[0] + "CREATE TABLE nears AS SELECT x, y FROM near STORAGE NOOP;"
    assert len(plans_of(trace(one))) == 1


def test_an_application_that_was_started_without_sharing_keeps_its_plan(tmp_path: Path) -> None:
    home, (shared, apart) = str(tmp_path), plans()
    assert consider(home, [shared, apart]).plan == shared
    take_over(consider(home, [apart]))
    assert consider(home, [shared, apart]).plan == shared, "it has not run: nothing binds it"
    open_store(home).make_folder("apps/app/checkpoints/near")
    assert consider(home, [shared, apart]).plan == apart
    tuned = plans(options="WITH (max_step_rows = 5)")
    assert consider(home, tuned).plan == tuned[1]
    assert consider(home, tuned).verdict == "next step"
    other = consider(home, plans(options="WITH (buckets = 5)"))
    assert other.verdict == "afresh"
    assert "the number of buckets: 64, now 5" in {change.what for change in other.changes}


def test_one_that_was_started_with_sharing_goes_on_with_it(tmp_path: Path) -> None:
    home, (shared, apart) = str(tmp_path), plans()
    take_over(consider(home, [shared]))
    open_store(home).make_folder("apps/app/checkpoints/near")
    assert consider(home, [shared, apart]).plan == shared


def test_compression_does_not_part_joins_that_share(tmp_path: Path) -> None:
    """Whichever of them says it."""
    home, begun, (top, near, far) = str(tmp_path), plans()[0], PQL.split("{options}")
    take_over(consider(home, [begun]))
    for wanted in (f"{top}{{options}}{near}{far}", f"{top}{near}{{options}}{far}"):
        open_store(home).make_folder("apps/app/checkpoints/near")
        packed = wanted.format(here="/nowhere", options='WITH (compression = "zstd")')
        assert packed.count("zstd") == 1
        changed = consider(home, plans_of(trace(packed), begun))
        assert changed.verdict == "next step"
        assert {join.left for join in changed.plan.joins} == {"app.near.left"}
        (side,) = (stage.output for stage in changed.plan.slicers)
        assert isinstance(side, CategoryOutput)
        assert side.compression == "zstd"
        assert consider(home, plans_of(trace(packed), changed.plan)).plan == changed.plan, "at each start"


def test_retention_of_one_join_takes_nothing_from_another(tmp_path: Path) -> None:
    """Old commits go at once, and the second join starts when the first is through."""
    rows = [(second, second % 3) for second in range(60)]
    for number, (second, key) in enumerate(rows):
        moment = pa.array([START_US + second * SECOND_US], pa.timestamp("us", "UTC"))
        table = pa.table({"t": moment, "k": [key], "id": [number]})
        pq.write_table(table, tmp_path / f"{number:03}.parquet")
    found = dovetail.local.run(PQL.format(here=tmp_path, options=WITH))
    near = Counter((x, y) for x, a in enumerate(rows) for y, b in enumerate(rows) if a[1] == b[1] and x == y)
    far: Counter[tuple[int, int | None]] = Counter()
    for x, a in enumerate(rows):
        partners = [y for y, b in enumerate(rows) if a[1] == b[1] and 10 <= a[0] - b[0] <= 20]
        far.update([(x, y) for y in partners] or [(x, None)])
    assert pairs(found["near"]) == near
    assert pairs(found["far"]) == far


def pairs(table: pa.Table) -> Counter[tuple[int | None, ...]]:
    return Counter(zip(*(table.column(name).to_pylist() for name in ("x", "y")), strict=True))


def test_the_payload_is_that_of_all_sides() -> None:
    shared, _ = plans()
    (slicer,) = shared.slicers
    assert isinstance(slicer.output, CategoryOutput)
    assert slicer.output.keys == ("_key_0",)
    assert [column.source for column in shared.joins[1].columns] == ["x", "x", "_r_t"]
    assert slicer.views[-1].sql == (
        "SELECT `s`.`k` AS `_key_0`, `s`.`t` AS `_time`, `s`.`id` AS `x`, `s`.`t` AS `_r_t` FROM `s`"
    )
