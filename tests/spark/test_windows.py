"""Joins within windows on Spark, every window and join type: the batch join of DuckDB on windows and keys,
with a restart in the middle that finds no index."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import pytest

from commands import run_command
from dovetail.service.metrics import measured
from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import add, count, database, differences
from spark.events import events, write_files
from spark.window_batch import window_join_sql, windowed

ROWS, FILES, KEYS = 4_000, 4, 250
HOWS = ("inner", "left", "right", "full", "semi", "anti")
JOINS = {"semi": "LEFT SEMI", "anti": "LEFT ANTI"}
SHAPES = {
    "tumbling": "TUMBLING '1 minute'",
    "hopping": "HOPPING '1 minute' EVERY '25 seconds'",
    "session": "SESSION '50 seconds'",
}
SOURCE = 'format = "parquet", maxFilesPerTrigger = 1'
HEAD = f"""
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", {SOURCE});
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{{here}}/r", {SOURCE});
"""


def view(shape: str, how: str, options: str = "tasks = 2") -> str:
    name = f"{shape}_{how}"
    right = "" if how in JOINS else "r.id AS r, "
    return f"""
        CREATE VIEW {name} AS SELECT l.id AS l, {right}window_start, window_end
            FROM l {JOINS.get(how, how.upper())} JOIN r ON l.k = r.k WITHIN {SHAPES[shape]} WITH ({options});
        CREATE TABLE {name}_rows AS SELECT * FROM {name} STORAGE PARQUET(path = "{{here}}/{name}");
    """


def check(application: Application, names: Sequence[tuple[str, str]], **tables) -> None:
    db = database(**tables)
    windowed(db)
    for shape, how in names:
        name = f"{shape}_{how}"
        add(db, f"found_{name}", application.files(name))
        expected = window_join_sql(shape, how, "l.id" if how in JOINS else "l.id, r.id")
        assert count(db, expected) > 500, name
        assert differences(db, f"FROM found_{name}", expected) == {}, name


def check_why(application: Application, capsys: pytest.CaptureFixture[str]) -> None:
    """What `dovetail why` says of some keys is what was written, window by window."""
    for name in ("hopping_left", "tumbling_eager"):
        found = database(found=application.files(name))
        written: dict[int, set[tuple]] = defaultdict(set)
        for l_id, r_id, start in found.execute("SELECT l, r, window_start FROM found").fetchall():
            written[l_id].add((r_id, start and start.replace(tzinfo=None)))
        for key in range(5):
            asked = ("why", "app", "--key", str(key), "--join", name, "--home", application.home, "--json")
            capsys.readouterr()
            assert run_command(*asked, "--limit", "1000") == 0
            rows = json.loads(capsys.readouterr().out)["rows"]
            assert rows
            for row in rows:
                said = set()
                for window in row["windows"]:
                    start = datetime.fromisoformat(window["start"]).replace(tzinfo=None)
                    partners = [match["right"]["values"]["id"] for match in window["matches"]]
                    said |= {(partner, start) for partner in partners}
                    said |= {(None, start)} if not partners and name.endswith("left") else set()
                assert row["doubts"] == []
                assert said == written[row["left"]["values"]["l"]] or row["windows"] == [], row


USUAL = (
    ("tumbling", "inner"),
    ("tumbling", "full"),
    ("hopping", "left"),
    ("session", "right"),
    ("session", "semi"),
)
EVERY = tuple((shape, how) for shape in SHAPES for how in HOWS)


def options(how: str) -> str:
    return 'tasks = 2, emit = "lazy", max_step_rows = 1500' if how == "inner" else "tasks = 2"


@pytest.mark.parametrize("joins", [USUAL, *(EVERY[n : n + 6] for n in (0, 6, 12))] if THOROUGH else [USUAL])
def test_window_joins_equal_the_batch_join_over_a_restart(
    application: Application, joins, capsys: pytest.CaptureFixture[str]
) -> None:
    """A usual run tries some of each; one with `HYPOTHESIS_PROFILE=thorough` every window and type."""
    seed = 41
    left, right = events(ROWS, KEYS, seed=seed), events(ROWS, KEYS, seed=seed + 1)
    pql = HEAD + "".join(view(shape, how, options(how)) for shape, how in joins)
    eagers = [shape for shape, how in joins if how == "inner" and shape != "session"]
    for shape in eagers:
        pql += view(shape, "inner", 'tasks = 2, emit = "eager"').replace(f"{shape}_inner", f"{shape}_eager")
    half = ROWS // 2
    for part, low in enumerate((0, half)):
        for name, table in (("l", left), ("r", right)):
            write_files(table.slice(low, half), application.folder / name, FILES // 2, first=part * FILES)
        if part:
            shutil.rmtree(application.index, ignore_errors=True)
        application.run(pql, "drain" if part else "available-now")

    check(application, joins, l=left, r=right)
    if joins == USUAL:
        check_why(application, capsys)
    for shape in eagers:
        eager, lazy = (application.files(f"{shape}_{emit}") for emit in ("eager", "inner"))
        assert differences(database(a=eager, b=lazy), "FROM a", "FROM b") == {}, shape
    measures = {join.measure.name: join.measure for join in measured(application.home, "app").joins}
    assert len(measures) == len(joins) + len(eagers)
    for name, join in measures.items():
        assert (join.totals["left_in"], join.totals["right_in"]) == (ROWS, ROWS), name
        assert (join.totals["open_rows"], join.totals["retained_rows"]) == (0, 0), name
        assert (join.totals["left_late"], join.totals["right_late"]) == (0, 0), name
        if not name.endswith("eager"):
            assert join.totals["windows"] > 50, name
            assert any(total.startswith("joined_by_") for total in join.totals), name


def test_conditions_on_a_side_that_stays_equal_duckdb(application: Application) -> None:
    """A row that fails them matches nothing, and comes out alone."""
    tables = {"l": events(1500, 100, seed=51, nulls=0), "r": events(1500, 100, seed=52, nulls=0)}
    for name, table in tables.items():
        write_files(table, application.folder / name, 2)
    conditions = {
        "left": "l.v > 300 AND l.id % 3 <> 1",
        "full": "l.v > 300 AND r.v < 600",
        "anti": "l.v > 300",
    }
    text, both = HEAD, "l.id AS l, r.id AS r"
    for how, condition in conditions.items():
        text += f"""
            CREATE TABLE {how}_rows AS SELECT {both if how != "anti" else "l.id AS l"}
            FROM l {JOINS.get(how, how.upper())} JOIN r ON l.k = r.k AND {condition}
            WITHIN TUMBLING '1 minute' WITH (max_delay = INTERVAL '1 day')
            STORAGE PARQUET(path = "{{here}}/{how}");"""
    application.run(text)
    db = database(**tables, **{f"found_{how}": application.files(how) for how in conditions})
    minutes = "date_trunc('minute', l.eventtime) = date_trunc('minute', r.eventtime)"
    for how, condition in conditions.items():
        columns = both if how != "anti" else "l.id AS l"
        expected = f"SELECT {columns} FROM l {how.upper()} JOIN r ON l.k = r.k AND {condition} AND {minutes}"
        assert count(db, expected) > 500, how
        assert differences(db, f"FROM found_{how}", expected) == {}, how
