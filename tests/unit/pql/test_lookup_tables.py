"""CREATE LOOKUP TABLE and JOIN TABLE: what is read, and what is said where it cannot be."""

from __future__ import annotations

import pytest

from dovetail.connectors.lookup_kinds import LOOKUPS
from dovetail.connectors.lookup_table import EVERY_TABLE
from dovetail.errors import DovetailError
from dovetail.plan.lookups import AS_OF
from dovetail.plan.physical import SlicerStage, TableSource
from dovetail.plan.statements import CreateInput
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql
from dovetail.pql.parser import parse
from dovetail.pql.render import render
from dovetail.service.checkout import checkout_root

STREAM = 'CREATE INPUT TABLE s (t TIMESTAMP, k BIGINT, x STRING) FROM SCRIBE("s");'
USERS = 'CREATE LOOKUP TABLE u (k BIGINT, name STRING) FROM DELTA("u");'
VERSIONED = 'CREATE LOOKUP TABLE u (k BIGINT, name STRING, since DATE) FROM PARQUET("u", valid_from = since);'


def text(query: str, table: str = USERS) -> str:
    return f"CREATE APPLICATION app;\n{STREAM}\n{table}\nCREATE TABLE o AS {query}\nSTORAGE NOOP;"


def lookup_of(query: str, table: str = USERS) -> SlicerStage:
    return next(stage for stage in compile_pql(text(query, table)).slicers if stage.lookup is not None)


@pytest.mark.parametrize(
    "table",
    [
        "u (k INT) FROM PARQUET(\"folder\", refresh = INTERVAL '5 seconds')",
        "u (k INT, a TIMESTAMP, b TIMESTAMP) FROM PARQUET(path = 'f', valid_from = a, valid_to = b)",
        'u (k INT) FROM POSTGRES(connection = SECRET("db"), table = "sales.users", max_bytes = 1000)',
        'u (k INT) FROM DUCKDB("file.db", table = "users")',
    ],
)
def test_a_declaration_is_shown_as_it_was_read(table: str) -> None:
    program = parse(f"CREATE APPLICATION app; CREATE LOOKUP TABLE {table};")
    declared = program.get("u")
    assert isinstance(declared, CreateInput)
    assert isinstance(declared.origin, TableSource)
    assert parse(render(program)) == program


@pytest.mark.parametrize(
    "clause",
    [
        "JOIN TABLE u FOR SYSTEM_TIME AS OF s.t AS v ON s.k = v.k",
        "JOIN u FOR SYSTEM_TIME AS OF s.t AS v ON s.k = v.k",
        "JOIN TABLE u FOR SYSTEM_TIME AS OF s.t v ON s.k = v.k",
        "INNER JOIN TABLE u FOR SYSTEM_TIME AS OF date_trunc('HOUR', s.t) AS v ON v.k = s.k",
    ],
)
def test_as_of_a_time_of_the_stream(clause: str) -> None:
    stage = lookup_of(f"SELECT s.x, v.name FROM s {clause}", VERSIONED)
    assert stage.lookup is not None
    assert stage.lookup.spec.as_of in ("t", "_as_of")
    assert stage.lookup.spec.valid_from == "since"
    assert [key.table for key in stage.lookup.spec.keys] == ["k"]


@pytest.mark.parametrize(
    "now", ["", " FOR SYSTEM_TIME AS OF current_timestamp()", " FOR SYSTEM_TIME AS OF PROCTIME()"]
)
def test_as_of_now(now: str) -> None:
    stage = lookup_of(f"SELECT s.x, u.name FROM s LEFT JOIN TABLE u{now} ON s.k = u.k")
    assert stage.lookup is not None
    assert stage.lookup.spec.as_of is None
    assert stage.lookup.spec.how == "left"


def test_a_table_can_be_looked_up_twice() -> None:
    plan = compile_pql(
        text(
            "SELECT s.x, a.name AS one, b.name AS two FROM s "
            "JOIN TABLE u AS a ON s.k = a.k JOIN u AS b ON s.x = b.name"
        )
    )
    assert [stage.lookup.spec.keys[0].table for stage in plan.slicers if stage.lookup] == ["k", "name"]


def test_check_says_what_is_looked_up() -> None:
    report = check(text("SELECT s.x, u.name FROM s JOIN TABLE u ON s.k = u.k"))
    assert report.summary is not None
    lines = "\n".join(report.summary.lines())
    assert "rows looked up in u" in lines
    assert "broadcast of at most 256.0 MiB" in lines
    assert "Delta table u" in lines


