"""Law: a home on S3 is a home. An S3 API on loopback (moto) stands for the real one."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from dovetail.changes.takeover import take_over
from dovetail.changes.timeline import timeline
from dovetail.engine import hold, live_index
from dovetail.engine.copying import settle
from dovetail.engine.driver import JoinDriver
from dovetail.engine.hold import running
from dovetail.engine.queries import config_at
from dovetail.engine.step_log import StepLog
from dovetail.errors import HomeError, StateError
from dovetail.local.graph import Graph
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import Output, open_store
from dovetail.log.homes.lease import Terms
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import state_path
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from dovetail.pql.compile import compile_pql
from dovetail_dev.s3_server import BUCKET, S3, s3_server
from dovetail_dev.spark_cluster import SETTINGS, standalone_cluster
from laws.effort import in_full
from oracle import batch_join
from spark.application import committed_files
from spark.batch import ON, count, database, differences, join_sql
from spark.command_line import assert_no_trace, command, environment
from spark.events import START_US, events, write_files
from unit.changes.test_takeover import QUERY, WIDER, considered, started
from unit.engine.workload import config, joined, offsets, random_rows, write_commits


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env={**environment(), "DOVETAIL_HOME": f"s3://{BUCKET}/home"},
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )


def test_steps_of_a_join_over_a_home_on_s3(s3: S3, tmp_path: Path) -> None:
    """Half of them with the live index, half rebuilt from snapshots and log; tasks change in between."""
    spec, seed = IntervalSpec(120, 90, "full"), 7
    rng = random.Random(seed)
    left, right = random_rows(rng, 40, 60), random_rows(rng, 40, 60)
    home = s3.home("steps")
    for name, rows in (("left", left), ("right", right)):
        write_commits(home, name, rows, rng, 8)
    join = config(home, tmp_path / "index", spec, 8, 60)
    found: list[tuple[int | None, int | None]] = []
    for start, end in offsets(join, [2, 3]):
        if rng.random() < 0.5:
            shutil.rmtree(tmp_path / "index", ignore_errors=True)
            live_index.unmap_all()
        found += joined(join, start, end)
    assert Counter(found) == Counter(batch_join(left, right, 120, 90, "full")), f"seed {seed}"


CHAIN = """SELECT l.id AS l, r.id AS r, x.id AS x FROM l
    LEFT JOIN r ON r.k = l.k AND r.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '5 minutes'
    LEFT JOIN x ON x.k = l.k AND x.eventtime BETWEEN l.eventtime AND l.eventtime + INTERVAL '1 minute'"""


def test_a_live_chain_over_a_home_on_s3(s3: S3, tmp_path: Path) -> None:
    """Time passes from join to join through commits in the bucket."""
    tables = {name: events(300, 40, seed) for name, seed in (("l", 71), ("r", 72), ("x", 73))}
    text = "CREATE APPLICATION chain;"
    for name, table in tables.items():
        write_files(table, tmp_path / name, 3)
        columns = "eventtime TIMESTAMP, k BIGINT, id BIGINT"
        text += f'CREATE INPUT TABLE {name} ({columns}) FROM FILES("{tmp_path}/{name}", format = "parquet");'
    plan = compile_pql(f"{text} CREATE VIEW v AS {CHAIN}; CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;")
    graph = Graph(plan, str(tmp_path), s3.home("chain"), index=str(tmp_path / "index"))
    while [runner for runner in graph.runners.values() if runner.step()]:
        pass
    side = Category.open(s3.home("chain"), plan.joins[-1].left)
    promised = side.commit(side.next_commit() - 1).promised("_time")
    assert promised is not None
    assert promised > START_US
    graph.drain()
    settle()
    db = database(**tables, found=graph.tables()[plan.joins[-1].name])
    assert differences(db, "FROM found", CHAIN) == {}


def test_a_second_run_is_refused(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "LEASE", Terms(renew_s=0.2, expires_s=20.0, settle_s=0.2, look_s=0.1))
    home = s3.home("held")
    with running(home, "app") as check:
        check()
        with pytest.raises(StateError, match="running already"), running(home, "app"):
            pass
        with running(home, "another"):
            pass
    with running(home, "app"):
        pass


def test_an_error_shows_the_home_without_its_address(s3: S3) -> None:
    uri = s3.home("missing").replace("s3://", "s3://test:hidden@").replace(BUCKET, "no-such-bucket")
    store = open_store(uri)
    with pytest.raises(HomeError) as caught:
        store.replace("a", b"")
    assert "hidden" not in str(caught.value)
    assert caught.value.where == "s3://no-such-bucket/missing/a"


def test_a_file_that_could_not_be_written_to_its_end_is_not_there(s3: S3) -> None:
    store = open_store(s3.home("torn"))

    def fill(file: Output) -> None:
        file.write(b"the beginning")
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        store.write("file", fill)
    assert store.size("file") is None


ROWS, STEPS = 3000, 8
PQL = f"""
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("s3://{BUCKET}/l", format = "parquet", maxFilesPerTrigger = "1");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT)
        FROM FILES("s3://{BUCKET}/r", format = "parquet", maxFilesPerTrigger = "1");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
        WITH (max_step_rows = {2 * ROWS // STEPS});
    CREATE TABLE t AS SELECT * FROM pairs STORAGE PARQUET(path = "s3://{BUCKET}/out");
"""


@in_full
def test_an_application_on_a_cluster_with_everything_on_s3(s3: S3, tmp_path: Path) -> None:
    """Tasks run on whatever executor is free. In each step they find a group whose index is there."""
    filesystem, _ = fs.FileSystem.from_uri(s3.home("any"))
    (tmp_path / "app.pql").write_text(PQL)
    left, right = events(ROWS, 300, 71), events(ROWS, 300, 72)
    for name, rows in (("l", left), ("r", right)):
        for part in range(STEPS):
            some = rows.slice(part * ROWS // STEPS, ROWS // STEPS)
            pq.write_table(some, f"{BUCKET}/{name}/part-{part}.parquet", filesystem=filesystem)
    pq.write_table(left, tmp_path / "l.parquet")
    assert_done(run("log", "append", "by_hand", "l.parquet", folder=tmp_path))

    with standalone_cluster(tmp_path / "cluster") as cluster:
        where = ("--master", cluster.address, *SETTINGS)
        ran = run("run", "app.pql", "--drain", "--json", *where, folder=tmp_path)
    if ran.returncode and "Spark did not start" in ran.stdout and "unresolved dependency" in spark_log(ran):
        pytest.skip("the jars of Hadoop's S3 connector cannot be had here")
    assert_done(ran)
    (join,) = json.loads(ran.stdout)["joins"]
    assert (join["left_rows"], join["rebuilds"]) == (ROWS, 0)
    assert len(StepLog(f"s3://{BUCKET}/home", state_path("app", "pairs")).read()) >= STEPS

    db = database(l=left, r=right, found=[str(file) for file in fetched(filesystem, tmp_path / "out")])
    expected = join_sql("left", "l.id, r.id", ON)
    assert count(db, expected) > ROWS
    assert differences(db, "FROM found", expected) == {}

    listed = assert_done(run("log", "ls", folder=tmp_path))
    assert "by_hand" in listed
    assert "app.pairs.left" in listed
    assert "3,000" in assert_done(run("status", "app", folder=tmp_path))
    key = next(key for key in left.column("k").to_pylist() if key is not None)
    assert "matched" in assert_done(run("why", "app", "--key", str(key), folder=tmp_path))


def assert_done(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    assert_no_trace(done.stdout + done.stderr)
    return done.stdout


def spark_log(ran: subprocess.CompletedProcess[str]) -> str:
    return Path(json.loads(ran.stdout)["error"]["where"]).read_text(errors="replace")


def fetched(filesystem: fs.FileSystem, folder: Path) -> list[Path]:
    """The committed files of the output, brought here."""
    fs.copy_files(f"{BUCKET}/out", str(folder), source_filesystem=filesystem, use_threads=False)
    return [folder / Path(file).name for file in committed_files(folder)]


def test_a_join_is_changed_over_a_home_on_s3(s3: S3, tmp_path: Path) -> None:
    """The versions, what each query was, and the step of the change; with its index lost right before it."""
    home, rng = s3.home("changed"), random.Random(9)
    left, right = random_rows(rng, 40, 60), random_rows(rng, 40, 60)
    for name, rows in (("left", left), ("right", right)):
        write_commits(home, name, rows, rng, 8)
    join = config(home, tmp_path / "index", IntervalSpec(20, 90, "inner"), 8, 60)
    join = replace(join, settings=replace(join.settings, history_us=10**15, max_step_rows=20))
    driver, at, found = JoinDriver(join), JoinOffset(), []
    while True:
        if at.step == 3:
            shutil.rmtree(tmp_path / "index", ignore_errors=True)
            live_index.unmap_all()
            wider = IntervalJoin(IntervalSpec(120, 90, "inner"))
            driver = JoinDriver(replace(join, join_kind=wider, query=2))
        end = driver.plan(at, until=driver.there_now(), final=True, tasks=2)
        if end is at:
            break
        found += joined(driver.config, at, end)
        at = end
    settle()
    assert len(found) == len(set(found)), "no pair twice"
    assert set(batch_join(left, right, 20, 90, "inner")) <= set(found)
    assert set(found) <= set(batch_join(left, right, 120, 90, "inner"))
    assert config_at(driver.config, 1).join_kind == join.join_kind

    application = s3.home("versions")
    started(application)
    assert take_over(considered(application, WIDER), {"v": 7}) == 2
    assert [timeline(application, "app", "v").version_at(step, 0) for step in (7, 8)] == [1, 2]
    with pytest.raises(StateError, match="is at version 2, not at version 1"):
        considered(application, QUERY, parent=1)
