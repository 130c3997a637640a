"""What rows pass on their way to a join's side: all of it counts as not sliced yet."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest

from commands import run_command
from dovetail.engine.hold import running
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.log.source_progress import SourceReport, WriterState, write_report
from dovetail.plan.application_file import application_path, encode
from dovetail.pql.compile import compile_pql
from dovetail.service.metrics import measured
from dovetail.service.prometheus import to_prometheus
from dovetail.service.topics import intakes_before


def test_a_table_of_a_lake_and_two_lookups() -> None:
    plan = compile_pql(
        """CREATE APPLICATION app;
        CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM DELTA("a");
        CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("b");
        CREATE LOOKUP TABLE u (k BIGINT, name STRING) FROM PARQUET("u");
        CREATE TABLE o AS SELECT x.name, y.name AS other FROM a JOIN TABLE u AS x ON a.k = x.k
            JOIN u AS y ON x.name = y.name
            JOIN b ON a.k = b.k AND b.t BETWEEN a.t AND a.t + INTERVAL '1 minute' STORAGE NOOP;"""
    )
    (join,) = plan.joins
    found = {
        stage.name: [one.name for one in intakes_before(plan, stage)]
        for stage in plan.slicers
        if stage.name.startswith(f"{join.name}.")
    }
    assert found == {
        f"{join.name}.left": ["o_joined_with_y", "o_joined_with_x", "a"],
        f"{join.name}.right": [],
    }


NO_JOIN = """CREATE APPLICATION app;
    CREATE INPUT TABLE views (t TIMESTAMP, k BIGINT)
        FROM KAFKA("page-views", brokers = "localhost:9092", format = "json");
    CREATE INPUT TABLE clicks (t TIMESTAMP, k BIGINT)
        FROM KAFKA("clicks", brokers = "localhost:9092", format = "json");
    CREATE INPUT TABLE orders (t TIMESTAMP, k BIGINT) FROM DELTA("lake/orders");
    CREATE TABLE counted AS SELECT window.start AS since, count(*) AS n FROM views
        GROUP BY window(t, '1 minute') STORAGE SCRIBE(category = "counted");
    CREATE TABLE copied AS SELECT * FROM clicks STORAGE SCRIBE(category = "copied");
    CREATE TABLE ordered AS SELECT * FROM orders STORAGE SCRIBE(category = "ordered");"""


@pytest.fixture
def home(tmp_path: Path) -> str:
    """An application without a join: one topic is aggregated, another copied, and so is a table of a lake
    that has not reported yet."""
    plan, home = compile_pql(NO_JOIN), str(tmp_path)
    now_us = time.time_ns() // 1000
    for window in plan.windows:
        Category.create(home, window.rows, pa.schema([("_time", pa.int64())]), buckets=1)

    def says(table: str, state: WriterState, rows: int | None, trouble: str | None = None) -> None:
        category = Category.create(home, f"app.{table}", pa.schema([("k", pa.int64())]), buckets=1)
        report = SourceReport(
            f"app.{table}", "app", state, 1, now_us, now_us, rows=rows, newest_us=None, trouble=trouble
        )
        write_report(category, report)

    says("views", "behind", 1200)
    says("clicks", "waiting", None, "waiting for brokers: connection refused")
    Category.create(home, "app.orders", pa.schema([("k", pa.int64())]), buckets=1)
    open_store(home).make_folder("apps/app")
    open_store(home).replace(application_path("app"), encode(plan))
    return home


def test_lag_and_trouble_are_shown_without_a_join(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = measured(home, "app")
    assert [(one.table, one.place, one.unsliced_rows) for one in found.intakes] == [
        ("views", "topic page-views", 1200),
        ("clicks", "topic clicks", None),
    ]
    assert [one["table"] for one in found.to_json()["intakes"]] == ["views", "clicks"]
    metrics = to_prometheus(found).decode()
    for line in (
        'dovetail_input_unsliced_rows{application="app",table="views"} 1200.0',
        'dovetail_input_unreachable{application="app",table="views"} 0.0',
        'dovetail_input_unreachable{application="app",table="clicks"} 1.0',
        'dovetail_input_source{application="app",state="behind",table="views"} 1.0',
    ):
        assert line in metrics
    assert run_command("status", "app", "--home", home) == 0
    said = capsys.readouterr().out
    assert "input views (topic page-views): being read, 1,200 rows not sliced yet" in said
    assert "input clicks (topic clicks): waiting for brokers: connection refused, since " in said
    assert "orders" not in said


def test_the_list_says_what_a_running_application_waits_for(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(home, "app"):
        assert run_command("status", "--home", home) == 0
    assert "  input clicks (topic clicks): waiting for brokers" in capsys.readouterr().out
    assert run_command("status", "--home", home) == 0
    assert "waiting" not in capsys.readouterr().out, "a stopped one waits for nothing"
