"""A program that appends: every batch once, from several writers at once, here and on S3."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dovetail
from dovetail.crash_points import VARIABLE
from dovetail.errors import CategoryMismatch, DovetailError, HomeError, InputError, StateError
from dovetail.log.category import Category
from dovetail.log.ingest.standard_input import piped_files
from dovetail.service.checkout import checkout_root
from dovetail_dev.s3_server import CREDENTIALS, s3_server

WRITER = """
import sys, dovetail
with dovetail.log.writer("c", home=sys.argv[1], producer="p") as log:
    for sequence in range(log.last + 1, 6):
        log.append({"n": [sequence] * 3}, sequence)
"""


def rows_of(home: str, name: str = "c") -> pa.Table:
    category = Category.open(home, name)
    commits = category.commits(category.first_commit(), category.next_commit())
    batches = [category.open_segment(info).batch for commit in commits for info in commit.segments]
    return pa.Table.from_batches(batches, category.schema)


def test_everything_that_is_a_table(tmp_path: Path) -> None:
    home, columns = str(tmp_path), {"k": [1, 2], "word": ["a", None]}
    given = [
        pa.table(columns),
        pa.table(columns).to_batches()[0],
        pa.table(columns).to_reader(),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        [{"k": 1, "word": "a"}, {"k": 2}],
        columns,
        {"k": pa.array([1, 2], pa.int8())},
    ]
    with dovetail.log.writer("c", home=home) as log:
        assert [log.append(rows) for rows in given] == list(range(8))
        assert log.append(pa.table(columns).slice(0, 0)) is None
        for wrong, says in (
            (17, "cannot be a int"),
            ([1, 2], "cannot be a list"),
            ({"k": [1], "z": []}, "not a table"),
        ):
            with pytest.raises(InputError, match=says):
                log.append(wrong)
        with pytest.raises(DovetailError, match="column other is not in the category"):
            log.append({"k": [1], "other": [1]})
    with pytest.raises(InputError, match="closed"):
        log.append(columns)
    assert rows_of(home).schema == pa.schema([("k", pa.int64()), ("word", pa.string())])
    assert rows_of(home).slice(0, 14).to_pylist() == pa.table(columns).to_pylist() * 7
    assert rows_of(home).slice(14)["word"].null_count == 2


def test_a_sequence_counts_once(tmp_path: Path) -> None:
    home = tmp_path
    with dovetail.log.writer("c", home=home, producer="p", buckets=4) as log:
        assert log.last == -1
        assert log.append({"n": [0]}, sequence=10) == 0
        assert log.append({"n": [0]}, sequence=10) is None
        assert log.append({"n": [1]}) == 1
        assert log.last == 11
    again = dovetail.log.writer("c", home=home, producer="p")
    assert again.last == 11
    assert again.append({"n": [1]}, sequence=11) is None
    other = dovetail.log.writer("c", home=home, producer="q")
    other.append({"n": [2]}, sequence=11)
    again.append({"n": [3]})
    assert sorted(rows_of(str(home))["n"].to_pylist()) == [0, 1, 2, 3]
    with pytest.raises(CategoryMismatch, match="4 buckets"):
        dovetail.log.writer("c", home=home, buckets=2).append({"n": [1]})


def test_two_writers_of_one_name_are_found_out(tmp_path: Path) -> None:
    one, two = (dovetail.log.writer("c", home=tmp_path, producer="p") for _ in range(2))
    one.append({"n": [1]})
    with pytest.raises(StateError, match="another writer has appended sequence 0 as p"):
        two.append({"n": [2]})
    assert rows_of(str(tmp_path))["n"].to_pylist() == [1]


def test_a_home_and_a_name_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HomeError, match="no home"):
        dovetail.log.writer("c")
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path))
    with pytest.raises(InputError, match="one producer appends"):
        dovetail.log.writer("c").append({"n": [1]}, sequence=3)


@pytest.mark.parametrize("crash", ["segment.named:2", "commit.begun:3", "commit.whole:3", "commit.named:3"])
def test_a_writer_that_is_killed_goes_on(tmp_path: Path, crash: str) -> None:
    for armed in (crash, None):
        environment = {**os.environ, **({VARIABLE: armed} if armed else {})}
        ran = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], env=environment, check=False)
        assert ran.returncode == (-signal.SIGKILL if armed else 0)
    assert rows_of(str(tmp_path))["n"].to_pylist() == [n for n in range(6) for _ in range(3)]


def append_many(home: str, writers: int, batches: int) -> None:
    """Several writers at once, each with a name."""
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with dovetail.log.writer("c", home=home, producer=f"p{number}") as log:
                for batch in range(batches):
                    log.append({"writer": [number] * 2, "batch": [batch] * 2})
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    found = rows_of(home)
    counts = Counter(zip(found["writer"].to_pylist(), found["batch"].to_pylist(), strict=True))
    assert counts == {(number, batch): 2 for number in range(writers) for batch in range(batches)}


def test_several_writers_at_once(tmp_path: Path) -> None:
    append_many(str(tmp_path), 4, 25)


def test_several_writers_at_once_on_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with s3_server(tmp_path) as server:
        append_many(server.home("home"), 3, 6)


def test_the_page_about_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (checkout_root() / "docs/how-to/append.md").read_text()
    for block in page.split("```python\n")[1:]:
        exec(block.split("```")[0], {"dovetail": dovetail})
    assert rows_of("home", "clicks")["ad_id"].to_pylist() == [7, 8, 9]
    assert rows_of("home", "orders")["order"].to_pylist() == ["tea", "milk", "honey"]


def test_standard_input(tmp_path: Path) -> None:
    """What is there when nothing more comes for a moment is appended: a pipe need not end."""
    script = "import sys; from dovetail.service.cli.main import main; main()"
    command = [sys.executable, "-c", script, "log", "append", "c", "-", "--home", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write('{"n": 1}\n{"n": 2}\n{"n":')
        process.stdin.flush()
        while not (tmp_path / "log/c/commits").is_dir() or not any((tmp_path / "log/c/commits").iterdir()):
            assert process.poll() is None
            threading.Event().wait(0.05)
        process.stdin.write(" 3}\nnonsense\n")
        said, _ = process.communicate()
    assert process.returncode == 0
    assert "c: 3 rows" in said
    assert rows_of(str(tmp_path))["n"].to_pylist() == [1, 2, 3]


def test_blocks_of_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.log.ingest.standard_input.MOST_BYTES", 8)
    monkeypatch.setattr("dovetail.log.ingest.standard_input.READ_BYTES", 4)
    (tmp_path / "lines").write_text("a,b\n1,2\n3,4\n5,6")
    with open(tmp_path / "lines") as file:
        found = [Path(one.path).read_text() for one in piped_files("csv", file.fileno())]
    assert all(one.startswith("a,b\n") for one in found)
    assert "".join(one.removeprefix("a,b\n") for one in found) == "1,2\n3,4\n5,6"
    assert len(found) > 1
    with pytest.raises(InputError, match="does not say its format"):
        next(piped_files("xml"))
