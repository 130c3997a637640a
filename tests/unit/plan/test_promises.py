"""Which columns a stage can promise something about, and from which times."""

from __future__ import annotations

import pytest

from dovetail.model.offset import NEVER
from dovetail.model.window_offset import WindowOffset
from dovetail.plan.physical import CategoryOutput, Plan, ScribeSink, WindowStage
from dovetail.plan.stage_promises import after_windows
from dovetail.pql.compile import compile_pql

MINUTE = 60_000_000
APP = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, n BIGINT) FROM {l};
    CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, n BIGINT) FROM SCRIBE("r");
    CREATE INPUT TABLE x (t TIMESTAMP, k BIGINT, n BIGINT) FROM SCRIBE("x");
    CREATE VIEW pairs AS SELECT {items} FROM l {how} JOIN r ON l.k = r.k
        AND r.t BETWEEN l.t - INTERVAL '2 minutes' AND l.t + INTERVAL '3 minutes';
    CREATE TABLE out AS SELECT * FROM pairs STORAGE SCRIBE(category = "out");
    {more}
"""

Promises = dict[str, dict[str, int]]


def promises(items: str, how: str = "LEFT", more: str = "", left: str = 'SCRIBE("l")') -> dict[str, Promises]:
    """By category: its promised columns, each with its origins and shifts in minutes."""
    plan = compile_pql(APP.format(items=items, how=how, more=more, l=left))
    return {
        output.category: {
            column.name: {term.origin: term.shift_us // MINUTE for term in column.terms}
            for column in output.promises
        }
        for output in outputs(plan)
    }


def outputs(plan: Plan) -> list[CategoryOutput | ScribeSink]:
    return [stage.output for stage in plan.stages if isinstance(stage.output, CategoryOutput | ScribeSink)]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("l.t", {"left": 0}),
        ("r.t", {"right": 0}),
        ("l.t + INTERVAL '5 minutes'", {"left": 5}),
        ("INTERVAL '5 minutes' + l.t", {"left": 5}),
        ("r.t - INTERVAL '1 hour'", {"right": -60}),
        ("coalesce(l.t, r.t)", {"left": 0, "right": 0}),
        ("least(l.t, r.t)", {"left": 0, "right": 0}),
        ("greatest(l.t, r.t - INTERVAL '1 minute')", {"left": 0, "right": -1}),
        ("if(r.n > 1, r.t, l.t)", {"left": 0, "right": 0}),
        ("CASE WHEN r.n = 1 THEN r.t WHEN r.n = 2 THEN NULL ELSE l.t END", {"left": 0, "right": 0}),
        ("date_trunc('HOUR', l.t)", {"left": -60}),
        ("CAST(l.t AS TIMESTAMP)", {"left": 0}),
    ],
)
def test_what_is_known_of_an_expression(item: str, expected: dict[str, int]) -> None:
    assert promises(f"{item} AS t, l.n AS n")["out"] == {"t": expected}


@pytest.mark.parametrize(
    "item",
    ["timestamp_seconds(l.n)", "coalesce(l.t, timestamp_seconds(r.n))", "l.t + make_interval(0, 0, 0, 1)",
     "CASE WHEN r.n = 1 THEN current_timestamp() ELSE l.t END", "date_trunc('YEAR', l.t)"],
)  # fmt: skip
def test_nothing_is_promised_about_other_expressions(item: str) -> None:
    assert promises(f"{item} AS t, l.n AS n")["out"] == {}


def test_files_promise_nothing_and_a_join_over_them_does() -> None:
    found = promises("l.t AS t, r.t AS u", left='FILES("l", format = "json")')
    assert found["app.pairs.left"] == {}
    assert found["app.pairs.right"]["_time"] == {"r.t": 0}
    assert found["out"] == {"t": {"left": 0}, "u": {"right": 0}}


CHAIN = """
    CREATE VIEW chained AS SELECT p.t AS t, p.u AS u, x.t AS w FROM pairs AS p JOIN x ON p.k = x.k
        AND x.t BETWEEN p.{by} - INTERVAL '1 minute' AND p.{by};
    CREATE TABLE chains AS SELECT * FROM chained STORAGE SCRIBE(category = "chains");
