"""Law: JSON and CSV files that a thread of the run slices give the rows and the rejects that Spark's reader
gives: plain lines because they are read alike, all others because Spark reads them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dovetail.log.category import Category
from dovetail.slicing.text_lines import TextFormat
from dovetail.spark.arrow_types import arrow_schema
from dovetail.spark.inputs import CORRUPT
from spark.application import Application
from spark.batch import ON, database, differences, join_sql
from spark.events import events

TYPES = (
    "at TIMESTAMP, id BIGINT, n INT, s SMALLINT, b TINYINT, x DOUBLE, f FLOAT, note STRING, "
    "yes BOOLEAN, day DATE"
)
LINES = 3_000
PLAIN = 4
"""The first of each list are plain, and drawn most of the time."""
NUMBERS = [
    "0", "1", "-7", "127", "-0", "007", "+5", "128", "-129", "40000", "3000000000", "9223372036854775807",
    "9223372036854775808", "1.0", "1e3", "NaN", "Infinity", "1d", "0x1p3", " 5", "5 ",
]  # fmt: skip
REALS = [
    "0.1", "0.30000000000000004", "-1e3", "16777217", "-0.0", ".5", "5.", "1E-3", "1e400", "1e30", "5e-324",
    "123456789.123456789", *NUMBERS,
]  # fmt: skip
TIMES = [
    "2023-11-14T22:13:20Z", "2023-11-14 22:13:20", "2023-11-14T22:13:20.5",
    "2023-11-14T22:13:20.123456+05:30",
    "2023-11-14T22:13:20.1234567Z", "2023-11-14T22:13:20+0530", "2023-11-14", "2023-11-14T22:13",
    "1582-10-10T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29T00:00:00Z",
    "2023-02-29T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T22:13:60Z", "2023-1-4 1:2:3", "noon",
    "2023-11-14T22:13:20 UTC", "2023-11-14T22:13:20-14:59", "2023-11-14T22:13:20+18:00", "1699999999",
]  # fmt: skip
TEXTS = [
    "",
    "x",
    " x ",
    "größe",
    "a,b",
    "a;b",
    'say "hi"',
    "back\\slash",
    "tab\tbed",
    "😀",
    "null",
    "true",
    "'q'",
    "\u2028",
]
WORDS = ["true", "false", "true", "false", "null", "TRUE", "yes", "1", ""]


def json_value(chance: random.Random) -> str:
    kind = chance.randrange(8)
    if kind < 2:
        return chance.choice(NUMBERS)
    if kind < 4:
        return json.dumps(chance.choice(TIMES))
    if kind < 6:
        return json.dumps(chance.choice(TEXTS), ensure_ascii=chance.random() < 0.5)
    return chance.choice(
        [*WORDS, "{}", '{"a": [1, {"b": null}]}', "[]", "[1,]", '"\\ud83d"', "'x'", '"\\u00e9\\n"']
    )


FITTING = {
    "at": [json.dumps(time) for time in TIMES],
    "id": NUMBERS, "n": NUMBERS, "s": NUMBERS, "b": NUMBERS, "x": REALS, "f": REALS,
    "note": [json.dumps(text) for text in TEXTS],
    "yes": WORDS,
    "day": [json.dumps(time[:10]) for time in TIMES],
}  # fmt: skip


def some(choices: list[str], chance: random.Random) -> str:
    return chance.choice(choices[:PLAIN] if chance.random() < 0.9 else choices)


def json_line(chance: random.Random) -> str:
    names = [name for name in FITTING if chance.random() < 0.6]
    if chance.random() < 0.1:
        names += chance.choices([*FITTING, "other", "Id"], k=2)
    chance.shuffle(names)
    fields = []
    for name in names:
        fits = name in FITTING and chance.random() < 0.99
        value = some(FITTING[name], chance) if fits else json_value(chance)
        blank = chance.choice(["", "", " ", "\t"])
        fields.append(f'"{name}"{blank}:{blank}{value}')
    line = "{" + ", ".join(fields) + "}"
    return damaged(line, chance)


def csv_line(chance: random.Random) -> str:
    fields = []
    for name, choices in FITTING.items():
        value = some(choices, chance)
        plain = str(json.loads(value)) if value.startswith('"') else value
        if chance.random() < 0.3:
            plain = ""
        quoted = chance.random() < 0.1 or (name == "note" and chance.random() < 0.5)
        fields.append(f'"{plain}"' if quoted else plain)
    return damaged(",".join(fields), chance)


def damaged(line: str, chance: random.Random) -> str:
    """Mostly not."""
    if chance.random() < 0.95:
        return line
    at = chance.randrange(len(line) + 1)
    return (
        line[:at]
        + chance.choice(["", '"', "\\", ",", "}", "{", "\r", "\x00", " ", "é", "\n"])
        + line[at + 1 :]
    )


def as_rows(table: pa.Table) -> list[str]:
    """Times and dates as numbers: Python has fewer years. A reject may be no UTF-8. NaN equals itself as
    text."""
    numbers = {"at": pa.int64(), "day": pa.int32(), CORRUPT: pa.binary()}
    columns = [
        column.cast(numbers.get(name, column.type))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return sorted(map(repr, zip(*(column.to_pylist() for column in columns), strict=True)))


@pytest.mark.parametrize("form", ["json", "csv"])
def test_plain_lines_are_read_as_spark_reads_them(
    spark: SparkSession, form: Literal["json", "csv"], tmp_path: Path
) -> None:
    chance = random.Random(f"{form} 1")
    make = json_line if form == "json" else csv_line
    text = "".join(make(chance) + chance.choice(["\n", "\n", "\r\n"]) for _ in range(LINES)).encode()
    if form == "json":
        text += b'{"note":"\xff"}\n{"id":' + b"1" * 1500 + b"}\n"
    read = spark.read.schema(f"{TYPES}, {CORRUPT} STRING").format(form)

    def by_spark(name: str, lines: bytes) -> pa.Table:
        (tmp_path / name).write_bytes(lines)
        return read.load(str(tmp_path / name)).toArrow()

    everything = by_spark("all", text)
    columns = arrow_schema(read.load(str(tmp_path / "all")).drop(CORRUPT).schema)
    plain, doubtful = TextFormat(form, columns).rows(text, columns.names)
    assert LINES // 4 < plain.num_rows < LINES
    left = by_spark("left", doubtful)
    nothing_wrong = plain.append_column(CORRUPT, pa.nulls(plain.num_rows, pa.string()))
    assert as_rows(everything) == sorted(as_rows(nothing_wrong) + as_rows(left))
    assert left.column(CORRUPT).drop_null().length() > LINES // 50


PQL = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime TIMESTAMP, k BIGINT, id BIGINT, v BIGINT)
        FROM FILES("{here}/l", format = "json");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v BIGINT)
        FROM FILES("{here}/r", format = "csv");
    CREATE VIEW some AS SELECT eventtime, k, id, v + 1 AS w FROM r WHERE v >= 0;
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, r.w AS w FROM l JOIN some AS r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
    CREATE TABLE result AS SELECT * FROM pairs STORAGE SCRIBE(category = "out");
"""
ROWS = 1_500


