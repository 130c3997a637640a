"""Files as inputs: one file instead of a folder, columns of any name, and a bad file that arrives while the
stream runs."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyarrow import csv

from dovetail.errors import InputError
from dovetail.service.figures import RunFigures
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs

ROWS = 2000
PQL = pairs("FULL")


def test_an_input_may_be_one_file(application: Application) -> None:
    tables = {"l": events(ROWS, 100, 61), "r": events(ROWS, 100, 62)}
    for name, table in tables.items():
        pq.write_table(table, application.folder / f"{name} {{1}}[x].parquet")
    pql = PQL
    for name in tables:
        pql = pql.replace(f'"{{here}}/{name}"', f'"{{here}}/{name} {{1}}[x].parquet"')
    application.run(pql)
    db = database(**tables, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("full", "l.id, r.id", ON)) == {}


def test_a_column_in_the_names_of_folders(application: Application) -> None:
    """As Hive lays tables out: Parquet on the left, CSV on the right. The column has its declared type, and
    is a part of the key."""
    tables = {"l": events(ROWS, 20, 65, nulls=0), "r": events(ROWS, 20, 66, nulls=0)}
    for name, table in tables.items():
        parts = pc.bit_wise_and(table["id"], 3)
        for part in range(4):
            rows = table.filter(pc.equal(parts, part)).select(["eventtime", "k", "id"])
            folder = application.folder / name / f"part={part}"
            folder.mkdir(parents=True)
            if name == "l":
                pq.write_table(rows, folder / "a.parquet")
            else:
                csv.write_csv(rows, folder / "a.csv")
    typed = "eventtime TIMESTAMP, k BIGINT, id BIGINT, part INT"
    on = f"{ON} AND l.part = r.part"
    query = pairs("LEFT", columns=typed, select="l.id AS l, r.id AS r, l.part + 1 AS next", on=on)
    application.run(query.replace('/r", format = "parquet"', '/r", format = "csv"'))
    db = database(**tables, found=application.files("out"))
    expected = join_sql("left", "l.id, r.id, CAST(l.id & 3 AS INT) + 1", f"{ON} AND l.id & 3 = r.id & 3")
    assert differences(db, "FROM found", expected) == {}


def test_a_bad_file_that_arrives_while_the_stream_runs(application: Application) -> None:
    tables = {"l": events(ROWS, 100, 63), "r": events(ROWS, 100, 64)}
    for name, table in tables.items():
        write_files(table.slice(0, ROWS // 2), application.folder / name, 1)
    bad = application.folder / "r" / "part-00001.parquet"
    begun = Path(application.home) / "apps/app/checkpoints/pairs/offsets"
    begun.mkdir(parents=True)
    (begun / ".0.9dddbb53-f794-4eaf-9f1d-d7d1d3a8b5b5.tmp").touch()  # a run was killed while it wrote it
    spoil = threading.Event()

    def spoil_when_rows_came(now: RunFigures) -> None:
        if not spoil.is_set() and all(stream.rows_in for stream in now.streams) and now.streams:
            spoil.set()
            draft = bad.with_name(".draft")
            draft.write_bytes(b"PAR1 this was to be a table")
            draft.rename(bad)

    with pytest.raises(InputError, match="not a whole Parquet file") as raised:
        application.run(PQL, "stream", on_figures=spoil_when_rows_came)
    assert Path(str(raised.value.where)).name == bad.name
    assert raised.value.hint
    bad.unlink()
    for name, table in tables.items():
        write_files(table.slice(ROWS // 2), application.folder / name, 1, first=2)
    application.run(PQL, "drain")
    db = database(**tables, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("full", "l.id, r.id", ON)) == {}


def test_columns_with_dots_in_their_names(application: Application) -> None:
    """Through Spark, into the log and elsewhere, with a row that is set aside."""
    here = application.folder
    (here / "in").mkdir()
    rows = [{"a.b": n, "c": f"c{n}"} for n in range(3)]
    (here / "in" / "0.json").write_text("\n".join([*map(json.dumps, rows), "no json"]))
    application.run("""
        CREATE APPLICATION dots;
        CREATE INPUT TABLE i (`a.b` BIGINT, c STRING) FROM FILES("{here}/in", format = "json");
        CREATE VIEW v AS SELECT `a.b`, format_string('%s!', c) AS `c.d` FROM i;
        CREATE TABLE kept AS SELECT * FROM v STORAGE SCRIBE(category = "kept");
        CREATE TABLE lake AS SELECT * FROM v STORAGE DELTA(path = "{here}/lake");
    """)
    expected = [{"a.b": n, "c.d": f"c{n}!"} for n in range(3)]
    for found in (application.category("kept"), DeltaTable(here / "lake").to_pyarrow_table()):
        assert sorted(found.select(["a.b", "c.d"]).to_pylist(), key=lambda row: row["a.b"]) == expected
    assert application.category("dots.rejects.i")["raw"].to_pylist() == ["no json"]
