"""An application whose home is on Kafka, killed and started again, the second time on another host."""

from __future__ import annotations

import subprocess
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import run_command
from dovetail.log.category import Category
from dovetail.service.checkout import checkout_root
from dovetail.service.cli.run import run_application
from dovetail_dev.kafka_broker import Broker
from laws.effort import THOROUGH
from spark.application import Application, category_rows
from spark.batch import ON, database, differences, join_sql
from spark.command_line import command, environment, run
from spark.events import events, write_files

ROWS = 1500
PQL = """
    CREATE APPLICATION far;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("l", format = "parquet");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("r", format = "parquet");
    CREATE VIEW doubled AS SELECT eventtime, k, id, v, SHA2(CAST(v AS STRING), 256) AS wide FROM r;
    CREATE TABLE pairs AS SELECT l.id AS l, r.id AS r, r.v AS v, r.wide AS wide
        FROM l FULL JOIN doubled r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (max_delay = INTERVAL '1 day', max_step_rows = 400)
    STORAGE SCRIBE(category = "pairs");
"""


def start(folder: Path, host: str, home: str, mode: str, crash: str = "") -> subprocess.CompletedProcess[str]:
    """A host has temporary files and an index of its own."""
    (folder / host).mkdir(exist_ok=True)
    arguments = "run", "app.pql", mode, "--home", home, "--master", "local[2]", "--index-dir", host
    more = {"TMPDIR": str(folder / host)} | ({"DOVETAIL_CRASH": crash} if crash else {})
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment() | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_the_page_about_it_runs(
    application: Application,
    broker: Broker,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its commands one after the other; `run` with the Spark session that is there."""
    page = (checkout_root() / "docs/how-to/home-on-kafka.md").read_text()
    home = f"kafka://{broker.address}/page-{uuid.uuid4().hex[:8]}"
    commands = page.replace("kafka://broker1:9092,broker2:9092/dovetail", home).split("```bash\n")[2]
    monkeypatch.chdir(application.folder)
    Path("app.pql").write_text(page.split("```sql\n")[1].split("```")[0])
    minutes = [datetime(2026, 1, 31, 12, minute, tzinfo=UTC) for minute in (0, 0, 1, 1, 1, 2)]
    pq.write_table(pa.table({"eventtime": minutes, "user": [*"aabbba"]}), "clicks.parquet")
    said = {}
    for line in commands.split("```")[0].splitlines():
        _, *arguments = line.split()
        if arguments[0] == "run":
            assert arguments == ["run", "app.pql", "--drain", "--home", home]
            run_application(
                Path("app.pql"),
                home=home,
                master="local[2]",
                mode="drain",
                settings={},
                spark=application.spark,
            )
        else:
            assert run_command(*arguments) == 0
            said[arguments[0]] = capsys.readouterr().out
    assert "aggregate by_minute" in said["status"]
    assert "results 3" in said["status"]
    rows = category_rows(home, "by_minute").sort_by("since").select(["user", "clicks"]).to_pylist()
    assert rows == [{"user": user, "clicks": clicks} for user, clicks in (("a", 2), ("b", 3), ("a", 1))]
    assert "2026-01-31" in said["show"]


def test_a_run_that_is_killed_goes_on_elsewhere(broker: Broker, tmp_path: Path) -> None:
    home = f"kafka://{broker.address}/far-{uuid.uuid4().hex[:8]}"
    left, right = events(ROWS, 300, seed=1), events(ROWS, 300, seed=2)
    (tmp_path / "app.pql").write_text(PQL)
    half = ROWS // 2
    for name, rows in (("l", left), ("r", right)):
        write_files(rows.slice(0, half), tmp_path / name, 3)
    killed = start(tmp_path, "one", home, "--available-now", "sink.committed:4")
    assert killed.returncode == -9, killed.stdout + killed.stderr
    for name, rows in (("l", left), ("r", right)):
        write_files(rows.slice(half), tmp_path / name, 3, first=3)
    if THOROUGH:
        killed = start(tmp_path, "one", home, "--available-now", "sink.written:3")
        assert killed.returncode == -9, killed.stdout + killed.stderr
    done = start(tmp_path, "two", home, "--drain")
    assert done.returncode == 0, done.stdout + done.stderr
    assert found(home, left, right) == {}
    for arguments, said in (
        (("status", "far"), "pairs"),
        (("log", "ls"), "pairs"),
        (("versions", "far"), "1"),
        (("why", "far", "--row", "7"), "7"),
    ):
        looked = run(*arguments, "--home", home, folder=tmp_path)
        assert looked.returncode == 0, looked.stdout + looked.stderr
        assert said in looked.stdout


def found(home: str, left: pa.Table, right: pa.Table) -> object:
    """What DuckDB's join of the same rows and the category do not share."""
    category = Category.open(home, "pairs")
    commits = category.commits(0, category.next_commit())
    batches = [category.open_segment(info).batch for commit in commits for info in commit.segments]
    pairs = pa.Table.from_batches(batches).select(["l", "r", "v"])
    db = database(l=left, r=right, pairs=pairs)
    return differences(db, "FROM pairs", join_sql("full", "l.id, r.id, r.v", ON))
