"""A side that is sliced again from JSON or CSV files, against the same rows in Parquet files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import PreviewError
from dovetail.local.graph import Graph
from dovetail.plan.physical import Plan
from dovetail.preview.preview import Preview, preview
from dovetail.slicing import text_form
from previewing import SECOND, START_US, plan_of

SCHEMA = pa.schema(
    [
        ("t", pa.timestamp("us", "UTC")),
        ("k", pa.int64()),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("x", pa.float64()),
    ]
)
COLUMNS = "t TIMESTAMP, k BIGINT, id BIGINT, name STRING, x DOUBLE"
QUERY = """CREATE APPLICATION app;
{zone}CREATE INPUT TABLE a ({columns}) FROM FILES("{root}/a", format = {format});
CREATE INPUT TABLE b ({columns}) FROM FILES("{root}/b", format = {format});
CREATE VIEW v AS SELECT {select} FROM a {how} JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '{before} seconds' AND a.t + INTERVAL '5 seconds'{where}
  WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);
CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;
"""
PICKED = "a.id AS l, b.id AS r, a.name AS name"
ALIKE = {"select": PICKED, "how": "LEFT", "before": 5, "where": ""}
KEPT = {**ALIKE, "where": "\n  WHERE a.id <> 2"}
FORMS = ('"json"', '"csv"', '"csv", sep = ";"', '"csv", header = "false"')

Made = dict[str, Any]


class Home:
    """An application over files, whose contents may be put in another format."""

    def __init__(self, root: Path, steps: Sequence[Sequence[Sequence[Made]]], spec: Made) -> None:
        self.root, self.home, self.steps = root, str(root / "home"), steps
        self.names = SCHEMA.names
        graph = Graph(self.plan('"parquet"', spec), self.home, self.home)
        for number, both in enumerate(steps):
            for name, rows in zip("ab", both, strict=True):
                (root / name).mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), self.file(name, number))
            while [runner for runner in graph.runners.values() if runner.step()]:
                pass

    def file(self, name: str, number: int) -> Path:
        return self.root / name / f"{number:03}.data"

    def plan(self, format_: str, spec: Made, columns: str = COLUMNS, zone: str = "") -> Plan:
        return plan_of(QUERY.format(root=self.root, format=format_, columns=columns, zone=zone, **spec))

    def preview(self, format_: str, old: Made, new: Made, **how: str) -> Preview:
        return preview(self.home, self.plan(format_, old, **how), self.plan(format_, new, **how))

    def rewrite(self, format_: str) -> None:
        for number, both in enumerate(self.steps):
            for name, rows in zip("ab", both, strict=True):
                text = _json(rows) if "json" in format_ else _csv(rows, self.names, format_)
                self.file(name, number).write_text(text, encoding="utf-8")


def _shown(row: Made) -> Made:
    """Times with an offset, or without one, which is UTC."""
    moment = None if row["t"] is None else row["t"].isoformat()
    return {**row, "t": moment if moment is None or row["id"] % 2 else moment.replace("+00:00", "Z")}


def _json(rows: Sequence[Made]) -> str:
    lines = [
        {name: value for name, value in _shown(row).items() if value is not None or row["id"] % 3}
        for row in rows
    ]
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _csv(rows: Sequence[Made], names: Sequence[str], format_: str) -> str:
    text, header = io.StringIO(), "header" not in format_
    names = names if header else SCHEMA.names
    separator = ";" if ";" in format_ else ","
    file = csv.DictWriter(text, names, delimiter=separator, lineterminator="\n", restval="more")
    if header:
        file.writeheader()
    for row in rows:
        file.writerow(_shown(row))
    return text.getvalue()


def row(number: int, k: int | None, t: int | None, name: str | None = "p", x: float | None = 0.5) -> Made:
    moment = None if t is None else pa.scalar(START_US + t * SECOND, SCHEMA.field("t").type).as_py()
    return {"t": moment, "k": k, "id": number, "name": name, "x": x}


def plain(count: int = 6) -> list[list[list[Made]]]:
    """Every ten seconds a left row, and a right row four seconds before it."""
    return [[[row(n, n % 3, 10 * n)], [row(n, n % 3, 10 * n - 4)]] for n in range(count)]


_row = st.tuples(
    st.sampled_from([0, 1, 2, None]),
    st.sampled_from([*range(0, 60, 3), None]),
    st.sampled_from(["p", "a b", "é", None]),
    st.sampled_from([0.0, 0.1, -2.5, 1e6, None]),
)
_rows = st.lists(_row, max_size=3)
_spec = st.fixed_dictionaries(
    {
        "select": st.sampled_from(
            [PICKED, PICKED.replace("a.id", "a.id + 1"), PICKED.replace("a.name", "a.x * 2")]
        ),
        "how": st.sampled_from(["LEFT", "INNER", "FULL"]),
        "before": st.sampled_from([0, 5, 20]),
        "where": st.sampled_from(
            ["", "\n  WHERE a.x > 0", "\n  WHERE b.id <> 2", "\n  WHERE a.name = 'é' AND b.x < 1"]
        ),
    }
)


@settings(max_examples=15)
@given(
    steps=st.lists(st.tuples(_rows, _rows), min_size=1, max_size=4),
    old=_spec,
    new=_spec,
    format_=st.sampled_from(FORMS),
    names=st.permutations([*SCHEMA.names, "undeclared"]),
)
def test_random_pairs_of_versions(
    tmp_path_factory: pytest.TempPathFactory, steps: Any, old: Made, new: Made, format_: str, names: list[str]
) -> None:
    """Files without a row among them, and rows without a key or a time."""
    number = iter(range(1000))
    made = [[[row(next(number), *one) for one in side] for side in step] for step in steps]
    made = [plain(1)[0], *made]
    app = Home(tmp_path_factory.mktemp("texts"), made, old)
    app.names = names
    expected = app.preview('"parquet"', old, new)
    app.rewrite(format_)
    found = app.preview(format_, old, new)
    assert found.tables == expected.tables
    assert found.notes == expected.notes


@pytest.mark.parametrize("format_", FORMS)
def test_a_filter_of_a_side(tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in blocks, however large they are; an empty one has no rows."""
    left, right = ([rows for step in plain() for rows in step[side]] for side in range(2))
    app = Home(tmp_path, [[left[:3], right[:3]], [left[3:], right[3:]], [[], []]], ALIKE)
    app.rewrite(format_)
    app.file("a", 2).write_text("")
    monkeypatch.setattr(text_form, "BLOCK_BYTES", 40)
    (table,) = app.preview(format_, ALIKE, KEPT).tables
    assert (table.difference.equal, table.difference.lost) == (5, 1)
    assert table.difference.lost_samples == ({"l": 2, "r": 2, "name": "p"},)


