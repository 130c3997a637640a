"""A drain after a run that has seen all rows, stopped or killed before the end: the last windows come out."""

from __future__ import annotations

from dovetail.log.category import Category
from spark.application import Application
from spark.batch import database, differences
from spark.events import events, write_files

ROWS = 2000
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/l", format = "parquet");
    CREATE TABLE t AS SELECT window(eventtime, '10 minutes').start AS since, COUNT(*) AS events
        FROM l GROUP BY window(eventtime, '10 minutes') STORAGE PARQUET(path = "{here}/out");
"""


def test_windows_of_rows_that_an_earlier_run_has_taken_come_out(application: Application) -> None:
    rows = events(ROWS, 200, 71)
    write_files(rows, application.folder / "l", 1)
    application.run(PQL, "available-now")
    application.run(PQL, "drain")
    closed = Category.open(application.home, "app.t.windows")
    commits = closed.next_commit()
    application.run(PQL, "drain")
    assert closed.next_commit() == commits, "a drain without new rows closes nothing"
    db = database(l=rows, found=application.files("out"))
    expected = """
        SELECT time_bucket(INTERVAL 10 MINUTE, eventtime), count(*) FROM l
        WHERE eventtime IS NOT NULL GROUP BY 1
    """
    assert differences(db, "FROM found", expected) == {}
