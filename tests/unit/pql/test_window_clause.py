"""`WITHIN ...`: what it means, how it is written, and what is refused, each with a place and a way out."""

from __future__ import annotations

import pytest

from dovetail.errors import PqlError
from dovetail.model.join_config import JoinConfig
from dovetail.model.window_join import WindowJoin
from dovetail.plan.configure import join_config
from dovetail.plan.drawing.graph import graph_of
from dovetail.plan.physical import JoinStage, Plan
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql, trace
from dovetail.pql.parser import parse
from dovetail.pql.render import render

SECOND = 1_000_000
TEXT = """
CREATE APPLICATION app;
CREATE INPUT TABLE l (at TIMESTAMP, k BIGINT, x INT) FROM SCRIBE("l");
CREATE INPUT TABLE r (ts BIGINT, since TIMESTAMP, time TIMESTAMP, k INT, s DATE) FROM SCRIBE("r");
CREATE VIEW j AS SELECT a.x, {items} FROM l AS a {how} JOIN r AS b ON {on} {within};
CREATE TABLE o AS SELECT * FROM j STORAGE NOOP;
"""


def text(within: str, how: str = "", on: str = "a.k = b.k", items: str = "window_start") -> str:
    return TEXT.format(within=within, how=how, on=on, items=items)


def stage_of(*given: str, **more: str) -> JoinStage:
    (stage,) = compile_pql(text(*given, **more)).joins
    return stage


@pytest.mark.parametrize(
    ("within", "how", "window"),
    [
        ("WITHIN TUMBLING '10 seconds'", "", ("tumbling", 10, 10, 10, "eager")),
        ("within tumbling INTERVAL 1 MINUTE", "LEFT", ("tumbling", 60, 60, 60, "lazy")),
        ("WITHIN HOPPING '10 seconds' EVERY '2 seconds'", "", ("hopping", 10, 2, 10, "eager")),
        ("WITHIN HOPPING '10 seconds' EVERY '4 seconds'", "LEFT SEMI", ("hopping", 10, 4, 10, "lazy")),
        ("WITHIN SESSION '30 seconds'", "", ("session", 30, 30, 86_400, "lazy")),
        (
            "WITHIN SESSION '30 seconds' WITH (max_session = INTERVAL '1 minute')",
            "FULL",
            ("session", 30, 30, 60, "lazy"),
        ),
        ("WITHIN TUMBLING '10 seconds' WITH (emit = \"lazy\")", "", ("tumbling", 10, 10, 10, "lazy")),
        ("AND within_tumbling(INTERVAL '10 seconds')", "", ("tumbling", 10, 10, 10, "eager")),
    ],
)
def test_windows(within: str, how: str, window: tuple) -> None:
    shape, *lengths, emit = window
    found = stage_of(within, how)
    assert found.join_kind.window == WindowJoin(shape, *(length * SECOND for length in lengths), emit)
    assert found.columns[-1].side == "window"


def test_times_are_found_or_named() -> None:
    def times(within: str) -> list[str]:
        program = dict(trace(text(within)))["split_joins"]
        views = [program.get(f"j_{side}_rows") for side in ("left", "right")]
        return [
            item.unalias().sql() for view in views for item in view.query.selects if item.alias == "_time"
        ]

    assert times("WITHIN TUMBLING '1 minute'") == ['"l"."at"', '"r"."time"']
    named = "WITHIN TUMBLING '1 minute' OF timestamp_seconds(b.ts), a.at"
    assert times(named) == ['"l"."at"', 'TIMESTAMP_SECONDS("r"."ts")']


def test_a_program_is_rendered_and_read_again() -> None:
    for within in ("WITHIN HOPPING '90 seconds' EVERY '2 seconds' OF a.at, b.since WHERE window_end > a.at",):
        for _, program in trace(text(within)):
            assert parse(render(program)) == program


def test_the_plan_says_what_and_why() -> None:
    for how, emit in (
        ("", "eager: a pair is known with its second row"),
        ("LEFT", "lazy: unmatched rows"),
    ):
        steps = trace(text("WITHIN TUMBLING '10 seconds'", how))
        graph = graph_of(steps[-1][1], compile_pql(text("WITHIN TUMBLING '10 seconds'", how)))
        lines = graph.nodes["join j"].lines
        assert "window   tumbling, 10 seconds" in lines
        assert any(line.startswith(f"emits    {emit}") for line in lines), lines
        report = check(text("WITHIN TUMBLING '10 seconds'", how))
        assert any(emit in line for line in report.summary.lines())


def test_plan_and_configuration_survive_json() -> None:
    plan = compile_pql(text("WITHIN HOPPING '10 seconds' EVERY '2 seconds'"))
    assert Plan.from_json(plan.to_json()) == plan
    config = join_config(plan, plan.joins[0], "home", tasks=2)
    assert JoinConfig.from_json(config.to_json()) == config
    assert config.join_kind == plan.joins[0].join_kind