def feed(folder: Path, part: int, tables: dict[str, pa.Table]) -> None:
    """Some lines only Spark can judge: times with a zone written otherwise, and one reject in each file."""
    for name, table in tables.items():
        rows = table.slice(part * ROWS // 3, ROWS // 3).to_pylist()
        for number, row in enumerate(rows):
            row["eventtime"] = row["eventtime"].isoformat()
            if number % 50 == 0:
                row["eventtime"] = row["eventtime"].replace("+00:00", "+0000")
        file = folder / name / f"{part}.txt"
        file.parent.mkdir(exist_ok=True)
        if name == "l":
            lines = [*map(json.dumps, rows), f'{{"id": {part}, "k": "none"}}']
        else:
            fields = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
            lines = ["eventtime,k,id,v", *fields, f"yesterday,{part},1,1"]
        file.write_text("\n".join(lines) + "\n")


def test_threads_and_queries_take_over_text_files(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {name: events(ROWS, 200, seed, nulls=0) for name, seed in (("l", 1), ("r", 2))}
    for part, slicing in enumerate(("spark", "auto", "spark")):
        feed(application.folder, part, tables)
        monkeypatch.setenv("DOVETAIL_SLICING", slicing)
        application.run(PQL, "drain" if part == 2 else "available-now")
    for side in ("app.pairs.left", "app.pairs.right"):
        found = Category.open(application.home, side)
        covers = [commit.covers is not None for commit in found.commits(0, found.next_commit())]
        assert covers == [False, True, False]
    db = database(**tables, found=application.category("out"))
    expected = join_sql("inner", "l.id, r.id, r.v + 1", ON)
    assert differences(db, "FROM found", expected) == {}
    for name in tables:
        rejects = application.category(f"app.rejects.{name}").to_pylist()
        files = [(application.folder / name / f"{part}.txt").as_uri() for part in range(3)]
        assert sorted(reject["file"] for reject in rejects) == files
        assert all(reject["raw"] and reject["read"] for reject in rejects)
