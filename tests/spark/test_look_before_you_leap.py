"""Another query is previewed and followed beside an application on Spark, advised, and promoted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from commands import run_command
from dovetail.changes.versions import read_version, version_numbers
from dovetail.preview.preview import preview
from dovetail.preview.shadow_files import read_progress
from dovetail.service.proposal import proposal
from spark.application import Application
from spark.batch import database, join_sql
from spark.command_line import run
from spark.events import SECOND_US, START_US, events, write_files
from spark.test_formats import text_lines, write_lines

QUERY = """
    CREATE APPLICATION looking;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, COALESCE(r.v, 0) AS v FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE rows AS SELECT l, r, v FROM pairs STORAGE PARQUET(path = "{here}/out");
"""
ON = (
    "l.k = r.k AND r.eventtime BETWEEN l.eventtime - INTERVAL '{} minutes' "
    "AND l.eventtime + INTERVAL '3 minutes'"
)


def test_a_preview_and_a_shadow_beside_an_application(application: Application) -> None:
    sides = {"l": events(4000, 300, seed=21, nulls=0.0), "r": events(4000, 300, seed=22, nulls=0.0)}
    folder, home = application.folder, application.home

    def feed(part: int) -> None:
        for name, table in sides.items():
            write_files(table.slice(part * 1000, 1000), folder / name, 1, first=part)

    for part in range(2):
        feed(part)
        application.run(QUERY, "available-now")
    wider = QUERY.replace("- INTERVAL '2 minutes'", "- INTERVAL '7 minutes'").replace("{here}", str(folder))
    (folder / "wider.pql").write_text(wider)
    proposed = proposal(home, wider, "wider.pql")
    (table,) = preview(home, proposed.current.plan, proposed.plan).tables
    there = {name: rows.slice(0, 2000) for name, rows in sides.items()}
    old, new = (join_sql("left", "l.id, r.id, COALESCE(r.v, 0)", ON.format(wide)) for wide in (2, 7))
    db = database(**there)

    def rows_of(sql: str) -> int:
        return int(db.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0])

    found = table.difference
    assert (table.old_rows, table.new_rows) == (rows_of(old), rows_of(new))
    assert found.gained + found.changed == rows_of(f"{new} EXCEPT ALL {old}") > 0
    assert found.lost + found.changed == rows_of(f"{old} EXCEPT ALL {new}") > 0

    deploy = ("deploy", str(folder / "wider.pql"), "--shadow", "--available-now", "--home", home)
    assert run_command(*deploy) == 0
    for part in (2, 3):
        feed(part)
        application.run(QUERY, "available-now")
        assert run_command(*deploy) == 0
    progress = read_progress(home, "looking")
    assert progress is not None
    since, until = progress.since_us, progress.at["pairs"].until_us
    within = f"epoch_us(l.eventtime) >= {since} AND epoch_us(l.eventtime) < {until}"
    db = database(**sides)
    old, new = (f"{sql} WHERE {within}" for sql in (old, new))
    followed = progress.tables["pairs"]
    assert followed.equal + followed.changed + followed.gained == rows_of(new) > 500
    assert followed.gained + followed.changed == rows_of(f"{new} EXCEPT ALL {old}")
    assert followed.lost + followed.changed == rows_of(f"{old} EXCEPT ALL {new}")
    assert application.category("looking.shadow.pairs").num_rows == rows_of(new)


TEXTS = """
    CREATE APPLICATION texts;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/l", format = "json");
    CREATE INPUT TABLE r (id BIGINT, k INT, eventtime TIMESTAMP) FROM FILES("{here}/r", format = "csv");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE rows AS SELECT l, r FROM pairs STORAGE NOOP;
"""


def test_other_rows_of_json_and_csv_files_are_previewed(application: Application) -> None:
    """What a thread has read without Spark is read again, by the record of its files."""
    folder, home = application.folder, application.home
    seeds = {"l": 23, "r": 24}
    sides = {name: events(2000, 100, seed, nulls=0.0).drop_columns(["v"]) for name, seed in seeds.items()}
    for part in range(2):
        for name, form in (("l", "json"), ("r", "csv")):
            lines = text_lines(sides[name].slice(part * 1000, 1000), form)
            write_lines(folder / name / f"{part}.{form}", lines)
        application.run(TEXTS, "available-now")
    on, where = " AND r.id > 300 AND r.id <> 1200", " WHERE l.id >= 100"
    fewer = TEXTS.replace("ON l.k = r.k", f"ON l.k = r.k{on}").replace("'3 minutes';", f"'3 minutes'{where};")
    proposed = proposal(home, fewer.replace("{here}", str(folder)), "fewer.pql")
    (table,) = preview(home, proposed.current.plan, proposed.plan).tables
    db, old = database(**sides), join_sql("left", "l.id, r.id", ON.format(2))
    new = join_sql("left", "l.id, r.id", ON.format(2) + on) + where

    def rows_of(sql: str) -> int:
        return int(db.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0])

    found = table.difference
    assert (table.old_rows, table.new_rows) == (rows_of(old), rows_of(new))
    assert found.gained + found.changed == rows_of(f"{new} EXCEPT ALL {old}") > 0
    assert found.lost + found.changed == rows_of(f"{old} EXCEPT ALL {new}") > 100
    assert found.equal > 1000


def test_advice_is_taken_and_a_shadow_promoted_by_the_command(application: Application) -> None:
    """A fifth of the partners come earlier than the window reaches back."""
    folder, home = application.folder, application.home
    rows, rng = 6000, np.random.default_rng(3)
    times = START_US + np.arange(rows) * SECOND_US
    ids = np.arange(rows)
    early = rng.exponential(75 * SECOND_US, rows).astype(np.int64)
    for name, moments in (("l", times), ("r", times - early)):
        stored = {
            "eventtime": pa.array(moments).cast(pa.timestamp("us", "UTC")),
            "k": ids,
            "id": ids,
            "v": ids,
        }
        write_files(pa.table(stored), folder / name, 3)
    application.run(QUERY, "available-now")
    file = folder / "app.pql"
    before = file.read_text()

    done = run(
        *("advise", "looking", "--apply", "--yes", "--available-now", "--file", str(file), "--home", home),
        folder=Path(folder),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "widen" not in done.stdout
    assert "changed" in done.stdout
    after = file.read_text()
    assert [line for line in after.splitlines() if line not in before.splitlines()] != []
    (spec,) = (join.spec for join in read_version(home, "looking", 2).plan.joins)
    assert 150 * SECOND_US <= spec.before_us <= 600 * SECOND_US
    assert read_version(home, "looking", 2).text == after

    more = after.replace("SELECT l, r, v FROM", "SELECT l, r, v + 1 AS v FROM")
    (folder / "more.pql").write_text(more)
    assert run_command("deploy", str(folder / "more.pql"), "--shadow", "--available-now", "--home", home) == 0
    done = run("shadow", "looking", "--promote", "--available-now", "--home", home, folder=Path(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    assert version_numbers(home, "looking") == [1, 2, 3]
    assert run_command("shadow", "looking", "--home", home) == 1