"""


def test_through_a_chain() -> None:
    """The second join knows that the right time of the first one is at most 2 minutes before its left time,
    and the left time at most 3 before the right."""
    found = promises("l.t AS t, r.t AS u, l.k AS k", more=CHAIN.format(by="t"))
    assert found["app.pairs"] == {"t": {"left": 0}, "u": {"right": 0}}
    assert found["app.chained.left"]["_time"] == {"pairs.t": 0}
    assert found["chains"] == {"t": {"left": 0}, "u": {"left": -2}, "w": {"right": 0}}
    by_right = promises("l.t AS t, r.t AS u, l.k AS k", more=CHAIN.format(by="u"))
    assert by_right["chains"] == {"t": {"left": -3}, "u": {"left": 0}, "w": {"right": 0}}


def test_who_inherits() -> None:
    chain = APP.format(
        items="l.t AS t, r.t AS u, l.k AS k",
        how="LEFT",
        l='FILES("l", format = "json")',
        more=CHAIN.format(by="t"),
    )
    joins = {join.name: join.settings for join in compile_pql(chain).joins}
    assert (joins["pairs"].left_inherits, joins["pairs"].right_inherits) == (False, True)
    assert (joins["chained"].left_inherits, joins["chained"].right_inherits) == (True, True)
    fixed = chain.replace("AND p.t;", 'AND p.t WITH (stream_time = "fixed");')
    settings = {join.name: join.settings for join in compile_pql(fixed).joins}["chained"]
    assert (settings.left_inherits, settings.right_inherits) == (False, False)


def test_a_view_that_unites_two_inputs_promises_the_smaller() -> None:
    plan = compile_pql("""
        CREATE APPLICATION app;
        CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM SCRIBE("a");
        CREATE INPUT TABLE b (u TIMESTAMP, k BIGINT) FROM SCRIBE("b");
        CREATE VIEW both AS SELECT t, k FROM a UNION ALL SELECT u, k FROM b;
        CREATE TABLE out AS SELECT t, k FROM both STORAGE SCRIBE(category = "out");
    """)
    (promised,) = outputs(plan)[0].promises
    assert {(term.origin, term.shift_us) for term in promised.terms} == {("a.t", 0), ("b.u", 0)}


AGGREGATES = """
    CREATE TABLE fixed AS SELECT window(t, '1 minute').start AS start, window(t, '1 minute').end AS stop,
        count(*) AS n FROM pairs GROUP BY window(t, '1 minute') STORAGE SCRIBE(category = "fixed");
    CREATE TABLE sessions AS SELECT session_window(t, '1 minute').end AS stop, k, count(*) AS n
        FROM pairs GROUP BY session_window(t, '1 minute'), k STORAGE SCRIBE(category = "sessions");
"""


def test_aggregates_follow_the_join_and_promise_windows() -> None:
    found = promises("l.t AS t, l.k AS k", more=AGGREGATES, left='FILES("l", format = "json")')
    assert found["app.fixed.rows"]["_time"] == {"pairs.t": 0}
    assert found["fixed"] == {"start": {"window_start": 0}, "stop": {"window_end": 0}}
    assert found["sessions"] == {"stop": {"window_end": 0}}
    text = APP.format(
        items="l.t AS t, l.k AS k", how="LEFT", more=AGGREGATES, l='FILES("l", format = "json")'
    )
    windows = [stage for stage in compile_pql(text).stages if isinstance(stage, WindowStage)]
    assert [stage.settings.inherits for stage in windows] == [True, True]


def test_an_aggregate_over_files_has_a_time_of_its_own() -> None:
    plan = compile_pql("""
        CREATE APPLICATION app;
        CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT) FROM FILES("l", format = "json");
        CREATE TABLE out AS SELECT window(t, '1 minute').end AS stop, count(*) AS n FROM l
            GROUP BY window(t, '1 minute') STORAGE SCRIBE(category = "out");
    """)
    (stage,) = [stage for stage in plan.stages if isinstance(stage, WindowStage)]
    assert (stage.settings.inherits, stage.settings.confirmed_by) == (False, 4)


def test_what_an_aggregate_promises_after_a_step() -> None:
    text = APP.format(
        items="l.t AS t, l.k AS k",
        how="LEFT",
        l='SCRIBE("l")',
        more=AGGREGATES,
    )
    fixed, sessions = [stage for stage in compile_pql(text).stages if isinstance(stage, WindowStage)]
    at = WindowOffset(step=3, commit=9, time=10 * MINUTE)
    promise = after_windows(fixed, at)
    assert promise is not None
    assert promise.times == {"start": 9 * MINUTE, "stop": 10 * MINUTE}
    of_sessions = after_windows(sessions, at)
    assert of_sessions is not None
    assert of_sessions.times == {"stop": 10 * MINUTE}
    ended = after_windows(fixed, at.moved(ended=True))
    assert ended is not None
    assert set(ended.times.values()) == {NEVER}, "after an end the streams start over"
