"""What `dovetail why` says of an application's rows is what the application wrote."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from commands import run_command
from dovetail.log.category import Category
from dovetail.service.checkout import checkout_root
from spark.application import Application
from spark.batch import database
from spark.events import events, write_files
from spark.pairs import pairs

ROWS, KEYS, ASKED = 3000, 300, 25
PQL = pairs(
    "LEFT",
    "max_delay = INTERVAL '10 seconds', confirmed_by = 1, max_step_rows = 600, "
    "history = INTERVAL '0 seconds'",
    select="l.k AS k, l.id AS l, r.id AS r",
    left_files=1,
    right_files=1,
)


def late(table: pa.Table, seed: int) -> pa.Table:
    """A tenth of the rows comes much later than its time."""
    rng = np.random.default_rng(seed)
    arrival = np.arange(len(table)) + np.where(
        rng.random(len(table)) < 0.1, rng.integers(0, ROWS // 4, ROWS), 0
    )
    return table.take(pa.array(np.argsort(arrival, kind="stable")))


def asked(application: Application, key: int, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    shown = printed(capsys, "why", "app", "--key", str(key), "--home", application.home, "--json")
    said: dict[str, Any] = json.loads(shown)
    return said


def test_what_is_said_is_what_was_written(
    application: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = {name: late(events(ROWS, KEYS, seed), seed) for name, seed in (("l", 81), ("r", 82))}
    for name, table in tables.items():
        write_files(table.slice(0, 100), application.folder / name, 1)
    application.run(PQL, "available-now")
    categories = [Category.open(application.home, f"app.pairs.{side}") for side in ("left", "right")]
    for category in categories:
        category.set_reader("test", 0)  # the whole log stays, for now
    for name, table in tables.items():
        write_files(table.slice(100), application.folder / name, 8, first=1)
    application.run(PQL, "drain")
    written: dict[int, set[int | None]] = defaultdict(set)
    db = database(found=application.files("out"))
    for id_, partner in db.execute("SELECT l, r FROM found").fetchall():
        written[id_].add(partner)
    reasons = set()
    for key in range(ASKED):
        said = asked(application, key, capsys)
        assert said["rows"]
        for row in said["rows"]:
            assert row["doubts"] == []
            assert fate_of(row) == written[row["left"]["values"]["l"]]
            reasons.add(row["miss"]["reason"] if row["miss"] else row["status"])
    assert reasons >= {"matched", "outside_window", "right_late", "left_late"}

    for category in categories:
        category.drop_reader("test")
        assert category.retain() > 0
    doubted = 0
    for key in range(ASKED):
        for row in asked(application, key, capsys)["rows"]:
            doubted += bool(row["doubts"])
            assert row["doubts"] or fate_of(row) == written[row["left"]["values"]["l"]]
    assert doubted


def fate_of(row: dict[str, Any]) -> set[int | None]:
    """The partners that the application must have written for a row; None: it came out alone."""
    assert row["status"] in ("matched", "unmatched")
    return {match["right"]["values"]["id"] for match in row["matches"]} or {None}


def test_the_page_shows_what_is_printed(application: Application, capsys: pytest.CaptureFixture[str]) -> None:
    """But for the time at which the step was planned, and for row numbers, which Spark's tasks deal out."""
    examples = checkout_root() / "examples"
    for name in ("clicks", "impressions"):
        printed(capsys, "log", "append", name, str(examples / f"{name}.jsonl"), "--home", application.home)
    application.run((examples / "first.pql").read_text().replace('"clicked"', '"{here}/clicked"'))
    page = (checkout_root() / "docs/how-to/explain-a-row.md").read_text()
    for key in ("2", "3"):
        shown = printed(capsys, "why", "clicks", "--key", key, "--home", application.home)
        assert timeless(shown) in timeless(page)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run_command(*arguments) == 0
    return capsys.readouterr().out


def timeless(text: str) -> str:
    return re.sub(r"left row \d+", "left row", re.sub(r"planned [\d-]+ [\d:]+", "planned", text))
