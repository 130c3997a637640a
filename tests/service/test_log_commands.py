"""`dovetail log`: what each command prints, for people and for programs, and how it fails."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from typer.testing import CliRunner

from dovetail.errors import CategoryMismatch, CategoryNotFound, DovetailError, InputError
from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.service.cli import log as log_commands
from dovetail.service.cli.log import app


class Shell:
    """Runs commands on one home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = str(folder / "home")

    def run(self, *words: str) -> Result:
        result = CliRunner().invoke(app, list(words), env={"DOVETAIL_HOME": self.home, "COLUMNS": "300"})
        if isinstance(result.exception, DovetailError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").stdout)

    def file(self, name: str, content: str) -> str:
        (self.folder / name).write_text(content)
        return str(self.folder / name)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    first = '{"id": 1, "eventtime": "2024-01-31T12:00:00Z", "tags": ["a", "ü"]}\nbad\n'
    second = '{"id": 2, "eventtime": "2024-01-31T13:00:00Z"}\n{"id": 3}\n'
    shell.run("append", "left", shell.file("a.json", first), shell.file("b.json", second))
    return shell


def test_append_counts_rows_commits_and_what_is_kept_aside(shell: Shell) -> None:
    path = shell.file("a.json", '{"id": 1}\nbad\n{"id": 2}\n')
    result = shell.run("append", "left", path)
    assert result.stdout == "left: 2 rows of 1 file in 1 commit\n"
    assert "set aside as unreadable: 1 row; the first: not JSON" in result.stderr
    expected = {"category": "left", "commits": [1, 2], "rows": 4, "rejected": 2}
    assert shell.json("append", "left", path, path) == expected


def test_append_takes_a_folder_and_options(shell: Shell) -> None:
    (shell.folder / "parts").mkdir()
    for number in range(3):
        table = pa.table(
            {
                "id": [number],
                "a": pa.array([number], pa.timestamp("us")),
                "b": pa.array([5], pa.timestamp("us")),
            }
        )
        pq.write_table(table, shell.folder / "parts" / f"part-{number}")
    folder = str(shell.folder / "parts")
    options = ["--format", "parquet", "--buckets", "2", "--time", "a"]
    assert shell.json("append", "left", folder, *options)["commits"] == [0, 1, 2]
    category = Category.open(shell.home, "left")
    assert (category.buckets, category.time_column) == (2, "a")
    assert category.commit(2).sketch.max_us == 2


def test_append_says_which_files_are_in_when_one_fails(shell: Shell) -> None:
    good = shell.file("a.csv", "id\n1\n")
    bad = shell.file("b.csv", "nr\n1\n")
    with pytest.raises(InputError, match="column id is missing") as caught:
        shell.run("append", "left", good, good, bad, good)
    assert caught.value.where == bad
    assert "the 2 files before it are in the log" in (caught.value.hint or "")
    assert Category.open(shell.home, "left").next_commit() == 2
    with pytest.raises(InputError, match="no such file"):
        shell.run("append", "left", good, "missing.csv")
    assert Category.open(shell.home, "left").next_commit() == 2


def test_ls_tells_what_is_there(filled: Shell) -> None:
    (fact,) = filled.json("ls")["categories"]
    assert fact.pop("bytes") > 0
    assert fact == {
        "name": "left",
        "rows": 3,
        "rejected": 1,
        "commits": 2,
        "compression": "auto",
        "compressed_from_bytes": 0,
        "compressed_to_bytes": 0,
        "ratio": None,
        "role": "input",
        "retention": {"age_us": None, "size_bytes": None, "default": True},
        "readers": [],
        "buckets": 1,
        "time_column": "eventtime",
        "first_event_time": "2024-01-31T12:00:00Z",
        "last_event_time": "2024-01-31T13:00:00Z",
        "generation": 0,
        "columns": {"id": "int64", "eventtime": "timestamp[us, tz=UTC]", "tags": "list<element: string>"},
    }
    table = filled.run("ls").stdout
    for text in ("left", "2024-01-31T12:00:00Z", "2024-01-31T13:00:00Z", "id int64", "tags list"):
        assert text in table


def test_a_category_whose_columns_have_changed(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are shown in the columns that it has now; also by one who was looking when they changed."""
    left = Category.open(filled.home, "left")
    changed = left.schema.remove(2).insert(1, pa.field("name", pa.string()))

    def change(seconds: float) -> None:
        if left.next_commit() == 3:
            raise KeyboardInterrupt
        left.evolve(changed)
        filled.run("append", "left", filled.file("c.json", '{"id": 4, "name": "four"}\n'))

    monkeypatch.setattr(log_commands, "sleep", change)
    followed = [json.loads(line) for line in filled.run("tail", "left").stdout.splitlines()]
    assert [sorted(row) for row in followed] == [["eventtime", "id", "tags"]] * 3 + [
        ["eventtime", "id", "name"]
    ]
    rows = [json.loads(line) for line in filled.run("cat", "left", "--format", "json").stdout.splitlines()]
    assert [list(row) for row in rows] == [["id", "name", "eventtime"]] * 4
    assert [row["name"] for row in rows] == [None, None, None, "four"]
    (fact,) = filled.json("ls")["categories"]
    assert (fact["generation"], list(fact["columns"])) == (1, ["id", "name", "eventtime"])


def test_ls_is_readable_at_80_columns(filled: Shell) -> None:
    result = CliRunner().invoke(app, ["ls"], env={"DOVETAIL_HOME": filled.home, "COLUMNS": "80"})
    name, counts, *rest = [line.rstrip() for line in result.stdout.splitlines()]
    assert name == "left"
    assert counts.startswith("  3 rows (1 rejected) in 2 commits, ")
    assert rest == [
        "  event times 2024-01-31T12:00:00Z to 2024-01-31T13:00:00Z",
        "  id int64, eventtime timestamp[us, tz=UTC], tags list<element: string>",
    ]


def test_the_ratio_of_a_compressed_category(shell: Shell) -> None:
    rows = "".join(f'{{"id": {n}, "text": "{"the same again and again " * 8}{n}"}}\n' for n in range(3000))
    path = shell.file("wide.json", rows)
    shell.run("append", "wide", path)
    shell.run("append", "plain", path, "--compression", "none")
    plain, wide = shell.json("ls")["categories"]
    assert (plain["compression"], plain["ratio"]) == ("none", None)
    assert wide["ratio"] == round(wide["compressed_from_bytes"] / wide["compressed_to_bytes"], 2)
    assert wide["ratio"] > 5
    assert wide["bytes"] < plain["bytes"] / 3
    assert f"compressed {wide['ratio']:.1f} to 1" in shell.run("ls").stdout
    for words in (("cat", "--limit", "5"), ("tail", "--no-follow")):
        wide_text, plain_text = (
            shell.run(words[0], name, *words[1:], "--format", "json").stdout for name in ("wide", "plain")
        )
        assert wide_text == plain_text
        assert "again" in wide_text


def test_a_categorys_compression_is_chosen_once(shell: Shell) -> None:
    path = shell.file("a.json", '{"id": 1}\n')
    shell.run("append", "a", path, "--compression", "zstd")
    shell.run("append", "a", path)
    with pytest.raises(CategoryMismatch, match="compression zstd, and keeps it"):
        shell.run("append", "a", path, "--compression", "none")
    with pytest.raises(InputError, match="'gzip'"):
        shell.run("append", "b", path, "--compression", "gzip")


def test_ls_of_nothing_says_how_to_begin(shell: Shell) -> None:
    assert "dovetail log append" in shell.run("ls").stdout
    assert shell.json("ls") == {"home": shell.home, "categories": []}


def test_the_home_is_an_option_or_the_environment(filled: Shell, tmp_path: Path) -> None:
    assert filled.json("ls", "--home", str(tmp_path / "other"))["categories"] == []
    assert filled.json("ls", "--home", f"file://{filled.home}")["categories"] != []


def test_cat_prints_rows(filled: Shell) -> None:
    rows = [json.loads(line) for line in filled.run("cat", "left", "--format", "json").stdout.splitlines()]
    assert rows == [
        {"id": 1, "eventtime": "2024-01-31T12:00:00Z", "tags": ["a", "ü"]},
        {"id": 2, "eventtime": "2024-01-31T13:00:00Z", "tags": None},
        {"id": 3, "eventtime": None, "tags": None},
    ]
    text = filled.run("cat", "left", "--format", "csv").stdout
    assert [*csv.reader(io.StringIO(text))][:2] == [
        ["id", "eventtime", "tags"],
        ["1", "2024-01-31T12:00:00Z", '["a", "ü"]'],
    ]
    assert "2024-01-31T13:00:00Z" in filled.run("cat", "left").stdout


def test_cat_prints_a_part(filled: Shell) -> None:
    def ids(*options: str) -> list[int]:
        output = filled.run("cat", "left", "--format", "json", *options).stdout
        return [json.loads(line)["id"] for line in output.splitlines()]

    assert ids("--limit", "2") == [1, 2]
    assert ids("--limit", "0") == []
    assert ids("--from", "1") == [2, 3]
    assert ids("--to", "1") == [1]
    assert ids("--from", "1", "--to", "1") == []
    with pytest.raises(InputError, match="past the end"):
        ids("--to", "3")


def test_a_table_is_short_unless_told(shell: Shell) -> None:
    shell.run("append", "left", shell.file("a.csv", "id\n" + "".join(f"{1000 + i}\n" for i in range(50))))
    assert "1019" in shell.run("cat", "left").stdout
    assert "1020" not in shell.run("cat", "left").stdout
    assert "1049" in shell.run("cat", "left", "--limit", "50").stdout


def test_cat_shows_values_of_every_kind(shell: Shell, tmp_path: Path) -> None:
    import datetime
    from decimal import Decimal

    table = pa.table(
        {
            "money": [Decimal("1.50")],
            "raw": [b"\xff"],
            "nan": [float("nan")],
            "day": [datetime.date(2024, 1, 31)],
            "clock": [datetime.time(12, 30)],
            "span": [datetime.timedelta(seconds=1.5)],
            "deep": [{"at": datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC)}],
            "[odd]": ["[red]text[/red]"],
        }
    )
    pq.write_table(table, tmp_path / "all.parquet")
    shell.run("append", "all", str(tmp_path / "all.parquet"))
    assert json.loads(shell.run("cat", "all", "--format", "json").stdout) == {
        "money": "1.50",
        "raw": "/w==",
        "nan": None,
        "day": "2024-01-31",
        "clock": "12:30:00",
        "span": 1.5,
        "deep": {"at": "2024-01-31T00:00:00Z"},
        "[odd]": "[red]text[/red]",
    }
    shown = shell.run("cat", "all").stdout
    assert "[red]text[/red]" in shown
    assert "[odd]" in shown


def test_tail_prints_the_last_rows(filled: Shell) -> None:
    output = filled.run("tail", "left", "--no-follow", "--limit", "2").stdout
    assert [json.loads(line)["id"] for line in output.splitlines()] == [2, 3]
    assert filled.run("tail", "left", "--no-follow", "--limit", "0").stdout == ""
    assert len(filled.run("tail", "left", "--no-follow").stdout.splitlines()) == 3


def test_tail_follows(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows appended while it waits come out; an interrupt ends it in good order.

    Only the command's own sleep is replaced: a thread of another library may sleep at any time.
    """
    naps = iter(range(3))

    def nap(seconds: float) -> None:
        number = next(naps, None)
        if number is None:
            raise KeyboardInterrupt
        path = filled.file("c.json", json.dumps({"id": 100 + number}) + "\n")
        append_file(filled.home, "left", find_files([path])[0])

    monkeypatch.setattr(log_commands, "sleep", nap)
    output = filled.run("tail", "left", "--limit", "1").stdout
    ids = [json.loads(line)["id"] for line in output.splitlines() if '"id"' in line]
    assert ids == [3, 100, 101, 102]


def test_trim_follows_the_readers(filled: Shell) -> None:
    assert "no limit of age or size" in filled.run("trim", "left").stdout
    category = Category.open(filled.home, "left")
    category.set_reader("app", 1)
    assert filled.json("trim", "left") == {
        "category": "left",
        "commits": 1,
        "orphans": 0,
        "first_commit": 1,
        "readers": {"app": 1},
    }
    assert filled.run("trim", "left").stdout == "left: 0 commits and 0 orphaned files deleted\n"
    output = filled.run("cat", "left", "--format", "json").stdout
    assert [json.loads(line)["id"] for line in output.splitlines()] == [2, 3]


def test_retain_shows_and_sets_the_limits(filled: Shell) -> None:
    assert filled.run("retain", "left").stdout == (
        "left: no limit of age or size (the default of a category with the role input)\n"
    )
    assert filled.run("retain", "left", "--age", "36 hours", "--size", "1.5 GiB").stdout == (
        "left: at most 1 day 12 hours old and at most 1.611 GB (set)\n"
    )
    assert filled.run("retain", "left", "--size", "none").stdout == (
        "left: at most 1 day 12 hours old (set)\n"
    )
    assert filled.json("retain", "left")["retention"] == {
        "age_us": 129_600_000_000,
        "size_bytes": None,
        "default": False,
    }
    assert "no limit" in filled.run("retain", "left", "--default").stdout
    for option, wrong in (("--age", "soon"), ("--age", "-1 day"), ("--size", "many"), ("--size", "-1GB")):
        with pytest.raises(InputError, match=option):
            filled.run("retain", "left", option, wrong)


def test_a_reader_whose_application_is_gone_is_named(filled: Shell) -> None:
    category = Category.open(filled.home, "left")
    folder = Path(filled.home) / "apps" / "shop"
    folder.mkdir(parents=True)
    category.set_reader("shop.view", 1, application="shop")
    assert "reader shop.view needs the rows from commit 1 on" in filled.run("retain", "left").stdout
    folder.rmdir()
    said = "reader shop.view no longer holds anything back: application shop is no longer in this home"
    assert said in " ".join(filled.run("ls").stdout.split())
    (fact,) = filled.json("ls")["categories"]
    assert fact["readers"] == [
        {"reader": "shop.view", "needs_commit": 1, "gone": "application shop is no longer in this home"}
    ]


@pytest.mark.parametrize("command", ["cat", "tail", "trim", "retain"])
def test_an_unknown_category_names_those_that_exist(filled: Shell, command: str) -> None:
    with pytest.raises(CategoryNotFound) as caught:
        filled.run(command, "lefft")
    assert "left" in (caught.value.expected or "")
