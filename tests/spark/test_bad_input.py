"""Damage that shows only when the data is read: one clear error, nothing committed is lost, and after the
repair the result is the one of undamaged input."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.errors import CorruptFile, DovetailError, InputError, PlanError, StateError, UnknownVersion
from dovetail.log import document
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events, write_files
from spark.pairs import pairs

ROWS = 4000
EXPECTED = join_sql("full", "l.id, r.id, r.v", ON)
PQL = pairs(
    "FULL", columns="eventtime, k, id, v", select="l.id AS l, r.id AS r, r.v AS v", folder="{here}/in puts"
)
COMPUTED = PQL.replace("FROM l FULL JOIN r", "FROM l FULL JOIN some_r AS r").replace(
    "CREATE VIEW pairs", "CREATE VIEW some_r AS SELECT * FROM r WHERE id + 1 > 0;\n    CREATE VIEW pairs"
)


def retyped(table: pa.Table) -> pa.Table:
    return table.set_column(1, "k", table["k"].cast(pa.string()))


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200])


def flipped(file: Path) -> None:
    """Damage in the middle of a column, which neither the footer nor the schema shows."""
    data = bytearray(file.read_bytes())
    column = pq.ParquetFile(file).metadata.row_group(0).column(2)
    start = column.data_page_offset
    for at in range(start + 4, start + min(400, column.total_compressed_size)):
        data[at] ^= 0xFF
    file.write_bytes(data)


DAMAGE = {
    "no column is there": (
        lambda file, table: pq.write_table(pa.table({"other": table["id"]}), file),
        "lacks columns",
    ),
    "another type": (lambda file, table: pq.write_table(retyped(table), file), "another type for column k"),
    "truncated": (lambda file, table: truncated(file), "not a whole Parquet file"),
    "flipped bytes": (lambda file, table: flipped(file), "cannot be read"),
}


@pytest.mark.parametrize("pql", [PQL, COMPUTED], ids=["plain", "computed"])
def test_damaged_parquet_files(application: Application, pql: str) -> None:
    tables = {"l": events(ROWS, 300, 1), "r": events(ROWS, 300, 2)}
    inputs = application.folder / "in puts"
    for name, table in tables.items():
        write_files(table.slice(0, ROWS // 2), inputs / name, 1)
    application.run(pql, "available-now")
    for name, table in tables.items():
        write_files(table.slice(ROWS // 2), inputs / name, 1, first=1)
    file = inputs / "r" / "part-00001.parquet"
    for what in DAMAGE if pql == PQL else ("flipped bytes",):  # footers are looked at on both ways alike
        damage, words = DAMAGE[what]
        whole = file.read_bytes()
        damage(file, tables["r"].slice(ROWS // 2))
        with pytest.raises(InputError, match=words) as raised:
            application.run(pql, "drain")
        assert str(raised.value.where).endswith("part-00001.parquet"), what
        assert raised.value.hint, what
        file.write_bytes(whole)
    application.run(pql, "drain")
    db = database(**tables, found=application.files("out"))
    assert differences(db, "FROM found", EXPECTED) == {}


def test_damaged_state_and_log(application: Application) -> None:
    tables = {"l": events(ROWS, 300, 1), "r": events(ROWS, 300, 2)}
    inputs = application.folder / "in puts"
    for name, table in tables.items():
        write_files(table.slice(0, ROWS // 2), inputs / name, 1)
    application.run(PQL, "available-now")
    for name, table in tables.items():
        write_files(table.slice(ROWS // 2), inputs / name, 1, first=1)
    home = Path(application.home)
    definition = home / "apps/app/application.json"

    def cut(data: bytes) -> bytes:
        return data[: len(data) // 2]

    def other_version(data: bytes) -> bytes:
        return document.encode("dovetail.application", 99, {})

    for damage, kinds in [(cut, CorruptFile), (other_version, UnknownVersion)]:
        whole = definition.read_bytes()
        definition.write_bytes(damage(whole))
        with pytest.raises(kinds) as raised:
            application.run(PQL, "drain")
        assert definition.name in str(raised.value.where)
        assert raised.value.hint
        definition.write_bytes(whole)
    with pytest.raises(StateError, match="cannot go on with this query") as other:
        application.run(PQL.replace(";", ';\nSET TIME ZONE "Europe/Berlin";', 1), "drain")
    assert "time zone" in str(other.value)

    for file in application.index.rglob("header.json"):
        file.unlink()  # the live index would do without snapshots
    snapshots = [*home.rglob("*.snapshot"), *application.index.rglob("*.snapshot")]
    for file in snapshots:
        file.write_bytes(cut(file.read_bytes()))
    assert len(snapshots) >= 2
    application.run(PQL, "drain")  # the steps before are run once more
    db = database(**tables, found=application.files("out"))
    assert differences(db, "FROM found", EXPECTED) == {}


def test_a_query_that_never_ran_binds_nobody(application: Application) -> None:
    for name in ("l", "r"):
        write_files(events(50, 5, 1), application.folder / "in puts" / name, 1)
    wrong = PQL.replace("r.v AS v", "from_json(CAST(r.v AS STRING), 'a no_type') AS v, l.v AS w")
    with pytest.raises(PlanError, match="no_type"):
        application.run(wrong)
    application.run(PQL)
    assert application.files("out")
    with pytest.raises(DovetailError):
        application.run(wrong)