def _append(line: str) -> Callable[[Path], None]:
    return lambda file: file.write_text(file.read_text() + line)


def _prepend(text: str) -> Callable[[Path], None]:
    return lambda file: file.write_text(text + file.read_text())


@pytest.mark.parametrize(
    ("format_", "spoil", "what", "said"),
    [
        ('"json"', _append('{"id": "seven"}\n'), "lines that only Spark can read", '{"id": "seven"}'),
        ('"json"', _append("nonsense\n"), "lines that only Spark can read", "nonsense"),
        ('"csv"', _append("one,two\n"), "lines that only Spark can read", "one,two"),
        ('"json"', _prepend("\ufeff"), "can only be read by Spark", "beside this one"),
        ('"csv"', _prepend("\ufeff"), "can only be read by Spark", "beside this one"),
        ('"csv"', _prepend("a,b\n"), "can only be read by Spark", "beside this one"),
        ('"json"', Path.unlink, "cannot be read again", "put the file back"),
    ],
)
def test_what_only_spark_can_read_is_refused(
    tmp_path: Path, format_: str, spoil: Callable[[Path], None], what: str, said: str
) -> None:
    app = Home(tmp_path, plain(), ALIKE)
    app.rewrite(format_)
    spoil(app.file("a", 3))
    with pytest.raises(PreviewError, match=what) as error:
        app.preview(format_, ALIKE, KEPT)
    assert error.value.where == str(app.file("a", 3))
    assert said in (error.value.hint or "")
    wider = {**ALIKE, "before": 20}
    assert app.preview(format_, ALIKE, wider).tables, "the side itself does not change"


@pytest.mark.parametrize(
    ("format_", "how", "what"),
    [
        ('"json", multiLine = "true"', {}, "JSON files with the options multiLine"),
        ('"csv", enforceSchema = "true"', {}, "CSV files with the options enforceSchema"),
        ('"csv", sep = "ab"', {}, "CSV files with the options sep"),
        ('"json"', {"columns": COLUMNS.replace("DOUBLE", "DECIMAL(9, 2)")}, "column x, which is DECIMAL"),
        ('"json"', {"zone": "SET TIME ZONE 'Europe/Berlin';\n"}, "times in time zone Europe/Berlin"),
    ],
)
def test_what_a_preview_does_not_follow_is_named(tmp_path: Path, format_: str, how: Any, what: str) -> None:
    app = Home(tmp_path, plain(), ALIKE)
    app.rewrite(format_)
    with pytest.raises(PreviewError, match=what) as error:
        app.preview(format_, ALIKE, KEPT, **how)
    assert "beside this one" in (error.value.hint or "")
