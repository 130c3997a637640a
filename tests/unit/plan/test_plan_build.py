"""Program -> stages: who is fused, who is materialised, and in which order they stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from dovetail.errors import CorruptFile, PqlError, UnknownVersion
from dovetail.model.interval import IntervalSpec
from dovetail.model.promise import PromisedColumn, TimeTerm
from dovetail.model.time_window import TimeWindow
from dovetail.plan.physical import (
    CategoryOutput,
    ConsoleSink,
    FileSink,
    FilesSource,
    JoinColumn,
    JoinStage,
    NoopSink,
    Plan,
    ScribeSink,
    ScribeSource,
    SlicerStage,
    WindowStage,
)
from dovetail.pql.compile import compile_pql

MINUTE = 60_000_000


def test_a_join_in_a_table_is_planned_as_a_view(text: Callable[[str], str]) -> None:
    join = (
        "SELECT a.k, b.y FROM a LEFT JOIN b ON a.k = b.k WITHIN TUMBLING '1 minute' WITH (buckets = 3) "
        "WHERE a.x > 1"
    )
    in_view = f"CREATE VIEW o_joined AS {join}; CREATE TABLE o AS SELECT * FROM o_joined STORAGE CONSOLE;"
    in_table = f"CREATE TABLE o AS {join} STORAGE CONSOLE;"
    assert compile_pql(text(in_table)) == compile_pql(text(in_view))


def test_figure_3() -> None:
    plan = compile_pql(
        """CREATE APPLICATION sample_app;
        CREATE INPUT TABLE left (eventtime, key, dim_one, metric) FROM SCRIBE("left");
        CREATE INPUT TABLE right (eventtime, key, dim_two, dim_three) FROM SCRIBE("right");
        CREATE VIEW joined_streams AS SELECT l.eventtime AS eventtime, l.key AS key, l.dim_one AS dim_one,
          r.dim_two AS dim_two, COALESCE(r.dim_three, "example") AS dim_three, ABS(l.metric) AS metric
        FROM left AS l LEFT OUTER JOIN right AS r ON (l.key = r.key) AND
          (r.eventtime BETWEEN l.eventtime - INTERVAL '3 minutes' AND l.eventtime + INTERVAL '3 minutes');
        CREATE TABLE result AS SELECT eventtime, key, dim_one, dim_two, dim_three, metric
        FROM joined_streams STORAGE SCRIBE (category = "result");"""
    )
    left, right, join = plan.stages
    assert isinstance(left, SlicerStage)
    assert isinstance(right, SlicerStage)
    assert isinstance(join, JoinStage)
    assert isinstance(left.output, CategoryOutput)
    assert isinstance(right.output, CategoryOutput)
    sides = [replace(side.output, promises=()) for side in (left, right)]
    names = [f"sample_app.joined_streams.{side}" for side in ("left", "right")]
    assert sides == [CategoryOutput(name, ("_key_0",), "_time", 64) for name in names]
    assert [t.source for s in (left, right) for t in s.inputs] == [
        ScribeSource("left"),
        ScribeSource("right"),
    ]
    assert left.views[0].sql == (
        "SELECT `left`.`key` AS `_key_0`, `left`.`eventtime` AS `_time`, `left`.`eventtime` AS `eventtime`, "
        "`left`.`key` AS `key`, `left`.`dim_one` AS `dim_one`, ABS(`left`.`metric`) AS `metric` FROM `left`"
    )
    assert (join.left, join.right) == (left.output.category, right.output.category)
    assert join.spec == IntervalSpec(3 * MINUTE, 3 * MINUTE, "left")
    assert join.columns == (
        JoinColumn("eventtime", "left", "eventtime", "TIMESTAMP"),
        JoinColumn("key", "left", "key", "STRING"),
        JoinColumn("dim_one", "left", "dim_one", "STRING"),
        JoinColumn("_r_dim_two", "right", "_r_dim_two", "STRING"),
        JoinColumn("_r_dim_three", "right", "_r_dim_three", "STRING"),
        JoinColumn("metric", "left", "metric", "DOUBLE"),
    )
    assert f"FROM `{join.source_name}`" in join.views[0].sql
    promised = PromisedColumn("eventtime", (TimeTerm("left", 0),))
    assert join.output == ScribeSink("result", promises=(promised,))
    assert plan.warnings == ()


def test_options_reach_the_join(joined: Callable[..., str]) -> None:
    more = """ WITH (match = "one", pick = "latest", max_delay = INTERVAL 5 SECONDS,
      right_max_delay = INTERVAL 0 SECONDS, buckets = 4, compression = "none", tasks = 2,
      max_step_rows = 10)"""
    plan = compile_pql(joined(more=more))
    (join,) = plan.joins
    assert join.spec == IntervalSpec(MINUTE, 2 * MINUTE, "inner", "one", "latest")
    assert (join.settings.left_max_delay_us, join.settings.right_max_delay_us) == (5_000_000, 0)
    assert (join.settings.tasks, join.settings.max_step_rows) == (2, 10)
    outputs = [stage.output for stage in plan.slicers if isinstance(stage.output, CategoryOutput)]
    assert [(output.buckets, output.compression) for output in outputs] == [(4, "none")] * 2


@pytest.mark.parametrize(
    ("how", "items", "left", "right"),
    [
        ("INNER", "a.x + 1 AS p, b.y AS q, a.x + b.y AS r, 1 AS one", ["p", "_l_x", "one"], ["_r_y"]),
        ("LEFT OUTER", "a.x + 1 AS p, b.y AS q, a.x + b.y AS r, 1 AS one", ["p", "_l_x", "one"], ["_r_y"]),
        ("RIGHT OUTER", "a.x + 1 AS p, b.y AS q, a.x + b.y AS r, 1 AS one", ["_l_x"], ["_r_y"]),
        ("FULL OUTER", "a.x + 1 AS p, b.y AS q, a.x + b.y AS r, 1 AS one", ["_l_x"], ["_r_y"]),
        ("LEFT SEMI", "a.x + 1 AS p, a.k AS k", ["p", "k"], []),
        ("LEFT ANTI", "a.x + 1 AS p, a.k AS k", ["p", "k"], []),
        ("FULL OUTER", "1 AS one", ["_l_k"], []),
    ],
)
def test_what_is_evaluated_where(
    how: str, items: str, left: list[str], right: list[str], joined: Callable[..., str]
) -> None:
    (join,) = compile_pql(joined(items, how)).joins
    assert [column.name for column in join.columns if column.side == "left"] == left
    assert [column.name for column in join.columns if column.side == "right"] == right


def test_a_new_column_at_the_end_is_a_new_column_at_the_end(joined: Callable[..., str]) -> None:
    """Paper, section 4.2: the wire format grows only at its end."""
    before = compile_pql(joined("a.k AS k, b.y AS y"))
    after = compile_pql(joined("a.k AS k, b.y AS y, a.x + b.ts AS more"))
    for old, new in zip(before.slicers, after.slicers, strict=True):
        assert new.select.startswith(old.select.partition(" FROM ")[0])


def test_several_readers_materialise_a_join(joined: Callable[..., str]) -> None:
    table = """CREATE VIEW w AS SELECT k FROM v WHERE k <> '';
    CREATE TABLE o AS SELECT k FROM w STORAGE CONSOLE;
    CREATE TABLE p AS SELECT k FROM v STORAGE JSON(path = "/p");"""
    plan = compile_pql(joined(table=table))
    assert [stage.name for stage in plan.stages] == ["v.left", "v.right", "v", "o", "p"]
    (join,) = plan.joins
    assert join.output == CategoryOutput("app.v", (), None, 64)
    o, p = plan.stages[3:]
    assert isinstance(o, SlicerStage)
    assert o.inputs[0].source == ScribeSource("app.v")
    assert [view.name for view in o.views] == ["w"]
    assert (o.output, p.output) == (ConsoleSink(), FileSink("json", "/p"))


def test_one_reader_through_plain_views_is_fused(joined: Callable[..., str]) -> None:
    table = """CREATE VIEW w AS SELECT k FROM v WHERE k <> '';
    CREATE VIEW z AS SELECT upper(k) AS k FROM w; CREATE TABLE o AS SELECT k FROM z STORAGE NOOP;"""
    plan = compile_pql(joined(table=table))
    join = plan.stages[-1]
    assert isinstance(join, JoinStage)
    assert [view.name for view in join.views] == ["v", "w", "z"]
    assert join.output == NoopSink()


def test_a_table_over_two_joins_reads_both_from_the_log(text: Callable[[str], str]) -> None:
    on = "a.k = b.k AND b.t BETWEEN a.t AND a.t + INTERVAL 1 DAY"
    plan = compile_pql(
        text(
            f"""CREATE VIEW v AS SELECT a.k AS k FROM a JOIN b ON {on};
            CREATE VIEW w AS SELECT a.k AS k FROM a LEFT JOIN b ON {on};
            CREATE VIEW u AS SELECT k FROM v UNION ALL SELECT k FROM w;
            CREATE TABLE o AS SELECT k FROM u STORAGE NOOP;"""
        )
    )
    last = plan.stages[-1]
    assert isinstance(last, SlicerStage)
    assert {table.source for table in last.inputs} == {ScribeSource("app.v"), ScribeSource("app.w")}
    assert all(isinstance(join.output, CategoryOutput) for join in plan.joins)


def test_a_chain_of_joins_stands_in_the_order_of_the_data(text: Callable[[str], str]) -> None:
    plan = compile_pql(
        text(
            """CREATE TABLE o AS SELECT * FROM second STORAGE NOOP;
            CREATE VIEW second AS SELECT f.k AS k FROM b JOIN first f
              ON f.k = b.k AND f.t BETWEEN b.t AND b.t + INTERVAL 1 DAY;
            CREATE VIEW first AS SELECT a.t AS t, a.k AS k FROM a JOIN b
              ON a.k = b.k AND b.t BETWEEN a.t AND a.t + INTERVAL 1 DAY;"""
        )
    )
    names = [stage.name for stage in plan.stages]
    assert set(names[:2]) == {"first.left", "first.right"}
    assert names[2:] == ["first", "second"], "the first join slices its rows for the second itself"
    output = plan.joins[0].output
    assert isinstance(output, CategoryOutput)
    assert (output.category, output.keys, output.time) == ("app.second.right", ("_key_0",), "_time")
    assert plan.joins[1].left == "app.first.right", "both joins read `b` in the same way"


@pytest.mark.parametrize(
    ("table", "window", "delay_us", "columns"),
    [
        (
            "SELECT window.start AS s, count(*) AS n FROM v GROUP BY window(t, '1 hour')",
            TimeWindow("tumbling", 60 * MINUTE, 60 * MINUTE),
            7 * MINUTE,
            (),
        ),
        (
            "SELECT count(*) AS n FROM v GROUP BY window(timestamp_seconds(ts), '1 hour', '10 minutes'), k",
            TimeWindow("hopping", 60 * MINUTE, 10 * MINUTE),
            7 * MINUTE,
            ("k",),
        ),
        (
            "SELECT count(x) AS n FROM a GROUP BY window(t, '1 hour', '1 hour', '15 minutes')",
            TimeWindow("tumbling", 60 * MINUTE, 60 * MINUTE, 15 * MINUTE),
            2 * MINUTE,
            ("x",),
        ),
        (
            "SELECT k, max(t) AS t FROM w GROUP BY session_window(t, INTERVAL 5 MINUTES), k",
            TimeWindow("session", 5 * MINUTE, 5 * MINUTE),
            7 * MINUTE,
            ("k", "t"),
        ),
    ],
)
def test_aggregates(
    table: str, window: TimeWindow, delay_us: int, columns: tuple[str, ...], joined: Callable[..., str]
) -> None:
    """Rows may be as late as the delays and the window of the join below add up to: 7 minutes. A join that
    feeds nothing else writes the rows itself."""
    plan = compile_pql(
        joined(
            "a.k AS k, a.t AS t, a.ts AS ts",
            table=f"CREATE VIEW w AS SELECT * FROM v; CREATE TABLE o AS {table} STORAGE NOOP;",
        )
    )
    *_, writer, stage, last = plan.stages
    assert isinstance(stage, WindowStage)
    assert (stage.name, stage.rows, stage.late) == ("o.windows", "app.o.rows", "app.o.late")
    assert (stage.window, stage.settings.max_delay_us) == (window, delay_us)
    assert tuple(column.name for column in stage.columns) == columns
    assert stage.keys == (("_key_0",) if window.is_session else ())
    assert isinstance(writer, SlicerStage if "FROM a" in table else JoinStage)
    for output, category in (
        (writer.output, ("app.o.rows", (), "_time", 1)),
        (stage.output, ("app.o.windows", (), None, 1)),
    ):
        assert isinstance(output, CategoryOutput)
        assert replace(output, promises=()) == CategoryOutput(*category)
    assert (last.name, last.output) == ("o", NoopSink())
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_an_aggregate_into_a_category_is_one_stage(joined: Callable[..., str]) -> None:
    table = "CREATE TABLE o AS SELECT count(*) AS n FROM v GROUP BY window(t, '1 hour')"
    plan = compile_pql(joined("a.t AS t", table=f'{table} STORAGE SCRIBE(category = "hourly");'))
    assert [stage.name for stage in plan.stages] == ["v.left", "v.right", "v", "o"]
    assert plan.stages[-1].output == ScribeSink("hourly")


def test_a_join_that_others_read_is_sliced_for_its_aggregate(joined: Callable[..., str]) -> None:
    table = (
        "CREATE TABLE o AS SELECT count(*) AS n FROM v GROUP BY window(t, '1 hour') STORAGE NOOP;"
        "CREATE TABLE p AS SELECT * FROM v STORAGE NOOP;"
    )
    plan = compile_pql(joined("a.t AS t", table=table))
    names = [stage.name for stage in plan.stages]
    assert set(names) == {"v.left", "v.right", "v", "o.rows", "o.windows", "o", "p"}
    assert names.index("v") < names.index("o.rows") < names.index("o.windows") < names.index("o")


def test_columns_that_have_names_of_the_planner(text: Callable[[str], str]) -> None:
    """Also the time of a side of another application can be aggregated by."""
    rest = """CREATE INPUT TABLE s (_time TIMESTAMP, _hash BIGINT, `window` INT) FROM SCRIBE("other.v.left");
    CREATE TABLE o AS SELECT max(_time) AS t, max(_hash) AS h, max(s.`window`) AS w
    FROM s GROUP BY window(_time, '1 hour') STORAGE NOOP;"""
    (stage,) = compile_pql(text(rest)).windows
    assert [column.name for column in stage.columns] == ["_of__time", "_of__hash", "_of_window"]
    assert "max(`o_input`.`_of__time`)" in stage.select


def test_a_plan_of_an_aggregate_with_a_watermark_can_still_be_read(joined: Callable[..., str]) -> None:
    data = compile_pql(joined()).to_json()
    old = [{**stage, "watermark": None} for stage in data["stages"]]
    assert Plan.from_json({**data, "version": 2, "stages": old}) == Plan.from_json(data)


def test_what_leads_nowhere_is_told_and_left_out(joined: Callable[..., str]) -> None:
    plan = compile_pql(joined(table="CREATE TABLE o AS SELECT k FROM a STORAGE NOOP;"))
    assert [stage.name for stage in plan.stages] == ["o"]
    assert plan.warnings == (
        "input table `b` is read by no table and does not run",
        "view `v` is read by no table and does not run",
    )


def test_an_error_in_what_leads_nowhere_is_an_error(text: Callable[[str], str]) -> None:
    rest = """CREATE VIEW v AS SELECT a.k AS k FROM a JOIN b ON a.k = b.k;
    CREATE TABLE o AS SELECT k FROM a STORAGE NOOP;"""
    with pytest.raises(PqlError, match="no time window"):
        compile_pql(text(rest))


def test_json_round_trip(joined: Callable[..., str]) -> None:
    plan = compile_pql(
        joined(table="CREATE TABLE o AS SELECT k FROM v STORAGE PARQUET(path = '/o');").replace(
            'SCRIBE("b")', 'FILES("/b", format = "csv", header = "true")'
        )
    )
    assert plan.slicers[1].inputs[0].source == FilesSource("/b", "csv", (("header", "true"),))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert Plan.from_json(plan.to_json()) == plan


def test_json_of_another_version_or_shape(joined: Callable[..., str]) -> None:
    data = compile_pql(joined()).to_json()
    with pytest.raises(UnknownVersion, match="version 99"):
        Plan.from_json({**data, "version": 99})
    for broken in (None, [], {}):
        with pytest.raises(UnknownVersion):
            Plan.from_json(broken)
    with pytest.raises(CorruptFile):
        Plan.from_json({**data, "stages": [{"kind": "Nonsense"}]})
    with pytest.raises(CorruptFile):
        Plan.from_json({**data, "application": 3})
    with pytest.raises(CorruptFile):
        Plan.from_json({"version": 1})
