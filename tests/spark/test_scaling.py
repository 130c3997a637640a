"""More and fewer tasks while an application runs, by `dovetail scale` and by the scaler, once up and once
down: its joins change their number of tasks between two steps, again and again, with rows open, chosen and
retained and with a key that is split; and no row changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

import pytest

from commands import run_command
from dovetail.engine.measure import JoinMeasure
from dovetail.service.figures import RunFigures
from dovetail.service.metrics import measured
from dovetail.service.scaler.loop import JOINS, Scaler
from dovetail.service.scaler.sample import LoadSample
from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import write_files
from spark.test_skew import skewed

NOW_S = 1_750_000_000.0
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


def joins(application: Application) -> list[JoinMeasure]:
    return [join.measure for join in measured(application.home, "app").joins]


def taken(application: Application, now: RunFigures, rows: int) -> bool:
    """Whether the joins have taken `rows` rows of each stream."""
    if len(now.joins) < 2 or any(stream.rows_in != rows for stream in now.streams):
        return False
    return all(one.totals.get("left_in") == one.totals.get("right_in") == rows for one in joins(application))


def scale(application: Application, *arguments: str) -> None:
    assert run_command("scale", "app", "--home", application.home, *arguments) == 0


def let_scale(application: Application, rate: float, tasks: int, now_s: float) -> None:
    """The scaler, after an hour in which this many rows per second came in, and a task could take 10,000."""
    half = rate / 2
    sample = LoadSample(0, tasks, half, half, 0, 0, row_us=100 / tasks)
    hour = [now_s - 3_660 + 10 * number for number in range(367)]
    history = [
        (at_s, {JOINS: {name: asdict(replace(sample, at_s=at_s)) for name in ("lefts", "fulls")}})
        for at_s in hour
    ]
    found = Scaler(application.home).look("app", "act", False, (64, "cores"), history, now_s)
    assert [one.made for one in found] == [True, True]


def hot(application: Application) -> bool:
    """Whether the join of the last micro-batch had a key that is split."""
    folder = application.folder / "home/apps/app/checkpoints/lefts/offsets"
    newest = max((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    return bool(json.loads(newest.read_text().splitlines()[-1])["hot"])


def test_tasks_change_while_it_runs_and_no_row_does(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {"l": skewed(21, 0.7), "r": skewed(22, 0.03)}

    def feed(part: int) -> None:
        low, high = CUTS[part], CUTS[part + 1]
        for name, table in tables.items():
            write_files(table.slice(low, high - low), application.folder / name, 1, first=part)

    def script() -> Iterator[Callable[[RunFigures], bool]]:
        for part, tasks in enumerate((2, 8, 64, 3, 1)):
            if tasks == 8:
                let_scale(application, 52_000, 2, NOW_S)
            elif tasks == 1:
                let_scale(application, 200, 3, NOW_S + 4 * 3_600)
            elif part:
                scale(application, "--tasks", str(tasks))
            feed(part)
            yield lambda now, rows=CUTS[part + 1]: taken(application, now, rows)
            found = joins(application)
            assert [(join.tasks, join.tasks_asked) for join in found] == [(tasks, tasks)] * 2
            assert all(join.left.held_rows and join.right.held_rows for join in found)
            assert hot(application) == (tasks > 1)

    application.stream(PQL, script())

    # Asked for while it stands, it holds from the next start on.
    scale(application, "--tasks", "5", "--join", "lefts")
    scale(application, "--tasks", "auto", "--join", "fulls")
    feed(5)
    application.run(PQL)
    run_command("status", "app", "--home", application.home)
    said = capsys.readouterr().out
    assert "5 tasks (set by dovetail scale)" in said
    assert "2 tasks (set by the query's option tasks)" in said

    db = database(**tables, lefts=application.files("lefts"), fulls=application.files("fulls"))
    expected = join_sql("left", "l.id, r.id", ON)
    assert count(db, f"{expected} WHERE r.id IS NOT NULL") > ROWS // 10
    assert differences(db, "FROM lefts", expected) == {}
    assert differences(db, "FROM fulls", NEAREST) == {}
