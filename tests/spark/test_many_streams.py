"""Views over three streams and a self join: after a drain they equal what DuckDB makes of the finished
inputs, also where a time comes from a row that may be missing."""

from __future__ import annotations

from dovetail.log.category import list_categories
from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS = 6_000
INPUT = 'FROM FILES("{here}/%s", format = "parquet", maxFilesPerTrigger = 1);'
FUNNEL = """SELECT l.id AS l, r.id AS r, x.id AS x, coalesce(x.v, -l.v) AS v, l.v + r.v AS total
    FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
    LEFT JOIN x ON x.k = l.k AND x.eventtime BETWEEN r.eventtime AND r.eventtime + INTERVAL '2 minutes'"""
AGAIN = """SELECT one.id AS one, two.id AS two, three.id AS three
    FROM l AS one JOIN l AS two ON two.k = one.k
        AND two.eventtime BETWEEN one.eventtime - INTERVAL '1 minute' AND one.eventtime + INTERVAL '1 minute'
    JOIN l AS three ON three.k = two.k AND three.v <> 7
        AND three.eventtime BETWEEN two.eventtime AND two.eventtime + INTERVAL '2 minutes'"""
PQL = f"""
    CREATE APPLICATION streams;
    CREATE INPUT TABLE l (eventtime, k, id, v) {INPUT % "l"}
    CREATE INPUT TABLE r (eventtime, k, id, v) {INPUT % "r"}
    CREATE INPUT TABLE x (eventtime, k, id, v) {INPUT % "x"}
    CREATE VIEW funnel AS {FUNNEL} WHERE l.v % 5 <> 0 AND (x.v IS NULL OR x.v % 3 <> 0);
    CREATE VIEW again AS {AGAIN};
    CREATE TABLE funnels AS SELECT * FROM funnel STORAGE PARQUET(path = "{{here}}/funnel");
    CREATE TABLE agains AS SELECT * FROM again STORAGE SCRIBE(category = "again");
"""
DEFINITIONS = f"""
    CREATE VIEW funnel AS {FUNNEL} WHERE l.v % 5 <> 0 AND (x.v IS NULL OR x.v % 3 <> 0);
    CREATE VIEW again AS {AGAIN};
"""


def test_three_streams_and_a_self_join_equal_duckdb(application: Application) -> None:
    tables = {name: events(ROWS, 300, seed) for name, seed in (("l", 31), ("r", 32), ("x", 33))}
    for name, table in tables.items():
        write_files(table, application.folder / name, 3)
    application.run(PQL)
    db = database(
        **tables,
        found_funnel=application.files("funnel"),
        found_again=application.category("again"),
    )
    db.execute(DEFINITIONS)
    assert count(db, "FROM funnel WHERE r IS NULL") > 10
    # A missing right row has no time, and that is no fault of the left row.
    assert "streams.funnel.left.invalid" not in list_categories(application.home)
    for name in ("funnel", "again"):
        assert count(db, f"FROM {name}") > ROWS / 10, name
        assert differences(db, f"FROM found_{name}", f"FROM {name}") == {}, name
