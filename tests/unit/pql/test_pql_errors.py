"""Every mistake has its place, what was expected and a way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail.errors import DovetailError, PqlError
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql
from dovetail.pql.parser import parse

JOIN = "CREATE VIEW v AS SELECT l.t AS t, l.k AS k FROM a l {how} JOIN b r ON {on}{more};"
WINDOW = "r.t BETWEEN l.t - INTERVAL 1 MINUTE AND l.t + INTERVAL 1 MINUTE"


def join(on: str, how: str = "", more: str = "") -> str:
    return JOIN.format(on=on, how=how, more=more)


def picking(pick: str, also: str = "", how: str = "") -> str:
    return join(f"l.k = r.k AND {also}{WINDOW}", how, f" WITH (match = 'one', pick = {pick})")


def test_an_error_is_underlined_where_it_is(figure_3: str) -> None:
    text = figure_3.replace("ABS(l.metric)", "ABS(l.metrics)")
    with pytest.raises(PqlError) as caught:
        compile_pql(text, name="fig3.pql")
    assert str(caught.value) == (
        "`left` has no column `metrics`\n"
        "  where:    fig3.pql:16:7\n"
        "      |   ABS(l.metrics) AS metric\n"
        "      |       ^^^^^^^^^\n"
        "  hint:     did you mean `metric`?"
    )


TEXTS = {
    "": "there is no CREATE APPLICATION",
    "-- nothing but a comment": "there is no CREATE APPLICATION",
    "CREATE APPLICATION a; CREATE APPLICATION b;": "2 applications",
    "CREATE APPLICATION a.b;": "not expected here",
    "CREATE APPLICATION `a b`;": "cannot be the application's name",
    "CREATE APPLICATION a; DROP TABLE x;": "`DROP` is not expected",
    "CREATE APPLICATION a; SELECT 1;": "`SELECT` is not expected",
    "CREATE APPLICATION a; CREATE VIEW v AS": "the query is missing",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT": "",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT x FROM": "",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT (x FROM t": "missing or out of place",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT x + FROM t": "expression is missing",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT 'x FROM t": "never closed",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT x FROM t /* y": "a comment opens here",
    "CREATE APPLICATION a; CREATE INPUT TABLE t a, b FROM SCRIBE('x');": "columns are in brackets",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a FOO) FROM SCRIBE('x');": "Spark has no type",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a, A) FROM SCRIBE('x');": "declared twice",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a) FROM KAFKA('x');": "KAFKA needs its brokers",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a) FROM SCRIBE(x);": "`x` is not expected",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a) FROM SCRIBE('../x');": "cannot name a category",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a) FROM FILES('x');": "needs a format",
    "CREATE APPLICATION a; CREATE INPUT TABLE t (a) FROM FILES('x', format = 'orc');": "unknown file format",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t;": "ends too early",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE HIVE;": "HIVE needs its table",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE PARQUET;": "needs its path",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE NOOP(path = 'x');": "takes no argument",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE SCRIBE(category = x);": "not text",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE SCRIBE(category='x',buckets=0)": "buck",
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE SCRIBE(category='x',compression='lz')": (
        "unknown compression `lz`"
    ),
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE SCRIBE(category='x',keep_bytes=0)": (
        "keep_bytes is out of range"
    ),
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t STORAGE SCRIBE(category='x',keep='7 days')": (
        "keep cannot be this time"
    ),
    "CREATE APPLICATION a; CREATE TABLE o AS SELECT x FROM t "
    "STORAGE SCRIBE(category='x',keep=INTERVAL 0 DAYS)": ("keep cannot be this time: it is nothing"),
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT x FROM t WITH (match = 'all');": "belongs to a join",
    "CREATE APPLICATION a; CREATE VIEW v AS SELECT x FROM t; CREATE VIEW V AS SELECT x FROM t": "twice",
}


@pytest.mark.parametrize(("text", "says"), TEXTS.items(), ids=range(len(TEXTS)))
def test_texts_that_do_not_parse(text: str, says: str) -> None:
    with pytest.raises(PqlError) as caught:
        parse(text, name="x.pql")
    assert says in str(caught.value)
    assert "where:    x.pql" in str(caught.value)


def two(second: str, *, first: str = "l.k = r.k", how: str = "") -> str:
    return f"CREATE VIEW v AS SELECT l.t FROM a l {how} JOIN b r ON {first} AND {WINDOW} {second};"


VIEWS = {
    "CREATE VIEW v AS SELECT z FROM a;": "there is no column `z`",
    "CREATE VIEW v AS SELECT a.z FROM a;": "`a` has no column `z`",
    "CREATE VIEW v AS SELECT q.t FROM a;": "there is no relation `q`",
    "CREATE VIEW v AS SELECT t FROM aa;": "there is no input table or view `aa`",
    "CREATE VIEW v AS SELECT t FROM o;": "`o` is a table",
    "CREATE VIEW v AS SELECT t FROM v;": "`v` reads itself",
    "CREATE VIEW v AS SELECT t FROM w; CREATE VIEW w AS SELECT t FROM v;": "`v` reads itself",
    "CREATE VIEW v AS SELECT t, T FROM a;": "two columns",
    "CREATE VIEW v AS SELECT t FROM a ORDER BY t;": "ORDER BY needs the end",
    "CREATE VIEW v AS SELECT DISTINCT t FROM a;": "DISTINCT needs the end",
    "CREATE VIEW v AS SELECT t FROM a LIMIT 3;": "LIMIT needs the end",
    "CREATE VIEW v AS SELECT t FROM a UNION SELECT t FROM b;": "UNION without ALL",
    "CREATE VIEW v AS SELECT sum(x) OVER (ORDER BY t) AS x FROM a;": "window functions",
    "CREATE VIEW v AS SELECT count(*) AS n FROM a;": "needs a time window",
    "CREATE VIEW v AS SELECT * FROM (SELECT t FROM a) AS q;": "cannot be expanded",
    "CREATE VIEW v AS SELECT q.t AS t FROM (SELECT tt AS t FROM a) AS q;": "there is no column `tt`",
    "CREATE VIEW v AS SELECT * EXCEPT (z) FROM a;": "EXCEPT names a column that does not exist",
    join("l.k = r.kk AND " + WINDOW): "`b` has no column `kk`",
    join("k = r.k AND " + WINDOW): "`k` is ambiguous: `l` and `r` both have it",
    join(WINDOW): "the join has no equality and no other condition",
    join("l.k = r.k"): "no time window",
    join("l.k = r.k AND l.x = r.y"): "declare their type, TIMESTAMP",
    join("l.k = r.k AND r.t >= l.t - INTERVAL 1 MINUTE"): "no upper bound",
    join("l.k = r.k AND r.t <= l.t + INTERVAL 1 MINUTE"): "no lower bound",
    join("l.k = r.k AND r.t BETWEEN l.t + INTERVAL 2 MINUTES AND l.t + INTERVAL 1 MINUTE"): "window is empty",
    join("l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL 1 MONTH"): "a month has no fixed length",
    join(
        "l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '1-2' YEAR TO MONTH"
    ): "not a number with one unit",
    join("l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL 1 FORTNIGHT"): "",
    join("l.k = r.y AND " + WINDOW): "the two sides of the key can never be equal: l.k is STRING, r.y is INT",
    join(
        "l.k = r.k AND r.y BETWEEN l.x - INTERVAL 1 MINUTE AND l.x + INTERVAL 1 MINUTE"
    ): "timestamp_seconds(l.x)",
    join("CAST(l.k AS MAP<INT, INT>) = CAST(r.k AS MAP<INT, INT>) AND " + WINDOW): "a MAP cannot be a key",
    join("l.k = r.k AND 1 = 2 AND " + WINDOW): "reads no column",
    join("l.k = r.k AND l.x > r.y WITHIN TUMBLING '1 minute'", "FULL"): "neither an equality nor the window",
    join("l.k = r.k AND " + WINDOW, "CROSS"): "CROSS JOIN is not available",
    join("l.k = r.k AND " + WINDOW, "NATURAL"): "NATURAL JOIN is not available",
    join("l.k = r.k AND " + WINDOW, more=" WITH (mach = 'all')"): "did you mean `match`?",
    join("l.k = r.k AND " + WINDOW, more=" WITH (pick = 'first')"): '`pick` together with match = "one"',
    join("l.k = r.k AND " + WINDOW, more=" WITH (pick = MAX(r.y))"): '`pick` together with match = "one"',
    picking("MAX(l.x)"): "`a.x` reads only the left side",
    picking("MIN(1)"): "reads no column",
    picking("MAX(r.y, 2)"): "greatest(..) and least(..)",
    picking("MAX(DISTINCT r.y)"): "one expression, such as MAX(r.price)",
    picking("MAX(*)"): "does not compare one value",
    picking("AVG(r.y)"): "MAX(..) | MIN(..) of an expression",
    picking("MAX(sum(r.y))"): "needs a time window",
    picking("MAX(r.why)"): "`b` has no column `why`",
    picking("MAX(CAST(r.y AS ARRAY<INT>))"): "is ARRAY<INT>, which `pick` cannot order",
    picking("MIN(levenshtein(l.k, r.k))"): "any function of Spark may be applied to one side only",
    picking("'max'"): "an expression: pick = MAX(r.price)",
    picking("'first'", "pick_by(r.y) AND "): "pick_by belongs to a pick by value",
    picking("MAX(r.y)", "pick_by(r.y) AND "): "pick_by is given twice",
    picking("MAX(r.y)", how="LEFT SEMI"): "a LEFT SEMI join returns no partners",
    picking("MAX(r.y)", how="LEFT ANTI"): "leave `match` and `pick` out",
    join("l.x < r.y", more=" WITH (window = ROWS 5, match = 'one', pick = MAX(r.y))"): (
        "waits until the window closes, but this join counts rows"
    ),
    join("l.k = r.k AND " + WINDOW, more=" WITH (max_delay = 5)"): "",
    join("l.k = r.k AND " + WINDOW, more=" WITH (max_delay = INTERVAL '-1 minute')"): "not negative",
    join("l.k = r.k AND " + WINDOW, more=" WITH (max_delay = INTERVAL '1 month')"): "no fixed length",
    join("l.k = r.k AND " + WINDOW, more=" WITH (tasks = 1, tasks = 2)"): "given twice",
    join("l.k = r.k AND " + WINDOW, more=" WITH ()"): "name of a join option",
    "CREATE VIEW v AS SELECT l.t FROM a l JOIN b r USING (k);": "no time window",
    "CREATE VIEW v AS SELECT a.t FROM a, b;": "no condition joins the two relations",
    "CREATE VIEW v AS SELECT l.t FROM a l JOIN a l ON l.k = l.k;": "both sides of the join are called",
    "CREATE VIEW v AS SELECT r.y FROM a l LEFT SEMI JOIN b r ON l.k = r.k AND "
    + WINDOW
    + ";": "no columns of `r`",
    "CREATE VIEW v AS SELECT l.t AS _time FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + ";": "the planner uses such names itself",
    "CREATE VIEW v AS SELECT l.t FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + " JOIN a z ON z.k = r.k;": "no time window",
    two("JOIN a r ON r.k = l.k"): "two relations of the query are called `r`",
    two("JOIN a z ON z.k = l.k AND z.t BETWEEN q.t AND q.t"): "there is no relation `q`",
    two("JOIN a z ON z.k = l.q"): "`a` has no column `q`",
    two("JOIN a z ON z.x > 'a' AND l.y = z.k", first="r.k = z.k"): "`z` is joined later",
    two("JOIN a z ON z.k = r.k AND z.t BETWEEN l.t AND l.t", first="l.k = r.y"): "l.k is STRING, r.y is INT",
    two("JOIN a z ON z.k = r.y AND z.t BETWEEN l.t AND l.t"): "r.y is INT, z.k is STRING",
    two("JOIN a z ON z.k = r.k AND z.t BETWEEN l.t AND l.t", how="SEMI"): "no columns of `r`",
    two("JOIN a z ON z.k = r.k AND z.t > r.t - INTERVAL 1 DAY"): "z.t <= r.t + INTERVAL",
    two("JOIN a z ON z.k = r.k WITHIN TUMBLING '1 day'", how="RIGHT"): "a row may be without `l` here",
    two("JOIN a z USING (k)"): "no time window",
    two("JOIN a z WITHIN TUMBLING '1 day'"): "",
    two("JOIN a z ON z.k = r.k AND z.t BETWEEN l.t AND l.t WITH (buckets = 1) WITH (tasks = 1)"): "two WITH",
    two("JOIN a z ON z.k = r.k AND z.t BETWEEN l.t AND l.t WITH (bukets = 1)"): "did you mean `buckets`?",
    two("JOIN a z ON z.k = r.k AND z.t BETWEEN l.t AND l.t WITH (window = ROWS 9)"): "without an equality",
    "CREATE VIEW v AS SELECT l.t FROM (SELECT t, k FROM a) AS l (t, k) JOIN b r ON l.k = r.k AND "
    + WINDOW
    + ";": "put each subquery into a view",
    "CREATE VIEW v AS SELECT l.t FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + " WHERE l.k IN (SELECT k FROM b);": "put each subquery into a view",
    "CREATE VIEW v AS SELECT l.t, count(*) AS n FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + " GROUP BY l.t;": "an aggregation over a stream needs a time window",
    "CREATE VIEW v AS SELECT sum(l.nothing) AS n FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + " GROUP BY window(l.t, '1 hour');": "`a` has no column `nothing`",
    "CREATE VIEW v AS SELECT count(*) AS n FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + " GROUP BY window(l.t, '1 month');": "length of the time window",
    "CREATE VIEW v AS SELECT count(*) AS n FROM a l JOIN b r ON l.k = r.k AND "
    + WINDOW
    + " WITH (early = INTERVAL '1 minute') GROUP BY window(l.t, '1 hour');": "allowed only in CREATE TABLE",
}


@pytest.mark.parametrize(("view", "says"), VIEWS.items(), ids=range(len(VIEWS)))
def test_views_that_mean_nothing(view: str, says: str, program: Callable[..., str]) -> None:
    with pytest.raises(DovetailError) as caught:
        compile_pql(program(view), name="x.pql")
    assert says in str(caught.value)
    assert "_with_" not in str(caught.value), "the name of a view that the planner made"
    assert "where:    x.pql:4:" in str(caught.value)
    assert "^" in str(caught.value)


TABLES = {
    "": "the application has no output",
    "CREATE TABLE o AS SELECT k, count(*) AS n FROM a GROUP BY k STORAGE NOOP;": "needs a time window",
    "CREATE TABLE o AS SELECT count(*) AS n FROM a STORAGE NOOP;": "GROUP BY window(eventtime, '1 hour')",
    "CREATE TABLE o AS SELECT sum(sum(x)) AS n FROM a GROUP BY window(t, '1 hour') STORAGE NOOP;": "inside",
    "CREATE TABLE o AS SELECT k FROM a WHERE sum(x)>1 GROUP BY window(t, '1 hour'), k STORAGE NOOP": "HAVING",
    "CREATE TABLE o AS SELECT 1 AS n FROM a GROUP BY window(x, '1 hour') STORAGE NOOP": "timestamp_seconds",
    "CREATE TABLE o AS SELECT l.t FROM a l JOIN b r ON l.k = r.k STORAGE NOOP;": "no time window",
    "CREATE TABLE o AS SELECT l.t FROM a l JOIN b r ON l.k = r.k GROUP BY l.t STORAGE NOOP": "time window",
    'CREATE TABLE o AS SELECT t FROM a STORAGE SCRIBE(category = "app.x");': "the application itself uses",
    'CREATE TABLE o AS SELECT t FROM a STORAGE SCRIBE(category = "x", shard = k);': "does not select",
}


@pytest.mark.parametrize(("table", "says"), TABLES.items(), ids=range(len(TABLES)))
def test_tables_that_mean_nothing(table: str, says: str, program: Callable[..., str]) -> None:
    with pytest.raises(DovetailError) as caught:
        compile_pql(program(table=table), name="x.pql")
    assert says in str(caught.value)


def test_check_finds_all_errors_and_no_echoes(program: Callable[..., str]) -> None:
    text = program(
        """CREATE VIEW v AS SELECT tt FROM a;
