"""Joins without an equality on Spark: the batch join of DuckDB on 50 thousand rows a side (200 thousand with
`HYPOTHESIS_PROFILE=thorough`), with a restart in the middle that finds no index, and other numbers of tasks;
and a window that counts rows, by what the offsets say."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

from commands import run_command
from dovetail.errors import DovetailError
from dovetail.joins.theta.fate import ThetaFate
from dovetail.log.category import Category
from dovetail.plan.application_file import read_application
from dovetail.plan.configure import join_config
from dovetail.service.metrics import measured
from dovetail.why.why import why
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import events, write_files

ROWS, FILES = 200_000 if THOROUGH else 50_000, 8
LAST = 3_000
SOURCE = 'format = "parquet", maxFilesPerTrigger = 2'
PQL = f"""
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id, v, y) FROM FILES("{{here}}/l", {SOURCE});
    CREATE INPUT TABLE r (eventtime, k, id, v, y) FROM FILES("{{here}}/r", {SOURCE});
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, l.v + r.v AS v FROM l JOIN r
        ON abs(l.k - r.k) <= 10 AND l.y - r.y < 150.5 AND r.y - l.y < 150.5
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (tasks = 2);
    CREATE TABLE pair_rows AS SELECT * FROM pairs STORAGE PARQUET(path = "{{here}}/pairs");
    CREATE VIEW lefts AS SELECT l.id AS l, r.id AS r FROM r RIGHT JOIN l
        ON l.k BETWEEN r.k - 2 AND r.k + 2 AND l.v <> r.v
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (tasks = 2);
    CREATE TABLE left_rows AS SELECT * FROM lefts STORAGE PARQUET(path = "{{here}}/lefts");
    CREATE VIEW counted AS SELECT l.id AS l, r.id AS r FROM l JOIN r ON l.k BETWEEN r.k - 2 AND r.k + 2
        WITH (window = ROWS {LAST}, tasks = 2, order = "task", max_step_rows = {ROWS * 6 // 10});
    CREATE TABLE counted_rows AS SELECT * FROM counted STORAGE PARQUET(path = "{{here}}/counted");
"""
NEAR = "r.eventtime BETWEEN l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 3 MINUTE"


def rows(seed: int) -> pa.Table:
    table = events(ROWS, ROWS // 2, seed=seed)
    return table.append_column("y", pa.array(np.random.default_rng(seed).random(ROWS) * 1000))


def entered(application: Application) -> dict[str, pa.Table]:
    """For each side's rows by id: their place among all rows, among those of their side, and how many of the
    other side came before. From the log, and from the turns in Spark's offset log."""
    folder = application.folder / "home/apps/app/checkpoints/counted/offsets"
    steps = sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())
    at, placed, place = {"left": 0, "right": 0}, {"left": [], "right": []}, 0
    sides = {side: Category.open(application.home, f"app.counted.{side}") for side in at}
    for path in (folder / str(step) for step in steps):
        for n, commits in enumerate(json.loads(path.read_text().splitlines()[-1])["turns"]):
            side, other = ("left", "right") if n % 2 == 0 else ("right", "left")
            for commit in sides[side].commits(at[side], at[side] + commits):
                before = len(placed[other])
                placed[side] += [(place + i, len(placed[side]) + i, before) for i in range(commit.rows)]
                place += commit.rows
            at[side] += commits
    made = {}
    for side, found in placed.items():
        category = application.category(f"app.counted.{side}")
        columns = dict(zip(("place", "n", "others"), map(pa.array, zip(*found, strict=True)), strict=True))
        kept = {"id": category["l" if side == "left" else "_r_id"], "k": category["_on_0"]}
        made[side] = pa.table(kept | columns)
    return made


def check(application: Application, left: pa.Table, right: pa.Table) -> None:
    """All that came out, against DuckDB. It is given an equality to join by: the place of `k`, rounded,
    which every right row has three of."""
    db = database(
        l=left,
        r_all=right,
        pairs=application.files("pairs"),
        lefts=application.files("lefts"),
        counted=application.files("counted"),
        **{f"{side}_in": table for side, table in entered(application).items()},
    )
    for name, rows_of in (("r", "r_all"), ("right_placed", "right_in")):
        places = "unnest([k // 20 - 1, k // 20, k // 20 + 1])"
        db.execute(f"CREATE TABLE {name} AS SELECT *, {places} AS b FROM {rows_of}")
    pairs = join_sql(
        "inner",
        "l.id, r.id, l.v + r.v",
        f"l.k // 20 = r.b AND abs(l.k - r.k) <= 10 AND l.y - r.y < 150.5 AND r.y - l.y < 150.5 AND {NEAR}",
    )
    assert count(db, pairs) > ROWS // 10
    assert differences(db, "FROM pairs", pairs) == {}
    lefts = join_sql(
        "left", "l.id, r.id", f"l.k // 20 = r.b AND abs(l.k - r.k) <= 2 AND l.v <> r.v AND {NEAR}"
    )
    assert count(db, f"{lefts} WHERE r.id IS NOT NULL") > ROWS // 10
    assert differences(db, "FROM lefts", lefts) == {}

    seen = [
        f"{one}.place < {other}.place AND {other}.others - {one}.n <= {LAST}" for one, other in ("lr", "rl")
    ]
    near = f"l.k // 20 = r.b AND abs(l.k - r.k) <= 2 AND ({' OR '.join(seen)})"
    counted = join_sql("inner", "l.id, r.id", near, "left_in", "right_placed")
    assert count(db, counted) > ROWS // 10
    assert differences(db, "FROM counted", counted) == {}


def check_why(application: Application) -> None:
    """What is said of some rows is what was written."""
    plan = read_application(application.home, "app")
    for name in ("lefts", "counted"):
        (stage,) = [stage for stage in plan.joins if stage.name == name]
        config = join_config(plan, stage, application.home, tasks=1)
        written = database(found=application.files(name))
        for row in (7, ROWS // 3, ROWS * 3 // 4):
            (fate,) = why(config, row=row).fates
            assert isinstance(fate, ThetaFate)
            asked = f"SELECT r FROM found WHERE l = {fate.left.values['l']} AND r IS NOT NULL"
            partners = sorted(found for (found,) in written.execute(asked).fetchall())
            assert sorted(match.right.values["_r_id"] for match in fate.matches) == partners
            assert fate.doubts == ()


def test_theta_joins_equal_the_batch_join_over_a_restart_and_other_tasks(application: Application) -> None:
    left, right = rows(31), rows(32)
    half = ROWS // 2
    for part, low in enumerate((0, half)):
        for name, table in (("l", left), ("r", right)):
            write_files(table.slice(low, half), application.folder / name, FILES // 2, first=part * FILES)
        if part:
            shutil.rmtree(application.index, ignore_errors=True)
            assert run_command("scale", "app", "--home", application.home, "--tasks", "3") == 0
        application.run(PQL, "drain" if part else "available-now")

    check(application, left, right)
    check_why(application)
    joins = {join.measure.name: join.measure for join in measured(application.home, "app").joins}
    for name, join in joins.items():
        assert (join.totals["left_in"], join.totals["right_in"], join.tasks) == (ROWS, ROWS, 3), name
        assert (join.totals["open_rows"], join.totals["retained_rows"]) == (0, 0), name
    assert joins["pairs"].match_rate is None, "of a left row in three tasks, none can tell"
    assert joins["lefts"].match_rate is not None


def test_a_condition_over_other_types_is_told_before_a_row_is_read(application: Application) -> None:
    write_files(events(10, 5, seed=1), application.folder / "l", 1)
    with pytest.raises(DovetailError) as caught:
        application.run(
            """CREATE APPLICATION app;
            CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT) FROM FILES("{here}/l", format = "parquet");
            CREATE VIEW v AS SELECT a.k AS k FROM l a JOIN l b ON a.k < hex(b.k)
                AND b.eventtime BETWEEN a.eventtime AND a.eventtime + INTERVAL '1 minute';
            CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;"""
        )
    assert "a condition of the join cannot be evaluated" in str(caught.value)
