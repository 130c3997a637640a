"""Where tables go: what the text says, what is wrong with it, and that a secret stays one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.connectors import secret
from dovetail.connectors.extras import installing, need
from dovetail.connectors.kinds import STORAGES, open_sink
from dovetail.connectors.secret import Secret, blotted, has_password, reveal
from dovetail.connectors.sink import Writer
from dovetail.errors import ExtraMissing, SettingError
from dovetail.plan.physical import OutsideSink, Plan
from dovetail.plan.source import PqlText, Span
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
    'DELTA(path = "s3://bucket/x", merge_every = 100)',
    'PARQUET(path = "file:///tmp/x", merge_every = 100)',
    'KAFKA(topic = "t", brokers = "b:1", sasl_username = SECRET("me"), ssl_ca_pem = SECRET("ca"))',
    'KAFKA(topic = "t", brokers = "b:1", sasl_username = "me", sasl_oauthbearer_client_secret = SECRET("x"))',
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
    'POSTGRES(connection = "postgresql://me:hush@h/x", table = "t")': (
        'connection = SECRET("...")',
        '"postgresql://me:hush@h/x"',
    ),
    'JDBC(url = "jdbc:postgresql://h/x?user=me&password=a", table = "t")': (
        "url has a password in it",
        '"jdbc:postgresql://h/x?user=me&password=a"',
    ),
    'JDBC(password = "hush", url = "jdbc:postgresql://h/x", table = "t")': (
        "password is a secret and must not stand in the text",
        '"hush"',
    ),
    'ICEBERG(token = "hush", table = "a.b", uri = "http://h:81", catalog = "rest")': (
        "token is a secret and must not stand in the text",
        '"hush"',
    ),
    'POSTGRES(connection = "x", table = SECRET("t"))': ("table cannot be a secret", 'SECRET("t")'),
    'DUCKDB(path = "s3://bucket/x", table = "t")': ("this machine only", "DUCKDB"),
    'DELTA(path = "x", merge_every = 0)': ("merge_every is out of range", "0"),
    'PARQUET(path = "s3://bucket/x", merge_every = 9)': ("merges files on local disk only", "9"),
    'CSV(merge_every = 10, path = "s3://bucket/x")': ("merges files on local disk only", "10"),
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


def test_a_library_that_is_missing_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is run: the library is there in truth, so that it has nothing to do and asks no index."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ExtraMissing) as said:
        need("delta", "deltalake", by="STORAGE DELTA")
    assert "STORAGE DELTA needs a library that is not installed: deltalake" in str(said.value)
    command = str(said.value.hint).removeprefix("run: ")
    assert "\n" not in command
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert "already satisfied: deltalake" in ran.stdout


def test_every_extra_of_a_connector_has_its_libraries() -> None:
    for extra in ("delta", "iceberg", "hive", "postgres", "kafka", "duckdb"):
        assert "dovetail-joins[" not in installing(extra)
    assert installing("none").endswith("'dovetail-joins[none]'")


@pytest.mark.parametrize(
    ("address", "has"),
    [
        ("postgresql://me:hush@db:5432/shop", True),
        ("postgresql+psycopg2://me:hush@db/shop", True),
        ("host=db user=me password=hush", True),
        ("postgresql://db/shop?user=me&sslpassword=a", True),
        ("postgresql://me@db:5432/shop?sslmode=require", False),
        ("postgresql://db/shop?passfile=/run/secrets/pg", False),
        ("host=db dbname=passwords user=me", False),
        ("sqlite:///catalog.db", False),
        ("http://host:8181/a@b", False),
        ("thrift://host:9083", False),
    ],
)
def test_a_password_in_an_address_is_noticed(address: str, has: bool) -> None:
    assert has_password(address) == has


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('sasl_password = "hunter2", x = 1', 'sasl_password = "*******", x = 1'),
        ('sasl_oauthbearer_client_secret = "hush"', 'sasl_oauthbearer_client_secret = "****"'),
        ("ssl_key_pem='-----BEGIN', y", "ssl_key_pem='**********', y"),
        ('"https://me:hunter2@registry:8081"', '"https://me:*******@registry:8081"'),
        ('"postgresql://h/d?user=me&password=a)b"', '"postgresql://h/d?user=me&password=***"'),
        ('"host=h password=hunter2 dbname=d"', '"host=h password=******* dbname=d"'),
        ('password = SECRET("pg"), y = 1', 'password = SECRET("pg"), y = 1'),
        ("SELECT a.password = b.k FROM a", "SELECT a.password = b.k FROM a"),
    ],
)
def test_no_password_is_shown(line: str, shown: str) -> None:
    assert blotted(line) == shown
    assert PqlText("app.pql", f"a\n{line}").show(Span(2, 3)).splitlines()[1] == f"      | {shown}"


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
