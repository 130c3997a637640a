"""Law (recoverable): however a stream is cut into runs, and whatever happens to the live index in between,
the runs together give what one run over everything gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.service.figures import RunFigures
from spark.application import Application
from spark.batch import ON, add, count, database, differences, join_sql
from spark.events import events, write_files

ROWS = 30_000
PQL = """
    CREATE APPLICATION several_runs;
    CREATE INPUT TABLE l (eventtime, k, id, v)
        FROM FILES("{here}/l", format = "parquet", maxFilesPerTrigger = 2);
    CREATE INPUT TABLE r (eventtime, k, id, v)
        FROM FILES("{here}/r", format = "parquet", maxFilesPerTrigger = 2);
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, r.v AS v FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (tasks = TASKS, max_step_rows = 8000);
    CREATE TABLE pair_rows AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/pairs");
    CREATE VIEW nearest AS SELECT l.id AS l, r.id AS r, r.v AS v FROM l RIGHT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (tasks = TASKS, max_step_rows = 8000, match = "one", pick = "nearest");
    CREATE TABLE nearest_rows AS SELECT * FROM nearest STORAGE SCRIBE(category = "nearest");
"""
EXPECTED_PAIRS = join_sql("full", "l.id, r.id, r.v", ON)
PICKED = f"""
    SELECT l.id AS l, r.id AS r, r.v AS v FROM l JOIN r ON {ON} QUALIFY row_number() OVER (PARTITION BY l.id
    ORDER BY abs(epoch_us(r.eventtime) - epoch_us(l.eventtime)), r.eventtime, r.id) = 1
"""
EXPECTED_NEAREST = f"WITH p AS ({PICKED}) FROM p UNION ALL SELECT NULL, id, v FROM r ANTI JOIN p ON id = p.r"


def test_runs_go_on_where_the_last_one_stopped(application: Application) -> None:
    left, right = events(ROWS, 3000, seed=1), events(ROWS, 3000, seed=2)
    rebuilds = []
    for run, tasks in enumerate([1, 1, 1, 2]):  # as is; index kept; index lost; other grouping
        for name, table in (("l", left), ("r", right)):
            part = table.slice(run * ROWS // 4, ROWS // 4)
            write_files(part, application.folder / name, 3, first=3 * run)
        if run == 2:
            application.index.rename(application.folder / "lost")  # a copy may still be made of it
        mode = "drain" if run == 3 else "available-now"
        summary = application.run(PQL.replace("TASKS", str(tasks)), mode)
        rebuilds.append([join.rebuilds for join in summary.joins])
        waiting = [join.open_rows + join.retained_rows for join in summary.joins]
        assert all(waiting) if run < 3 else not any(waiting), run
    assert rebuilds == [[0, 0], [0, 0], [1, 1], [3, 3]]
    db = database(l=left, r=right, pairs=application.files("pairs"), nearest=application.category("nearest"))
    assert count(db, EXPECTED_PAIRS) > ROWS
    assert differences(db, "FROM pairs", EXPECTED_PAIRS) == {}
    assert differences(db, "FROM nearest", EXPECTED_NEAREST) == {}

    # A second drain without new input changes nothing.
    again = application.run(PQL.replace("TASKS", "2"))
    assert [join.matches for join in again.joins] == [join.matches for join in summary.joins]
    drained = application.files("pairs")
    add(db, "pairs_again", drained)
    add(db, "nearest_again", application.category("nearest"))
    assert differences(db, "FROM pairs_again", "FROM pairs") == {}
    assert differences(db, "FROM nearest_again", "FROM nearest") == {}

    # After the end the streams begin again: what came before is over, whatever its dates.
    day = pa.scalar(-86_400_000_000, pa.duration("us"))
    before = {
        name: table.set_column(0, "eventtime", pc.add(table["eventtime"], day)).slice(0, ROWS // 4)
        for name, table in (("l", left), ("r", right))
    }
    for name, table in before.items():
        write_files(table, application.folder / name, 2, first=100)
    application.run(PQL.replace("TASKS", "2"))
    after = [file for file in application.files("pairs") if file not in drained]
    assert differences(database(**before, after=after), "FROM after", EXPECTED_PAIRS) == {}


STREAM_PQL = """
    CREATE APPLICATION live;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM SCRIBE("l");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, r.v AS v FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE pair_rows AS SELECT * FROM pairs STORAGE PARQUET(path = "{here}/pairs");
"""


def test_a_stream_that_is_fed_stopped_and_drained(application: Application) -> None:
    parts = 5
    left, right = events(ROWS, 3000, seed=3), events(ROWS, 3000, seed=4)

    def feed(part: int) -> None:
        low, rows = part * ROWS // parts, ROWS // parts
        write_files(left.slice(low, rows), application.folder / "l", 1, first=part)
        append_file(
            application.home, "l", find_files([str(application.folder / f"l/part-{part:05d}.parquet")])[0]
        )
        write_files(right.slice(low, rows), application.folder / "r", 1, first=part)

    def script() -> Iterator[Callable[[RunFigures], bool]]:
        for part in range(parts - 1):
            feed(part)
            yield lambda now, part=part: now.out_rows >= (part + 1) * ROWS // parts // 2

    assert application.stream(STREAM_PQL, script()).phase == "stopped"
    feed(parts - 1)
    application.run(STREAM_PQL)
    db = database(l=left, r=right, pairs=application.files("pairs"))
    assert differences(db, "FROM pairs", EXPECTED_PAIRS) == {}