CREATE VIEW w AS SELECT t FROM v;
CREATE VIEW broken AS SELECT FROM;
CREATE VIEW over_broken AS SELECT nonsense FROM broken;
CREATE VIEW j AS SELECT l.t, l.xx, r.yy FROM a l JOIN b r ON l.k = r.k;
CREATE VIEW k AS SELECT l.t FROM a l JOIN b r ON l.k = r.k;""",
        "CREATE TABLE o AS SELECT * FROM w STORAGE ORC;",
    )
    report = check(text, name="x.pql")
    assert not report.ok
    assert [error.what for error in report.errors] == [
        "there is no column `tt`",
        "`FROM` is not expected here",
        "`a` has no column `xx`",
        "`b` has no column `yy`",
        "the join has no time window",
        "unknown storage `ORC`",
    ]
    assert not any("over_broken" in str(error) or "`w`" in str(error) for error in report.errors)
    assert report.to_json()["ok"] is False
    assert len(report.to_json()["errors"]) == 6


@pytest.mark.parametrize(
    ("options", "errors"),
    [
        (
            "mach = 'all', buckets = 0, tasks = 1, tasks = 2, max_delay = 5",
            ["unknown join option `mach`", "`buckets` cannot be 0", "given twice", "`max_delay` cannot be 5"],
        ),
        ("pick = 'first', slack = INTERVAL 1 MINUTE", ["`pick` has no effect", "`slack` has no effect"]),
        ("emit = 'lazy', order = 'task', buckets = 3", ["`emit` applies only", "`order` applies only"]),
    ],
)
def test_check_reports_every_bad_option(options: str, errors: list[str], program: Callable[..., str]) -> None:
    report = check(program(join("l.k = r.k AND " + WINDOW, more=f" WITH ({options})")))
    assert len(report.errors) == len(errors)
    for error, says in zip(report.errors, errors, strict=True):
        assert says in error.what
        assert error.where is not None
        assert "<string>:4:" in error.where


def test_check_says_nothing_new_of_a_program_without_outputs(program: Callable[..., str]) -> None:
    report = check(program("CREATE VIEW v AS SELECT tt FROM a;", ""))
    assert [error.what for error in report.errors] == [
        "the application has no output",
        "there is no column `tt`",
    ]


def test_options_that_do_not_go_together_with_the_join() -> None:
    text = """CREATE APPLICATION app;
        CREATE INPUT TABLE l (t, k) FROM SCRIBE("l"); CREATE INPUT TABLE r (t, k) FROM SCRIBE("r");
        CREATE VIEW v AS SELECT l.k FROM l FULL JOIN r
            ON l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '1 minute'
            WITH (match = "one", pick = "nearest", right_cap = 5);
        CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;"""
    with pytest.raises(DovetailError, match="right_cap has no meaning") as refused:
        compile_pql(text, name="app.pql")
    assert "app.pql:3" in str(refused.value)
