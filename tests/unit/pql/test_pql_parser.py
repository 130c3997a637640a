"""Text -> program: the four statements, names that are keywords, the comma that the paper's print lacks."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dovetail.errors import PqlError
from dovetail.plan.physical import FilesSource, ScribeSource
from dovetail.plan.statements import CreateInput, CreateTable, CreateView
from dovetail.pql.parser import parse


def test_figure_3_in_both_readings(figure_3: str, figure_3_as_printed: str) -> None:
    meant, printed = parse(figure_3), parse(figure_3_as_printed, name="fig3.pql")
    assert printed == meant
    assert meant.warnings == ()
    assert printed.warnings == (
        "fig3.pql:14:45: a comma is missing after `AS dim_two`; the query is read as if it were there",
    )
    assert [type(s) for s in meant] == [CreateInput, CreateInput, CreateView, CreateTable]
    assert meant.application == "sample_app"


@pytest.mark.parametrize(
    ("item", "warned"),
    [
        ("a AS x b AS y", True),
        ("a AS x (b) AS y", True),
        ("a AS x CASE WHEN b THEN 1 END AS y", True),
        ("a AS x 'text' AS y", True),
        ("a AS x -- a comment\n, b AS y", False),
        ("CAST(a AS INT) AS x, b AS y", False),
        ("struct(a AS p, b AS q) AS x, b AS y", False),
        ("a AS x, b y", False),
    ],
)
def test_a_missing_comma_is_read_and_told(item: str, warned: bool) -> None:
    program = parse(f"CREATE APPLICATION app; CREATE VIEW v AS SELECT {item} FROM t;")
    view = program.get("v")
    assert isinstance(view, CreateView)
    assert [column.output_name for column in view.query.selects] == ["x", "y"]
    assert bool(program.warnings) is warned


def test_no_comma_is_added_where_the_alias_is_not_complete() -> None:
    with pytest.raises(PqlError):
        parse("CREATE APPLICATION app; CREATE VIEW v AS SELECT a b c FROM t;")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT l.k FROM left AS l LEFT OUTER JOIN right AS r ON l.k = r.k",
        "SELECT left.k FROM left LEFT JOIN right ON left.k = right.k",
        "select LEFT.k from Left right join Right on Left.k = Right.k",
        "SELECT l.k FROM left l RIGHT JOIN right r ON left(l.k, 3) = right(r.k, 3)",
        "SELECT l.k FROM `left` AS l FULL JOIN `right` AS r ON l.k = r.k",
        "SELECT l.k FROM left l LEFT SEMI JOIN right r ON l.k = r.k",
    ],
)
def test_left_and_right_are_names_and_keywords(query: str) -> None:
    program = parse(
        f"""CREATE APPLICATION app;
        CREATE INPUT TABLE left (k) FROM SCRIBE("l"); CREATE INPUT TABLE right (k) FROM SCRIBE("r");
        CREATE VIEW v AS {query};"""
    )
    view = program.get("v")
    assert isinstance(view, CreateView)
    names = [table.name.lower() for table in view.query.find_all(exp.Table)]
    assert sorted(names) == ["left", "right"]
    assert len(view.query.args["joins"]) == 1


def test_keywords_comments_and_case() -> None:
    program = parse(
        """-- the application
        create application App; /* an input ; with a semicolon */
        Create Input Table T (
          Time timestamp, `odd name` STRUCT<a: INT, b: ARRAY<STRING>>, d DECIMAL(10,2), order)
          from files ('/x', Format = "JSON", multiLine = true, maxFiles = 3);
        create table out as select storage as storage from T storage console ;"""
    )
    table = program.get("t")
    assert isinstance(table, CreateInput)
    assert [(c.name, c.type) for c in table.columns] == [
        ("Time", "TIMESTAMP"),
        ("odd name", "STRUCT<a: INT, b: ARRAY<STRING>>"),
        ("d", "DECIMAL(10, 2)"),
        ("order", None),
    ]
    assert table.origin == FilesSource("/x", "json", (("multiLine", "true"), ("maxFiles", "3")))
    out = program.get("out")
    assert isinstance(out, CreateTable)
    assert out.storage.kind == "CONSOLE"
    assert out.query.selects[0].output_name == "storage"


@pytest.mark.parametrize("storage", ["NOOP", "NOOP()", "CONSOLE", "console ( )"])
def test_brackets_of_storage_may_be_left_out(storage: str) -> None:
    program = parse(f"CREATE APPLICATION app; CREATE TABLE o AS SELECT a FROM t STORAGE {storage};")
    out = program.get("o")
    assert isinstance(out, CreateTable)
    assert out.storage.kind == storage.partition("(")[0].strip().upper()


def test_scribe_storage_says_how_long_rows_stay() -> None:
    program = parse(
        "CREATE APPLICATION app; CREATE TABLE o AS SELECT a FROM t "
        "STORAGE SCRIBE (category = 'z', keep = INTERVAL '1 day 12 hours', keep_bytes = 10000000000);"
    )
    out = program.get("o")
    assert isinstance(out, CreateTable)
    assert (out.storage.get("keep"), out.storage.get("keep_bytes")) == (36 * 3_600_000_000, 10**10)


def test_scribe_storage_with_shard_and_buckets() -> None:
    program = parse(
        'CREATE APPLICATION app; CREATE INPUT TABLE t (a) FROM SCRIBE("x.y");'
        'CREATE TABLE o AS SELECT a FROM t STORAGE SCRIBE (category = "z", shard = concat(a,"b"), buckets=8)'
    )
    out = program.get("o")
    assert isinstance(out, CreateTable)
    assert (out.storage.category, out.storage.get("buckets")) == ("z", 8)
    assert out.storage.shard is not None
    assert out.storage.shard.sql(dialect="spark").lower() == "concat(`a`, 'b')"
    table = program.get("t")
    assert isinstance(table, CreateInput)
    assert table.origin == ScribeSource("x.y")


def test_options_follow_on_and_come_before_where() -> None:
    text = """CREATE APPLICATION app;
    CREATE VIEW v AS SELECT l.k FROM a l JOIN b r ON l.k = r.k
      WITH (Match = "ONE", pick = "nearest", max_delay = INTERVAL '1 hour 30 minutes', buckets = 8)
      WHERE l.k > 3;"""
    view = parse(text).get("v")
    assert isinstance(view, CreateView)
    assert {option.name: option.value for option in view.options} == {
        "match": "one",
        "pick": "nearest",
        "max_delay": 5_400_000_000,
        "buckets": 8,
    }
    assert view.query.args["where"] is not None


def test_a_common_table_expression_is_not_an_option() -> None:
    view = parse("CREATE APPLICATION app; CREATE VIEW v AS WITH q AS (SELECT a FROM t) SELECT a FROM q;").get(
        "v"
    )
    assert isinstance(view, CreateView)
    assert view.options == ()


FUNCTIONS = [
    "timestamp_seconds(a)",
    "window(a, '1 hour', '5 minutes')",
    "percentile_approx(a, 0.5)",
    "transform(a, x -> x + 1)",
    "aggregate(a, 0, (acc, x) -> acc + x)",
    "date_add(a, 3)",
    "some_udf(a, 'b')",
    "nvl(a, b)",
    "mod(a, b)",
    "to_timestamp(a, 'yyyy-MM-dd')",
    "from_json(a, 'x INT')",
    "try_divide(a, b)",
    "session_window(a, '5 minutes')",
]


@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions_come_out_as_they_went_in(call: str) -> None:
    from dovetail.plan.dialect import pql_sql

    view = parse(f"CREATE APPLICATION app; CREATE VIEW v AS SELECT {call} AS y FROM t;").get("v")
    assert isinstance(view, CreateView)
    assert pql_sql(view.query.selects[0].unalias()) == call
