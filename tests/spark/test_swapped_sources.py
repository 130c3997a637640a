"""Law: an input that comes from another source begins there where it was said, each row enters once, and what
the join has seen stays."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.errors import StateError
from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.plan.application_file import read_current
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.command_line import run
from spark.events import events, write_files

ROWS, PARTS = 6_000, 6
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT) FROM {source};
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE result AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/out");
"""
LOG, FILES = (
    PQL.replace("{source}", 'SCRIBE("a")'),
    PQL.replace("{source}", 'FILES("{here}/b", format="parquet")'),
)


def part(seed: int, number: int) -> pa.Table:
    return events(ROWS, 600, seed).slice(number * ROWS // PARTS, ROWS // PARTS)


def to_log(application: Application, number: int) -> None:
    write_files(part(1, number), application.folder / "a", 1, first=number)
    [*_, newest] = find_files([str(application.folder / "a")])
    append_file(application.home, "a", newest)


def test_from_the_log_to_files_and_back(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = application.folder
    to_log(application, 0)
    write_files(part(2, 0), folder / "r", 1, first=0)
    application.run(LOG, "available-now")

    to_log(application, 2)  # it is not read before the application comes back to this source
    write_files(part(1, 1), folder / "b", 1, first=1)
    write_files(part(2, 1), folder / "r", 1, first=1)
    with pytest.raises(StateError) as refused:
        application.run(FILES, "available-now")
    assert "say where it begins: --from l=latest" in (refused.value.hint or "")
    application.run(FILES, "available-now", begins=["l=earliest"])
    assert not any(mark.application == "app" for mark in Category.open(application.home, "a").marks())

    write_files(part(2, 2), folder / "r", 1, first=2)
    application.run(LOG, "available-now")  # from where it was left

    # The same again with a query of Spark, which passes over what is in the folder already.
    monkeypatch.setenv("DOVETAIL_SLICING", "spark")
    write_files(part(1, 5), folder / "b", 1, first=2)
    application.run(FILES, "available-now", begins=["l=latest"])
    write_files(part(1, 3), folder / "b", 1, first=3)
    write_files(part(2, 3), folder / "r", 1, first=3)
    application.run(FILES, "available-now")
    to_log(application, 4)
    write_files(part(2, 4), folder / "r", 1, first=4)
    application.run(LOG, "drain")

    fed_left = pa.concat_tables([part(1, number) for number in range(5)])
    fed_right = pa.concat_tables([part(2, number) for number in range(5)])
    db = database(l=fed_left, r=fed_right, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("inner", "l.id, r.id", ON)) == {}
    assert [stage.reading for stage in read_current(application.home, "app").plan.slicers] == [5, 1]


def test_every_command_that_changes_a_query_takes_the_place_where_an_input_begins(
    application: Application,
) -> None:
    """`deploy` and `rollback` as `run`. The new source is an input of another name. A rollback would go on
    where the source was left; it begins where it was said."""
    folder = Path(application.folder)

    def command(*arguments: str) -> str:
        done = run(*arguments, "--home", application.home, "--available-now", folder=folder)
        return f"{done.returncode}\n{done.stdout}{done.stderr}"

    for number in range(4):
        write_files(part(2, number), folder / "r", 1, first=number)
    to_log(application, 0)
    application.run(LOG, "available-now")
    to_log(application, 1)  # left out: see below
    write_files(part(1, 2), folder / "b", 1, first=2)
    other = FILES.replace("TABLE l (", "TABLE other (").replace("FROM l JOIN", "FROM other AS l JOIN")
    (folder / "new.pql").write_text(other.replace("{here}", str(folder)))
    refused = command("deploy", "new.pql")
    assert refused.startswith("1\n")
    assert "say where it begins: --from other=latest" in refused
    assert command("deploy", "new.pql", "--from", "other=earliest").startswith("0\n")
    assert command("rollback", "app", "--from", "l=latest").startswith("0\n")
    to_log(application, 3)
    application.run(LOG, "drain")

    left = pa.concat_tables([part(1, number) for number in (0, 2, 3)])
    right = pa.concat_tables([part(2, number) for number in range(4)])
    db = database(l=left, r=right, found=application.files("out"))
    assert differences(db, "FROM found", join_sql("inner", "l.id, r.id", ON)) == {}
