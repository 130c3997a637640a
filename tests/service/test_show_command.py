"""`dovetail show`: the newest result rows, from files and from categories."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import run_command
from dovetail.log.homes.filesystem import open_store
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.plan.application_file import application_path, encode
from dovetail.plan.physical import FileSink, NoopSink, OutsideSink, Plan, ScribeSink, Sink, SlicerStage
from dovetail.service.cli import main as cli


def application(folder: Path, **tables: Sink) -> str:
    stages = tuple(SlicerStage(name, (), (), "", sink) for name, sink in tables.items())
    home = str(folder / "home")
    store = open_store(home)
    store.make_folder("apps/app")
    store.replace(application_path("app"), encode(Plan("app", stages)))
    return home


def commit(folder: Path, batch: int, file: str) -> None:
    """Name a file as Spark's file sink does."""
    log = folder / "_spark_metadata"
    log.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"path": f"file://{folder}/{file}", "action": "add"})
    (log / str(batch)).write_text(f"v1\n{line}")


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert run_command("show", "app", "--format", "json", *arguments) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command("show", "app", *arguments) == cli.EXIT_ERROR
    return capsys.readouterr().err


def test_a_plan_of_the_last_release_is_read() -> None:
    """Its categories did not say how long they keep rows."""
    plan = Plan("app", (SlicerStage("rows", (), (), "", ScribeSink("rows")),))
    said = {**plan.to_json(), "version": 2}
    for name in ("keep_us", "keep_bytes"):
        del said["stages"][0]["output"][name]
    assert Plan.from_json(said) == plan


def test_the_newest_rows_of_committed_parquet_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    home = application(tmp_path, joined=FileSink("parquet", str(out)))
    out.mkdir()
    for batch in range(3):
        pq.write_table(pa.table({"n": [10 * batch, 10 * batch + 1]}), out / f"part-{batch}.parquet")
        if batch < 2:
            commit(out, batch, f"part-{batch}.parquet")
    assert show(capsys, "--home", home, "-n", "3") == [{"n": 1}, {"n": 10}, {"n": 11}]
    assert len(show(capsys, "--home", home)) == 4, "what is not committed does not count"
    assert show(capsys, "--home", home, "-n", "0") == []


def test_json_files_whose_rows_leave_nulls_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    home = application(tmp_path, joined=FileSink("json", str(out)))
    out.mkdir()
    (out / "a.json").write_text('{"n": 1}\n{"n": 2, "m": "x"}\n')
    commit(out, 0, "a.json")
    assert show(capsys, "--home", home)[-1] == {"n": 2, "m": "x"}


def test_csv_files_in_folders_by_value_and_rows_that_are_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    sink = FileSink("csv", str(out), ("day",), (("header", "true"),))
    home = application(tmp_path, joined=sink, lake=OutsideSink("DELTA", (("path", "lake"),)))
    for day in ("2024-02-29", "__HIVE_DEFAULT_PARTITION__"):
        (out / f"day={day}").mkdir(parents=True)
        (out / f"day={day}/a.csv").write_text("n,m\n1,x\n2,\n")
        commit(out, int(day < "A"), f"day={day}/a.csv")
    found = show(capsys, "--home", home, "--table", "joined")
    assert [row["n"] for row in found] == [1, 2, 1, 2]
    assert [row["day"] for row in found] == [None, None, "2024-02-29", "2024-02-29"]
    assert "are in Delta table lake" in refused(capsys, "--home", home, "--table", "lake")


def test_a_category_and_a_choice_of_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = application(tmp_path, joined=ScribeSink("rows"), nothing=NoopSink())
    assert show(capsys, "--home", home, "--table", "rows") == [], "nothing is written yet"
    file = tmp_path / "rows.csv"
    file.write_text("n\n1\n2\n3\n")
    append_file(home, "rows", find_files([str(file)])[0])
    for name in ("joined", "rows"):
        assert show(capsys, "--home", home, "--table", name, "-n", "2") == [{"n": 2}, {"n": 3}]
    assert "has several tables" in refused(capsys, "--home", home)
    assert "one of: joined, nothing" in refused(capsys, "--home", home, "--table", "other")
    assert "keeps no rows" in refused(capsys, "--home", home, "--table", "nothing")


def test_a_folder_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = application(tmp_path, joined=FileSink("parquet", "nowhere"))
    assert "from that directory" in refused(capsys, "--home", home)
