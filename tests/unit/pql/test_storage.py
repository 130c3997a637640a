"""Where tables go: what the text says, what is wrong with it, and that a secret stays one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.connectors import secret
from dovetail.connectors.extras import need
from dovetail.connectors.kinds import STORAGES, open_sink
from dovetail.connectors.secret import Secret, reveal
from dovetail.connectors.sink import Writer
from dovetail.errors import ExtraMissing, SettingError
from dovetail.plan.physical import OutsideSink, Plan
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql
from dovetail.pql.parser import parse
from dovetail.pql.render import render
from dovetail.service.checkout import checkout_root

TEXT = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, day DATE) FROM SCRIBE("a");
CREATE TABLE o AS SELECT t, k, day FROM a
STORAGE %s;"""
GIVEN = (
    'POSTGRES(connection = SECRET("PG"), table = "s.t", key = (k, "day"), newest = t)',
    'POSTGRES(connection = "postgresql://localhost/x", table = "t")',
    'DUCKDB(path = "/tmp/x.db", table = "t", key = K)',
    'DELTA(path = "/tmp/x", merge_every = 100) PARTITIONED BY (day)',
    'iceberg(table = "s.t", uri = "sqlite:///x.db", catalog = "rest") partitioned by (day, k)',
    'HIVE(table = "web.pairs", uri = "thrift://a:1,thrift://b", path = "/tmp/x") PARTITIONED BY (day)',
    'PARQUET(path = "/tmp/x") PARTITIONED BY (day)',
    'CSV(path = "/tmp/x", header = false)',
)
WRONG = {
    'POSTGRES(table = "t")': ("needs its connection", "POSTGRES"),
    'POSTGRES(connection = "x", table = "t", keys = k)': ("did you mean `key`?", "keys"),
    'POSTGRES(connection = "x", table = "t", key = (k,))': ("does not name columns", "(k,)"),
    'POSTGRES(connection = "x", table = "t", key = (k, K))': ("names a column twice", "(k, K)"),
    'POSTGRES(connection = "x", table = "t", key = kk)': ("does not select, `kk`", "kk"),
    'POSTGRES(connection = "x", table = "t", newest = t)': ("there is no key", "POSTGRES"),
    'POSTGRES(connection = SECRET(x), table = "t")': ('SECRET("name")', "SECRET(x)"),
    'POSTGRES(connection = SECRET("../x"), table = "t")': ("does not name a secret", 'SECRET("../x")'),
    'POSTGRES(connection = "x", table = SECRET("t"))': ("table cannot be a secret", 'SECRET("t")'),
    'DUCKDB(path = "s3://bucket/x", table = "t")': ("this machine only", "DUCKDB"),
    'DELTA(path = "x", merge_every = 0)': ("merge_every is out of range", "0"),
    'DELTA(path = "x") PARTITIONED BY (nothing)': ("does not select, `nothing`", "(nothing)"),
    'DELTA(path = "x", partitioned_by = day)': ("takes no argument", "partitioned_by"),
    'ICEBERG(table = "t", uri = "x")': ("names no namespace", "ICEBERG"),
    'ICEBERG(table = "s.t", uri = "x", catalog = "hiwe")': ("did you mean `hive`?", '"hiwe"'),
    'HIVE(table = "pairs", uri = "thrift://a")': ("names no table of Hive", "HIVE"),
    'HIVE(table = "web.pairs", uri = "http://a")': ("names no metastore", "HIVE"),
    'CSV(path = "x", header = "yes")': ("neither true nor false", '"yes"'),
    "NOOP PARTITIONED BY (day)": ("NOOP has no partitions", "PARTITIONED BY"),
}
"""What is said of a storage, and what is underlined."""


@pytest.mark.parametrize("storage", GIVEN)
def test_read_rendered_planned_and_kept(storage: str) -> None:
    program = parse(TEXT % storage)
    assert parse(render(program)) == program
    plan = compile_pql(TEXT % storage)
    assert Plan.from_json(plan.to_json()) == plan


def test_columns_are_written_as_the_table_has_them() -> None:
    output = compile_pql(TEXT % GIVEN[2]).stages[-1].output
    assert output == OutsideSink("DUCKDB", (("path", "/tmp/x.db"), ("table", "t"), ("key", ("k",))))
    assert output.place == "table t in DuckDB's /tmp/x.db"


@pytest.mark.parametrize("storage", WRONG)
def test_what_is_wrong_is_found_with_its_place(storage: str) -> None:
    (error,) = check(TEXT % storage, name="x.pql").errors
    says, underlined = WRONG[storage]
    assert says in str(error)
    column = f"STORAGE {storage}".index(underlined) + 1
    assert f"x.pql:4:{column}\n" in str(error)
    assert f"| {' ' * (column - 1)}{'^' * len(underlined)}\n" in f"{error}\n"


def test_every_option_says_what_it_takes() -> None:
    for options in STORAGES.values():
        for option in options:
            assert option.expected
            assert option.sentence.endswith(".")


def test_a_secret_is_found_and_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(secret.FOLDER, str(tmp_path))
    with pytest.raises(SettingError, match=r'SECRET\("PG"\) is not set'):
        Secret("PG").reveal()
    (tmp_path / "PG").write_text("from a file\n")
    assert Secret("PG").reveal() == "from a file"
    monkeypatch.setenv("PG", "hush hush")
    given = reveal([("connection", Secret("PG")), ("table", "t")])
    assert given.values["connection"] == "hush hush"
    assert given.hide("cannot reach hush hush") == "cannot reach ***"
    sink = open_sink("POSTGRES", [("connection", Secret("PG")), ("table", "t")], Writer("app", "t", "x"))
    assert "hush" not in f"{given} {sink} {compile_pql(TEXT % GIVEN[0]).to_json()}"


def test_a_library_that_is_missing_says_what_to_run() -> None:
    with pytest.raises(ExtraMissing) as said:
        need("delta", "no_such_library", by="STORAGE DELTA")
    assert "STORAGE DELTA needs a library that is not installed: no_such_library" in str(said.value)
    assert 'pip install "dovetail-joins[delta]"' in str(said.value)


def test_the_reference_has_every_option() -> None:
    page = (checkout_root() / "docs/reference/pql.md").read_text()
    for storage, options in STORAGES.items():
        for option in options:
            if option.sentence.endswith("of the client."):
                continue  # the page about Kafka has them
            name = "PARTITIONED BY (..)" if option.name == "partitioned_by" else option.name
            (row,) = [line for line in page.splitlines() if line.startswith(f"| `{storage}` | `{name}` |")]
            assert row.endswith(f"| {option.sentence} |")
            assert ("required" in row) == option.required