def test_bounds_are_evaluated_after_the_join() -> None:
    stage = stage_of(
        "WITHIN TUMBLING '1 minute' WHERE window_end < b.since AND a.x > 3", items="window_end AS e"
    )
    assert "`_w_end`" in stage.views[-1].sql
    assert "WHERE" in stage.views[-1].sql
    assert stage_of("WITHIN SESSION '1 minute' WHERE a.x > 3").views[-1].sql.count("WHERE") == 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"within": "WITHIN TUMBLING '0 seconds'"}, "the window cannot be 0 seconds"),
        ({"within": "WITHIN TUMBLING '-3 seconds'"}, "the window cannot be -3 seconds"),
        ({"within": "WITHIN SESSION '0 seconds'"}, "the gap of a session cannot be 0 seconds"),
        ({"within": "WITHIN HOPPING '0 seconds' EVERY '0 seconds'"}, "the window cannot be 0 seconds"),
        ({"within": "WITHIN HOPPING '2 seconds' EVERY '3 seconds'"}, "cannot begin every 3 seconds"),
        ({"within": "WITHIN HOPPING '2 seconds' EVERY '0 seconds'"}, "cannot begin every 0 seconds"),
        ({"within": "WITHIN HOPPING '1 hour' EVERY '1 second'"}, "every row would be in 3,600 windows"),
        ({"within": "WITHIN HOPPING '2 seconds'"}, "the statement ends too early"),
        ({"within": "WITHIN TUMBLING '2 seconds' EVERY '1 second'"}, "EVERY belongs to HOPPING"),
        ({"within": "WITHIN TUMBLING '1 month'"}, "a month has no fixed length"),
        ({"within": "WITHIN TUMBLING 10"}, "the window cannot have this length"),
        ({"within": "WITHIN TUMBLIN '1 second'"}, "`TUMBLIN` is not expected here"),
        ({"within": "WITHIN TUMBLING"}, "the statement ends too early"),
        ({"within": "WITHIN TUMBLING '1 second' OF a.at"}, "OF names 1 time"),
        ({"within": "WITHIN TUMBLING '1 second' OF a.at, a.at"}, "one time of each side"),
        ({"within": "WITHIN TUMBLING '1 second' OF a.at, b.ts"}, "the window needs times"),
        ({"within": "WITHIN TUMBLING '1 second' OF a.at, b.nix"}, "`r` has no column `nix`"),
        (
            {"within": "WITHIN SESSION '2 days'"},
            "the session's gap of 2 days is longer than `max_session`",
        ),
        (
            {"within": "WITHIN SESSION '2 minutes' WITH (max_session = INTERVAL '1 minute')"},
            "the session's gap of 2 minutes is longer than `max_session`, 1 minute",
        ),
        ({"within": "WITHIN TUMBLING '1 second'", "on": "a.k < b.k"}, "needs an equality"),
        ({"within": "WITHIN TUMBLING '1 second'", "on": "a.k = b.s"}, "can never be equal"),
        (
            {"within": 'WITHIN TUMBLING \'1 second\' WITH (match = "one", emit = "eager")'},
            "partners are picked at its end",
        ),
        ({"within": "WITHIN TUMBLING '1 second' WITH (left_cap = 3)"}, "`left_cap` applies only"),
        (
            {"within": "WITHIN TUMBLING '1 second' WITH (window = ROWS 3)"},
            "both WITHIN and a window that counts rows",
        ),
        ({"within": "WITHIN TUMBLING '1 second' WITH (max_session = INTERVAL '1 day')"}, "`max_session`"),
        ({"within": "WITHIN TUMBLING '1 second' WITH (emit = \"eager\")", "how": "LEFT"}, 'emit = "eager"'),
        ({"within": "WITHIN SESSION '1 second' WITH (emit = \"eager\")"}, 'emit = "eager" is not available'),
        (
            {"within": "WITHIN TUMBLING '1 second'", "on": "a.k = b.k AND window_start > a.at"},
            "known only after the join",
        ),
        (
            {
                "within": 'WITH (emit = "lazy")',
                "on": "a.k = b.k AND b.time BETWEEN a.at AND a.at + INTERVAL '1 second'",
                "items": "b.ts",
            },
            "`emit` applies only to joins with WITHIN",
        ),
        (
            {"within": "", "on": "a.k = b.k AND b.time BETWEEN a.at AND a.at + INTERVAL '1 second'"},
            "there is no column `window_start`",
        ),
        (
            {
                "within": "",
                "on": "a.k = b.k AND b.time BETWEEN a.at AND a.at + INTERVAL '1 second'",
                "items": "window_start() AS s",
            },
            "the join has no windows",
        ),
    ],
)
def test_refused(given: dict[str, str], what: str) -> None:
    report = check(text(**given))
    assert len(report.errors) == 1, [str(error) for error in report.errors]
    (error,) = report.errors
    assert what in error.what
    assert error.where is not None
    assert "<string>:" in error.where, "it says where"
    assert error.expected or error.hint


def test_a_side_without_a_known_time_must_name_it() -> None:
    unclear = TEXT.replace("at TIMESTAMP", "at TIMESTAMP, until TIMESTAMP")
    report = check(
        unclear.format(items="1 AS one", how="", on="a.k = b.k", within="WITHIN TUMBLING '1 second'")
    )
    assert "which column of `a` is its event time, `at` or `until`?" in str(report.errors[0])
    assert "OF l.time, r.time" in str(report.errors[0])


def test_within_stands_after_on() -> None:
    with pytest.raises(PqlError, match="WITHIN belongs after a join's ON"):
        parse(
            'CREATE APPLICATION a; CREATE INPUT TABLE t (x) FROM SCRIBE("t");'
            "CREATE VIEW v AS SELECT x FROM t WITHIN TUMBLING '1 second';"
        )
