"""A live chain of two joins on Spark, of which the second is paced: while one of its streams is silent, what
is ahead waits at the inputs and not between the joins. Both joins change their number of tasks in the
middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from commands import run_command
from dovetail.engine.downstream import unread_rows
from dovetail.log.category import list_categories
from dovetail.plan.configure import join_config
from dovetail.pql.compile import compile_pql
from dovetail.service.figures import RunFigures
from dovetail.service.metrics import measured
from spark.application import Application
from spark.events import write_files

ROWS, FILES, STEP_ROWS = 1200, 12, 100
START = datetime(2026, 1, 1, tzinfo=UTC)
PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/a", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/b", format = "parquet", maxFilesPerTrigger = 1);
    CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("{here}/c", format = "parquet", maxFilesPerTrigger = 1);
    CREATE VIEW ab AS SELECT a.t AS t, a.k AS k, a.id AS a, b.id AS b FROM a LEFT JOIN b
        ON b.k = a.k AND b.t BETWEEN a.t - INTERVAL '3 seconds' AND a.t + INTERVAL '3 seconds'
        WITH (max_delay = INTERVAL '1 second', max_step_rows = 100, tasks = 2);
    CREATE VIEW abc AS SELECT ab.a AS a, ab.b AS b, c.id AS c FROM ab LEFT JOIN c
        ON c.k = ab.k AND c.t BETWEEN ab.t - INTERVAL '3 seconds' AND ab.t + INTERVAL '3 seconds'
        WITH (max_delay = INTERVAL '1 second', pacing = "on", idle_timeout = INTERVAL '1 day',
              max_step_rows = 100, tasks = 2);
    CREATE TABLE result AS SELECT a, b, c FROM abc STORAGE SCRIBE(category = "out");
"""


def rows(every: int) -> pa.Table:
    """A row a second, with a key that comes back after ten. `every`: only one row in that many."""
    numbers = range(0, ROWS, every)
    return pa.table(
        {
            "t": pa.array([START + timedelta(seconds=n) for n in numbers], pa.timestamp("us", "UTC")),
            "k": pa.array([n % 10 for n in numbers], pa.int64()),
            "id": pa.array(numbers, pa.int64()),
        }
    )


def test_what_is_ahead_waits_at_the_inputs_and_tasks_change_in_the_middle(application: Application) -> None:
    plan = compile_pql(PQL.replace("{here}", str(application.folder)))
    (feed,) = join_config(plan, plan.joins[0], application.home, tasks=2).feeds
    looks: list[int] = []

    def waiting(now: RunFigures) -> bool:
        """Long enough for all inputs to be sliced: the first join could have gone on."""
        known = list_categories(application.home)
        sliced = [
            application.category(f"app.ab.{side}").num_rows if f"app.ab.{side}" in known else 0
            for side in ("left", "right")
        ]
        looks.append(unread_rows(application.home, feed))
        return sliced == [ROWS, ROWS // 2] and looks[-3:] == looks[-1:] * 3 and looks[-1] > STEP_ROWS

    def rescaled(now: RunFigures) -> bool:
        joins = [join.measure for join in measured(application.home, "app").joins]
        return [join.tasks for join in joins] == [3, 1] and "out" in list_categories(application.home)

    def script() -> Iterator[Callable[[RunFigures], bool]]:
        yield waiting
        assert max(looks) < ROWS / 2, "it piles up in the middle"
        for join, tasks in (("ab", "3"), ("abc", "1")):
            assert (
                run_command("scale", "app", "--home", application.home, "--tasks", tasks, "--join", join) == 0
            )
        write_files(rows(1).slice(1, ROWS // 2), application.folder / "c", FILES // 2, first=1)
        yield rescaled

    write_files(rows(1).slice(0, 1), application.folder / "c", 1)
    write_files(rows(1), application.folder / "a", FILES)
    write_files(rows(2), application.folder / "b", FILES)
    application.stream(PQL, script())
    write_files(rows(1).slice(1 + ROWS // 2), application.folder / "c", FILES // 2, first=1 + FILES // 2)
    application.run(PQL)
    found = application.category("out").select(["a", "b", "c"]).to_pylist()
    wanted = [{"a": n, "b": None if n % 2 else n, "c": n} for n in range(ROWS)]
    assert sorted(found, key=lambda row: row["a"]) == wanted
