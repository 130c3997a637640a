"""Law: through versions in a row, each with other changes, every row comes out once: by the old query before
the cut and by the new one after it. One application has an interval join, one without an equality, one in
windows and an aggregate; each is compared row for row with an oracle that knows the rules of change."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from change_oracle import ChangingJoin, ChangingTheta, ChangingWindows, Spec
from dovetail.changes import rules as change_rules
from dovetail.changes.versions import read_version, version_numbers
from dovetail.crash_points import VARIABLE
from dovetail.errors import CategoryMismatch, StateError
from dovetail.log.category import Category
from dovetail.plan.application_file import read_application
from laws.effort import THOROUGH
from replaying import Replayed
from spark.application import Application, category_rows
from spark.command_line import command, environment
from spark.events import events, write_files

MINUTE = 60_000_000
ROWS, PARTS = 1_440, 6
KEPT = "history = INTERVAL '1 day'"
ONE = (
    """
    CREATE APPLICATION every;
    CREATE FUNCTION same(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$ return x $$;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime TIMESTAMP, k BIGINT, id BIGINT, v INT)
        FROM FILES("{here}/r", format = "parquet");
    CREATE LOOKUP TABLE names (k BIGINT, name STRING, code BIGINT) FROM PARQUET("{here}/names.parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, l.eventtime AS t, COALESCE(r.v, 0) AS v FROM l
        LEFT JOIN r ON l.k = r.k AND r.eventtime
        BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes' WITH (KEPT);
    CREATE TABLE rows AS SELECT l, r, v FROM pairs STORAGE PARQUET(path = "{here}/out");
    CREATE TABLE sums AS SELECT window(t, '5 minutes').start AS start, COUNT(*) AS n, SUM(v) AS v
        FROM pairs GROUP BY window(t, '5 minutes') STORAGE SCRIBE(category = "sums");
    CREATE VIEW near AS SELECT l.id AS l, r.id AS r FROM l
        LEFT JOIN r ON l.v - r.v BETWEEN -10 AND 10 AND r.eventtime
        BETWEEN l.eventtime - INTERVAL '1 minute' AND l.eventtime + INTERVAL '2 minutes' WITH (KEPT);
    CREATE TABLE near_rows AS SELECT l, r FROM near STORAGE SCRIBE(category = "near_rows");
    CREATE VIEW windowed AS SELECT l.id AS l, r.id AS r FROM l
        JOIN r ON l.id % 97 = r.id % 97 WITHIN TUMBLING '5 minutes' WITH (emit = 'eager', KEPT);
    CREATE TABLE window_rows AS SELECT same(l) AS l, r FROM windowed STORAGE SCRIBE(category = "window_rows");
    CREATE VIEW named AS SELECT l.id AS l, n.name AS name FROM l LEFT JOIN TABLE names AS n ON l.k = n.k;
    CREATE TABLE named_rows AS SELECT l, name FROM named STORAGE SCRIBE(category = "named_rows");
"""
).replace("KEPT", KEPT)
LATER = "CREATE VIEW later AS SELECT eventtime + INTERVAL '20 seconds' AS eventtime, k, id, v FROM r"


def changed(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


# bounds; bounds, condition and the filter of a side; the type of a join in windows; an aggregate; a function;
# one more column that is looked up
TWO = changed(
    ONE,
    ("- INTERVAL '2 minutes'", "- INTERVAL '10 minutes'"),
    ("SUM(v)", "CAST(MAX(v) AS BIGINT)"),
    ("BETWEEN -10 AND 10", "BETWEEN -40 AND 25"),
    ("SELECT l, r FROM near", "SELECT l, r, l + 1 AS more FROM near"),
    ("+ INTERVAL '2 minutes' WITH", "+ INTERVAL '6 minutes' WHERE l.id % 7 <> 0 WITH"),
    ("JOIN r ON l.id", "LEFT JOIN r ON l.id"),
    ("emit = 'eager'", "emit = 'lazy'"),
    ("return x", "return x + 1000000"),
    ("n.name AS name FROM", "n.name AS name, n.code AS code FROM"),
    ("SELECT l, name FROM", "SELECT l, name, code FROM"),
)
# the type of a join, caps, stream time, tuning; an expression behind it; a narrower window that only lets
# pairs out; the type of a column, compression; another table to look up in, whose lookup is inner
THREE = changed(
    TWO,
    ("LEFT JOIN r ON l.k", "FULL JOIN r ON l.k"),
    ("WITH (history", "WITH (CAPS, max_delay = INTERVAL '90 seconds', max_step_rows = 400, history"),
    ("SELECT l, r, v FROM pairs", "SELECT l, r, v + 1 AS v FROM pairs"),
    ("LEFT JOIN r ON l.v", "JOIN r ON l.v"),
    ("+ INTERVAL '6 minutes'", "+ INTERVAL '1 minute'"),
    ("WHERE l.id % 7 <> 0 WITH (", "WHERE l.id % 7 <> 0 WITH (compression = 'zstd', "),
    ("v INT)", "v BIGINT)"),
    ("names.parquet", "other_names.parquet"),
    ("LEFT JOIN TABLE names", "JOIN TABLE names"),
    ("CAPS", "left_cap = 2, right_cap = 3"),
)
# one partner, and which; a column of a side; another place of a table; a lookup that is left again, and a
# table that begins with all that was looked up before
FOUR = (
    changed(
        THREE,
        ("FULL JOIN r ON l.k", "LEFT JOIN r ON l.k"),
        ("WITH (left_cap = 2, right_cap = 3, max_delay", "WITH (match = 'one', pick = 'nearest', max_delay"),
        ("l.eventtime AS t,", "l.eventtime AS t, l.v AS lv,"),
        ("SELECT l, r, v + 1 AS v FROM pairs", "SELECT l, r, v, lv FROM pairs"),
        ('path = "{here}/out"', 'path = "{here}/elsewhere"'),
        ("JOIN TABLE names", "LEFT JOIN TABLE names"),
    )
    + "CREATE TABLE more AS SELECT l FROM near STORAGE NOOP;"
    + 'CREATE TABLE all_named AS SELECT l, name, code FROM named STORAGE SCRIBE(category = "all_named");'
)
# as at first, but for the source of an input; a type does not become narrower again
FIVE = changed(ONE, ("{here}/l", "{here}/l5"), ("v INT)", "v BIGINT)"))
# keys and event time, the kind, keys and buckets: all joins begin afresh, one of which an aggregate reads
SIX = changed(
    FIVE,
    ("CREATE VIEW pairs", f"{LATER}; CREATE VIEW pairs"),
    ("LEFT JOIN r ON l.k = r.k", "LEFT JOIN later AS r ON l.v % 60 = r.k"),
    ("l.v - r.v BETWEEN -10 AND 10", "l.v % 50 = r.k"),
    ("l.id % 97 = r.id % 97", "l.id % 89 = r.id % 89"),
    ("emit = 'eager'", "emit = 'eager', buckets = 8"),
)
LEFT = Spec(2 * MINUTE, 3 * MINUTE, "left", "all", "first")
WIDER = LEFT._replace(before=10 * MINUTE)
FULL = WIDER._replace(how="full", left_cap=2, right_cap=3)
NEAREST = WIDER._replace(match="one", pick="nearest")
NEAR = Spec(MINUTE, 2 * MINUTE, "left", "all", "first")
WINDOW = ("tumbling", 5 * MINUTE)


def band(low: int, high: int) -> Any:
    return lambda one, other: one is not None and other is not None and low <= one - other <= high


def replayed(home: str) -> dict[str, Replayed]:
    pairs: dict[int, Any] = {
        version: lambda join, spec=spec: join.change(spec)
        for version, spec in ((2, WIDER), (3, FULL), (4, NEAREST), (5, LEFT))
    }
    near: dict[int, Any] = {
        2: lambda join: join.change(NEAR._replace(after=6 * MINUTE), band(-40, 25)),
        3: lambda join: join.change(NEAR._replace(after=MINUTE, how="inner"), band(-40, 25)),
        5: lambda join: join.change(NEAR, band(-10, 10)),
    }
    windowed: dict[int, Any] = {
        2: lambda join: join.change("left", False),
        5: lambda join: join.change("inner", True),
    }
    first: dict[str, Any] = {
        "pairs": lambda: ChangingJoin(LEFT),
        "near": lambda: ChangingTheta(NEAR, band(-10, 10)),
        "windowed": lambda: ChangingWindows(WINDOW, "inner", True),
    }
    afresh = {**first, "near": lambda: ChangingJoin(NEAR)}
    became = {"pairs": pairs, "near": near, "windowed": windowed}
    return {
        name: Replayed(home, "every", ("l", "_r_id"), made(), became[name], {6: afresh[name]()})
        for name, made in first.items()
    }


class Written:
    """What the tables of the application got since the last look."""

    def __init__(self, application: Application) -> None:
        self.application, self.files, self.commits = application, set[str](), dict[str, int]()

    def rows(self, folder: str) -> list[tuple[Any, ...]]:
        new = [file for file in self.application.files(folder) if file not in self.files]
        self.files.update(new)
        return [tuple(row.values()) for file in new for row in pq.ParquetFile(file).read().to_pylist()]

    def category(self, name: str) -> list[tuple[Any, ...]]:
        category = Category.open(self.application.home, name)
        start, stop = self.commits.get(name, 0), category.next_commit()
        self.commits[name] = stop
        return [
            tuple(row.values())
            for commit in (category.commits(start, stop) if start < stop else ())
            for info in commit.segments
            for row in category.open_segment(info).batch.to_pylist()
        ]


def killed_in(application: Application, text: str, point: str, begins: list[str]) -> None:
    """A run of the command that dies at this point of the change: at once, or the time that it says."""
    path = application.folder / "app.pql"
    path.write_text(text.replace("{here}", str(application.folder)))
    done = subprocess.run(
        command(
            "run",
            str(path),
            *("--home", application.home, "--available-now"),
            *(f"--from={one}" for one in begins),
        ),
        cwd=application.folder,
        env={**os.environ, **environment(), VARIABLE: point if ":" in point else f"{point}:1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]


POINTS = (
    ["application.named"] if not THOROUGH else ["version.named", "application.begun", "application.named"]
)


@pytest.mark.parametrize("point", POINTS)
def test_versions_in_a_row(application: Application, point: str) -> None:
    sides = {"l": events(ROWS, 60, seed=21), "r": events(ROWS, 60, seed=22)}
    expected, written = replayed(application.home), Written(application)
    sums: dict[Any, tuple[Any, ...]] = {}
    names, ever_named = looked_up_in(application.folder), list[tuple[Any, ...]]()
    for version, text in enumerate((ONE, TWO, THREE, FOUR, FIVE, SIX), 1):
        for name, table in sides.items():
            part = table.slice((version - 1) * ROWS // PARTS, ROWS // PARTS)
            folder = "l5" if name == "l" and version >= 5 else name
            write_files(part, application.folder / folder, 1, first=version - 1)
        if version == 2:
            for aggregate, error, said in (
                ("MAX(v)", StateError, "column v is INT, was BIGINT"),
                ("MAX(v) FILTER (WHERE v > 0)", CategoryMismatch, "column v cannot become int32"),
            ):  # the rules know the type of the first, and the run finds that of the second
                with pytest.raises(error, match=said):
                    application.run(text.replace("CAST(MAX(v) AS BIGINT)", aggregate), "available-now")
            assert version_numbers(application.home, "every") == [1], "before anything was done"
        begins = ["l=earliest"] if version == 5 else []
        if version == 3 or (THOROUGH and version > 1):  # every rule: `faults/test_every_rule_crash_points.py`
            killed_in(application, text, point, begins)
        application.run(text, "drain" if version == PARTS else "available-now", begins=begins)
        assert version_numbers(application.home, "every")[-1] >= version

        stages = {stage.name: stage for stage in read_application(application.home, "every").joins}
        rows = written.rows("elsewhere" if version == 4 else "out")
        found = Counter(row[:2] for row in rows)
        wanted = Counter(expected["pairs"].rows(version, stages["pairs"]))
        assert found == wanted, (version, found - wanted, wanted - found)
        assert rows
        check_values(version, rows, sides)
        for table, join in (("near_rows", "near"), ("window_rows", "windowed")):
            shift = 1_000_000 if table == "window_rows" and version in (2, 3, 4) else 0  # by its function
            found = Counter((row[0] - shift, row[1]) for row in written.category(table))
            wanted = Counter(row[:2] for row in expected[join].rows(version, stages[join]))
            assert found == wanted, (version, table, found - wanted, wanted - found)
        table = names["other_names" if version in (3, 4) else "names"]
        fed = {
            name: column.slice((version - 1) * ROWS // PARTS, ROWS // PARTS).to_pylist()
            for name, column in zip(("id", "k"), (sides["l"]["id"], sides["l"]["k"]), strict=True)
        }
        named = [
            (row, *table.get(k, (None, None)))
            for row, k in zip(fed["id"], fed["k"], strict=True)
            if version != 3 or k in table  # an inner lookup
        ]
        with_code = version in (2, 3, 4)
        wanted = Counter(row if with_code else row[:2] for row in named)
        assert Counter(written.category("named_rows")) == wanted, version
        ever_named += [(*row[:2], row[2] if with_code else None) for row in named]
        if version == 4:
            assert Counter(written.category("all_named")) == Counter(ever_named), "as each was looked up"
        for start, count, value in written.category("sums"):
            assert start not in sums, "each window once"
            sums[start] = version, count, value
    check_sums(application, sums)
    check_reader(application)
    versions = [
        read_version(application.home, "every", n) for n in version_numbers(application.home, "every")
    ]
    assert set(versions[-1].took_over) == {"pairs", "near", "windowed"}
    changes = [change for one in versions for change in one.changes]
    said = [change.what for change in changes]
    for what in (
        "left_cap",
        "right_cap",
        "compression",
        "column v of r is BIGINT",
        "number of buckets",
        "the event time",
        "the kind of join",
        "the key",
        "column code of names is looked up as well",
        "column code of names is no longer looked up",
        "left lookup, now inner lookup",
        "inner lookup, now left lookup",
    ):
        assert any(what in one for one in said), what
    # A rule without a case here is not seen in the middle of a stream. Another name or time zone is always
    # refused.
    rules = {path.stem for path in Path(next(iter(change_rules.__path__))).glob("*.py")}
    rules -= {"__init__", "application"}
    assert rules | {"afresh"} <= {change.rule for change in changes}


def looked_up_in(folder: Path) -> dict[str, dict[int, tuple[str, int]]]:
    """Two tables of names and codes, each for some of the keys."""
    tables = {"names": range(40), "other_names": range(20, 60)}
    made = {table: {k: (f"{table} {k}", k * 7) for k in keys} for table, keys in tables.items()}
    for table, found in made.items():
        names, codes = zip(*found.values(), strict=True)
        columns = {
            "k": pa.array(found.keys(), pa.int64()),
            "name": names,
            "code": pa.array(codes, pa.int64()),
        }
        pq.write_table(pa.table(columns), folder / f"{table}.parquet")
    return made


def check_reader(application: Application) -> None:
    """An application below reads a category that has had other columns for a while."""
    application.run(
        """CREATE APPLICATION below; CREATE INPUT TABLE n (l BIGINT, r BIGINT) FROM SCRIBE("near_rows");
        CREATE TABLE copy AS SELECT l, r FROM n STORAGE PARQUET(path = "{here}/below");"""
    )
    found = [pq.ParquetFile(file).read() for file in application.files("below")]
    rows = pa.concat_tables(found).to_pylist()
    near = category_rows(application.home, "near_rows").select(["l", "r"]).to_pylist()
    assert Counter(tuple(row.values()) for row in rows) == Counter(tuple(row.values()) for row in near)


def check_values(version: int, rows: list[tuple[Any, ...]], sides: dict[str, pa.Table]) -> None:
    """What is computed behind the join is that of the version; a column that came with it is null in rows
    that were there before."""
    values = sides["r"]["v"].to_pylist()
    plain = version != 3
    assert all(row[2] == (0 if row[1] is None else values[row[1]]) + (not plain) for row in rows)
    if version == 4:
        left, before = sides["l"]["v"].to_pylist(), 3 * ROWS // PARTS
        assert all(row[3] == (left[row[0]] if row[0] >= before else None) for row in rows)


def check_sums(application: Application, sums: dict[Any, tuple[Any, ...]]) -> None:
    """A window that was open at the change is aggregated by the new query."""
    joined = category_rows(application.home, "every.pairs")
    by_start: dict[int, list[int]] = {}
    for time, value in zip(joined["t"].cast(pa.int64()).to_pylist(), joined["v"].to_pylist(), strict=True):
        if time is not None:
            by_start.setdefault(time // (5 * MINUTE), []).append(value)
    assert len(sums) == len(by_start)
    for start, (version, count, value) in sums.items():
        found = by_start[int(start.timestamp() * 1_000_000) // (5 * MINUTE)]
        assert (count, value) == (len(found), (sum if version in (1, 5, 6) else max)(found)), (start, version)
    assert {version for version, _, _ in sums.values()} > {1, 2}
