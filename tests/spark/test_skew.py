"""Keys that make up much of a stream, through the whole of Spark: split over the tasks, or capped."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from dovetail.service.metrics import measured
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import events, write_files

ROWS = 40_000
ON = "l.k = r.k AND r.eventtime BETWEEN l.eventtime - INTERVAL 2 SECOND AND l.eventtime + INTERVAL 3 SECOND"
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = "2");
    CREATE INPUT TABLE r (eventtime, k, id)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = "2");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l %s JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 seconds' AND l.eventtime + INTERVAL '3 seconds'
        WITH (tasks = 4, max_step_rows = 15000%s);
    CREATE TABLE t AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/out");
"""


def skewed(seed: int, share: float) -> pa.Table:
    """A share of the rows has the key 7."""
    rows = events(ROWS, 2000, seed)
    hot = np.random.default_rng(seed).random(ROWS) < share
    keys = pa.compute.if_else(pa.array(hot), pa.scalar(7, pa.int64()), rows.column("k"))
    return rows.set_column(1, rows.schema.field(1), keys)


def last_offset(application: Application) -> dict[str, object]:
    offsets = application.folder / "home/apps/app/checkpoints/pairs/offsets"
    newest = max((path for path in offsets.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    return json.loads(newest.read_text().splitlines()[-1])


SPLIT = [("inner", "r"), ("left", "l")]
if THOROUGH:
    SPLIT += [("inner", "l"), ("left", "r")]


@pytest.mark.parametrize(("how", "hot_side"), SPLIT)
def test_a_hot_key_is_split_and_nothing_changes(application: Application, how: str, hot_side: str) -> None:
    tables = {name: skewed(seed, 0.4 if name == hot_side else 0.05) for name, seed in (("l", 91), ("r", 92))}
    for name, table in tables.items():
        write_files(table, application.folder / name, 8)
    (join,) = application.run(PQL % (how, "")).joins
    assert (join.left_rows, join.right_rows) == (ROWS, ROWS)
    dealt = "right" if (how, hot_side) == ("inner", "r") else "left"
    assert [side for _, side in last_offset(application)["hot"]] == [dealt]
    db = database(**tables, found=application.files("out"))
    expected = join_sql(how, "l.id, r.id", ON)
    assert count(db, expected) > ROWS // 10
    assert differences(db, "FROM found", expected) == {}


def test_a_cap_holds_few_rows_of_a_key_and_counts_the_others(application: Application) -> None:
    tables = {name: skewed(seed, 0.4) for name, seed in (("l", 93), ("r", 94))}
    for name, table in tables.items():
        write_files(table, application.folder / name, 8)
    (join,) = application.run(PQL % ("left", ", left_cap = 20, right_cap = 50")).joins
    assert join.capped_rows > 0
    said = measured(application.home, "app").joins[0].measure
    assert list(said.left.capped_keys) == list(said.right.capped_keys) == ["7"]
    assert said.left.capped_keys["7"] + said.right.capped_keys["7"] == join.capped_rows
    assert last_offset(application)["hot"] == []
    db = database(**tables, found=application.files("out"))
    assert count(db, "SELECT DISTINCT l FROM found") == ROWS, "every left row comes out"
    pairs = "SELECT l, r FROM found WHERE r IS NOT NULL"
    expected = join_sql("inner", "l.id, r.id", ON)
    assert set(differences(db, pairs, expected)) == {"missing"}
    assert (
        differences(db, f"{pairs} AND l IN (SELECT id FROM l WHERE k != 7)", f"{expected} AND l.k != 7") == {}
    )