MISTAKES = {
    "SELECT x FROM u JOIN s ON u.k = s.k": "`u` is a lookup table, and no stream",
    "SELECT name FROM u": "`u` is a lookup table, and no stream",
    "SELECT s.x FROM s FULL JOIN TABLE u ON s.k = u.k": "a FULL JOIN with lookup table `u` is not available",
    "SELECT s.x FROM s LEFT SEMI JOIN u ON s.k = u.k": "a LEFT SEMI JOIN with lookup table `u`",
    "SELECT s.x FROM s JOIN u ON s.k > u.k": "no column of lookup table `u` is equal to anything",
    "SELECT s.x FROM s JOIN u ON s.k = u.k WITH (max_delay = INTERVAL '1 second')": "takes no option",
    "SELECT s.x FROM s LEFT JOIN u ON s.k = u.k AND u.name > 'a'": "is not a condition that a LEFT",
    "SELECT s.x FROM s LEFT JOIN u ON s.k = u.k AND s.x > u.name": "condition that a LEFT lookup may have",
    "SELECT s.x FROM s JOIN u ON s.x = u.k": "the two sides of the key can never be equal",
    "SELECT s.x FROM s JOIN TABLE u FOR SYSTEM_TIME AS OF s.t ON s.k = u.k": "`u` has no versions",
    "SELECT s.x FROM s JOIN TABLE u FOR SYSTEM_TIME ON s.k = u.k": "FOR SYSTEM_TIME does not say as of when",
    "SELECT s.x FROM s FOR SYSTEM_TIME AS OF s.t JOIN u ON s.k = u.k": "FOR SYSTEM_TIME belongs to a joined",
    f"SELECT {AS_OF}(s.t) AS x FROM s": f"{AS_OF} stands in the ON of a lookup join only",
    "SELECT s.x AS _r_x, u.name FROM s JOIN u ON s.k = u.k": "the planner needs the name `_r_x` for itself",
}


@pytest.mark.parametrize(("query", "words"), MISTAKES.items())
def test_a_mistake_is_named(query: str, words: str) -> None:
    report = check(text(query))
    assert not report.ok
    assert any(words in error.what for error in report.errors), [error.what for error in report.errors]
    assert all(error.where and ":" in error.where for error in report.errors)


def test_a_versioned_table_needs_a_time_of_the_stream() -> None:
    for query, words in (
        ("SELECT s.x FROM s JOIN u ON s.k = u.k", "the join does not say as of when"),
        (
            "SELECT s.x FROM s JOIN u FOR SYSTEM_TIME AS OF u.since ON s.k = u.k",
            "is not a time of the stream",
        ),
        ("SELECT s.x FROM s JOIN u FOR SYSTEM_TIME AS OF s.k ON s.k = u.k", "s.k is BIGINT"),
    ):
        found = [error.what for error in check(text(query, VERSIONED)).errors]
        assert any(words in what for what in found), found


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('u (k INT) FROM HIVE("u")', "unknown lookup table `HIVE`"),
        ('u (k INT) FROM ICEBERG("u.u")', "ICEBERG needs its uri"),
        ('u (k INT) FROM ICEBERG("u", uri = "sqlite:///c.db")', "`u` names no namespace"),
        ('u (k INT) FROM POSTGRES(table = "u")', "POSTGRES needs its connection"),
        ('u (k) FROM DELTA("u")', "column `k` of a lookup table has no type"),
        ('u (k ARRAY<INT>) FROM DELTA("u")', "column `k` of a lookup table is ARRAY<INT>"),
        ('u (k INT) FROM DELTA("u", valid_from = since)', "valid_from names since"),
        ('u (k INT) FROM DELTA("u", valid_from = k)', "valid_from names k, which is INT"),
        ('u (k INT, t DATE) FROM DELTA("u", valid_to = t)', "valid_to says when a version ends"),
        ('u (k INT) FROM DELTA("u", refresh = 5)', "refresh cannot be this time"),
        ('u FROM DELTA("u")', "`FROM` is not expected here"),
        ('u (k INT) FROM DELTA("u", partition = "x")', "DELTA takes no argument `partition`"),
    ],
)
def test_a_declaration_that_cannot_be_read(table: str, words: str) -> None:
    with pytest.raises(DovetailError) as refused:
        parse(f"CREATE APPLICATION app; CREATE LOOKUP TABLE {table};")
    assert words in str(refused.value)


def test_the_reference_has_every_option() -> None:
    page = (checkout_root() / "docs/reference/pql.md").read_text()
    for table, kind in LOOKUPS.items():
        for option in kind.options:
            first = "any" if option in EVERY_TABLE else f"`FROM {table}`"
            (row,) = [line for line in page.splitlines() if line.startswith(f"| {first} | `{option.name}` |")]
            assert row.endswith(f"| {option.sentence} |")
            assert ("required" in row) == option.required


def test_the_page_about_lookups_compiles() -> None:
    page = (checkout_root() / "docs/how-to/look-up-tables.md").read_text()
    report = check(page.split("```sql\n")[1].split("```")[0])
    assert report.ok, report.errors
    assert report.plan is not None
    assert [stage.lookup.table for stage in report.plan.slicers if stage.lookup] == [
        "users",
        "prices",
        "shops",
        "cities",
    ]
