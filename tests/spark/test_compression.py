"""Wide rows, compressed on their way: from a category, through both sides of a join, into a category."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.log.packing import Packing
from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import events, write_files
from wide_rows import wide_rows

ROWS = 4000
ON = "l.k = r.k AND r.eventtime BETWEEN l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 3 MINUTE"
SELECT = "l.id AS l_id, l.url AS l_url, l.agent AS l_agent, r.id AS r_id, r.url AS r_url, r.score AS r_score"
PQL = """
    CREATE APPLICATION wide;
    CREATE INPUT TABLE l (eventtime, k, id, url, agent, attributes) FROM SCRIBE("clicks");
    CREATE INPUT TABLE r (eventtime, k, id, url, attributes, score)
        FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT SELECTED, l.attributes AS l_attributes, r.attributes AS r_attributes
        FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        OPTIONS;
    CREATE TABLE t AS SELECT * FROM pairs STORAGE SCRIBE(category = "found");
""".replace("SELECTED", SELECT)


def side(seed: int) -> pa.Table:
    table, wide = events(ROWS, 200, seed), wide_rows(ROWS, seed)
    for name in ("url", "agent", "attributes", "score"):
        table = table.append_column(name, wide.column(name))
    return table


def packings(application: Application, name: str) -> list[Packing | None]:
    category = Category.open(application.home, name)
    commits = category.commits(0, category.next_commit())
    return [info.packing for commit in commits for info in commit.segments]


def test_wide_rows_are_compressed_all_the_way(application: Application) -> None:
    tables = {"l": side(71), "r": side(72)}
    pq.write_table(tables["l"], application.folder / "l.parquet")
    for file in find_files([str(application.folder / "l.parquet")]):
        append_file(application.home, "clicks", file)
    write_files(tables["r"], application.folder / "r", 3)
    application.run(PQL.replace("OPTIONS", ""))
    for name in ("clicks", "wide.pairs.left", "wide.pairs.right", "found"):
        found = packings(application, name)
        assert found, name
        assert all(packing is not None and packing.ratio > 2 for packing in found), (name, found)
    database_ = database(**tables, found=application.category("found"))
    expected = join_sql("full", f"{SELECT}, l.attributes, r.attributes", ON)
    assert count(database_, expected) > ROWS
    assert differences(database_, "FROM found", expected) == {}


def test_a_join_may_leave_its_rows_as_they_are(application: Application) -> None:
    tables = {"l": side(73), "r": side(74)}
    pq.write_table(tables["l"], application.folder / "l.parquet")
    for file in find_files([str(application.folder / "l.parquet")]):
        append_file(application.home, "clicks", file, compression="none")
    write_files(tables["r"], application.folder / "r", 1)
    application.run(PQL.replace("OPTIONS", 'WITH (compression = "none")'))
    for name in ("clicks", "wide.pairs.left", "wide.pairs.right"):
        assert set(packings(application, name)) == {None}, name
    database_ = database(**tables, found=application.category("found"))
    expected = join_sql("full", f"{SELECT}, l.attributes, r.attributes", ON)
    assert differences(database_, "FROM found", expected) == {}
