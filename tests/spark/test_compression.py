"""Wide rows, compressed on their way: from a category, through both sides of a join, into a category."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.log.category import Category
from dovetail.log.commit import Packing
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.log.packer import MIN_SAMPLE_BYTES
from spark.application import Application
from spark.batch import ON, count, database, differences, join_sql
from spark.events import events, write_files
from wide_rows import wide_rows

ROWS = 4000
SELECT = "l.id AS l_id, l.url AS l_url, l.agent AS l_agent, r.id AS r_id, r.url AS r_url, r.score AS r_score"
HEAD = """
    CREATE APPLICATION wide;
    CREATE INPUT TABLE l (eventtime, k, id, url, agent, attributes) FROM SCRIBE("clicks");
    CREATE INPUT TABLE r (eventtime, k, id, url, attributes, score)
        FROM FILES("{here}/r", format = "parquet");
"""


def view(name: str, category: str, options: str = "") -> str:
    return f"""
    CREATE VIEW {name} AS SELECT {SELECT}, l.attributes AS l_attributes, r.attributes AS r_attributes
        FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        {options};
    CREATE TABLE {name}_rows AS SELECT * FROM {name} STORAGE SCRIBE(category = "{category}");
    """


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
    """Of two joins in one run: the second leaves its rows as they are."""
    tables = {"l": side(71), "r": side(72)}
    pq.write_table(tables["l"], application.folder / "l.parquet")
    for file in find_files([str(application.folder / "l.parquet")]):
        append_file(application.home, "clicks", file)
    write_files(tables["r"], application.folder / "r", 3)
    plain = view("plain", "as_they_are", 'WITH (compression = "none")')
    application.run(HEAD + view("pairs", "found") + plain)
    for name in ("clicks", "wide.pairs.left", "wide.pairs.right", "found"):
        packed = packings(application, name)
        found = [packing for packing in packed if packing is not None]
        assert found == packed, name
        # A first step may have a handful of rows: too few to train a dictionary on.
        due = [one for one in found if one.dictionary is not None or one.raw_bytes >= MIN_SAMPLE_BYTES]
        assert due, (name, found)
        assert all(packing.ratio > 2 for packing in due), (name, found)
        assert sum(one.raw_bytes for one in found) > 2 * sum(one.stored_bytes for one in found), (name, found)
    for name in ("wide.plain.left", "wide.plain.right"):
        assert set(packings(application, name)) == {None}, name
    expected = join_sql("full", f"{SELECT}, l.attributes, r.attributes", ON)
    for category in ("found", "as_they_are"):
        database_ = database(**tables, found=application.category(category))
        assert count(database_, expected) > ROWS
        assert differences(database_, "FROM found", expected) == {}, category
