"""Event times that are not believed, through the whole of Spark: one row dated next year changes nothing for
the others, and is found again with the reason."""

from __future__ import annotations

import datetime
import time

import pyarrow as pa
import pytest

from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import SECOND_US, events, write_files
from spark.pairs import pairs

ROWS = 4_000
PQL = pairs("LEFT", "horizon = INTERVAL '30 days', tasks = 2", on=ON.replace("r.k", "%s", 1))


def dated(table: pa.Table, days: float) -> pa.Table:
    """A row with a key that all would match, `days` from now."""
    when = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    row = {"eventtime": [when], "k": [1], "id": [ROWS + int(days)], "v": [0]}
    return pa.table(row, schema=table.schema)


@pytest.mark.parametrize("key", ["r.k", "r.k + 0"], ids=["the short way", "through the JVM"])
def test_one_row_dated_next_year_changes_nothing_for_the_others(application: Application, key: str) -> None:
    sound, tables = {}, {}
    for name, seed in (("l", 81), ("r", 82)):
        rows = events(ROWS, 500, seed, nulls=0.002)
        shift = pa.scalar(int((time.time() - 1_700_000_000 - 7200) * SECOND_US), pa.duration("us"))
        moved = pa.compute.add(rows.column("eventtime"), shift)
        sound[name] = rows = rows.set_column(0, rows.schema.field(0), moved)
        early = rows.slice(0, 50)
        tables[name] = pa.concat_tables([early, dated(rows, 365), dated(rows, -90), rows.slice(50)])
        write_files(tables[name], application.folder / name, 4)
    (join,) = application.run(PQL % key).joins
    keyed = pa.compute.field("k").is_valid()
    timeless = {name: rows.filter(keyed).column("eventtime").null_count for name, rows in sound.items()}
    assert join.invalid_rows == sum(timeless.values()) + 4
    assert join.late_rows == 0
    for side, name in (("left", "l"), ("right", "r")):
        aside = application.category(f"app.pairs.{side}.invalid").to_pydict()
        said = dict(zip(aside["_reason"], aside["_event_time"], strict=True))
        assert said["the time is too far ahead of the clock"].year > 2025
        assert said["the time is older than the horizon"] is not None
        nothing = tables[name].filter(
            pa.compute.field("k").is_valid() & pa.compute.field("eventtime").is_null()
        )
        assert aside["_reason"].count("the time is null") == nothing.num_rows > 0
    db = database(l=sound["l"], r=sound["r"], found=application.files("out"))
    alone = f"SELECT unnest([{ROWS + 365}, {ROWS - 90}]), NULL"
    expected = f"{join_sql('left', 'l.id, r.id', ON)} UNION ALL {alone}"
    assert differences(db, "FROM found", expected) == {}
