"""`dovetail scale` while an application runs: its joins change their number of tasks between two steps, again
and again, with rows open, chosen and retained and with a key that is split; and no row changes."""

from __future__ import annotations

import json
import threading
import time

import pyarrow as pa
import pytest

from dovetail.engine.measure import JoinMeasure
from dovetail.service.cli import main as cli
from dovetail.service.figures import RunFigures
from dovetail.service.metrics import measured
from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import write_files
from spark.test_skew import skewed

ROWS = 40_000
CUTS = (0, 20_000, 24_000, 28_000, 32_000, 36_000, ROWS)
ON = "l.k = r.k AND r.eventtime BETWEEN l.eventtime - INTERVAL 2 SECOND AND l.eventtime + INTERVAL 3 SECOND"
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW lefts AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 seconds' AND l.eventtime + INTERVAL '3 seconds'
        WITH (tasks = 2);
    CREATE TABLE left_rows AS SELECT * FROM lefts STORAGE PARQUET(path = "{here}/lefts");
    CREATE VIEW fulls AS SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 seconds' AND l.eventtime + INTERVAL '3 seconds'
        WITH (tasks = 2, match = "one", pick = "nearest");
    CREATE TABLE full_rows AS SELECT * FROM fulls STORAGE PARQUET(path = "{here}/fulls");
"""
PICKED = f"""
    SELECT l.id AS l, r.id AS r FROM l JOIN r ON {ON} QUALIFY row_number() OVER (PARTITION BY l.id
    ORDER BY abs(epoch_us(r.eventtime) - epoch_us(l.eventtime)), r.eventtime, r.id) = 1
"""
NEAREST = f"""
    WITH p AS ({PICKED}) FROM p
    UNION ALL SELECT id, NULL FROM l ANTI JOIN p ON id = p.l
    UNION ALL SELECT NULL, id FROM r ANTI JOIN p ON id = p.r
"""
WAIT_S = 180


class Running:
    """The application in a thread of its own, fed part by part."""

    def __init__(self, application: Application, tables: dict[str, pa.Table]) -> None:
        self.application, self.tables = application, tables
        self.stop, self.failures, self.last = threading.Event(), [], RunFigures("", 0.0, "")
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.application.run(
                PQL, "stream", stop=self.stop, on_figures=lambda now: setattr(self, "last", now)
            )
        except BaseException as error:
            self.failures.append(error)

    def feed(self, part: int) -> None:
        low, high = CUTS[part], CUTS[part + 1]
        for name, table in self.tables.items():
            write_files(table.slice(low, high - low), self.application.folder / name, 1, first=part)

    def taken(self, rows: int) -> list[JoinMeasure]:
        """The joins, as soon as they have taken `rows` rows of each stream."""
        found: list[JoinMeasure] = []
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            assert self.failures == []
            if len(self.last.joins) == 2 and all(stream.rows_in == rows for stream in self.last.streams):
                found = [join.measure for join in measured(self.application.home, "app").joins]
                if all(one.totals.get("left_in") == one.totals.get("right_in") == rows for one in found):
                    return found
            time.sleep(0.1)
        raise AssertionError(f"the rows do not come out: {self.last}, {found}")


def scale(application: Application, *arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["scale", "app", "--home", application.home, *arguments])
    assert not ended.value.code


def hot(application: Application) -> bool:
    """Whether the join of the last micro-batch had a key that is split."""
    folder = application.folder / "home/apps/app/checkpoints/lefts/offsets"
    newest = max((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    return bool(json.loads(newest.read_text().splitlines()[-1])["hot"])


def test_tasks_change_while_it_runs_and_no_row_does(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {"l": skewed(21, 0.7), "r": skewed(22, 0.03)}
    running = Running(application, tables)
    running.feed(0)
    running.thread.start()
    try:
        for part, tasks in enumerate((2, 8, 3, 64, 1)):
            if part:
                scale(application, "--tasks", str(tasks))
                running.feed(part)
            found = running.taken(CUTS[part + 1])
            assert [(join.tasks, join.tasks_asked) for join in found] == [(tasks, tasks)] * 2
            assert all(join.left.held_rows and join.right.held_rows for join in found)
            assert hot(application) == (tasks > 1)
    finally:
        running.stop.set()
        running.thread.join(WAIT_S)
    assert not running.thread.is_alive()
    assert running.failures == []

    # Asked for while it stands, it holds from the next start on.
    scale(application, "--tasks", "5", "--join", "lefts")
    scale(application, "--tasks", "auto", "--join", "fulls")
    running.feed(5)
    application.run(PQL)
    with pytest.raises(SystemExit):
        cli.main(["status", "app", "--home", application.home])
    said = capsys.readouterr().out
    assert "5 tasks (set by dovetail scale)" in said
    assert "2 tasks (set by the query's option tasks)" in said

    db = database(**tables, lefts=application.files("lefts"), fulls=application.files("fulls"))
    expected = join_sql("left", "l.id, r.id", ON)
    assert count(db, f"{expected} WHERE r.id IS NOT NULL") > ROWS // 10
    assert differences(db, "FROM lefts", expected) == {}
    assert differences(db, "FROM fulls", NEAREST) == {}
