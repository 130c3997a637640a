"""Two versions over one log, compared with brute force over the same recorded steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dovetail.engine.copying import settle
from dovetail.errors import PreviewError
from dovetail.local.graph import Graph
from dovetail.log.category import Category
from dovetail.model.offset import NEVER
from dovetail.preview.compare import Difference
from dovetail.preview.preview import Preview, preview
from previewing import INPUTS, SCHEMA, SECOND, START_US, Row, Running, differences, join, plan_of

STEPS: list[tuple[list[Row], list[Row]]] = [
    ([(1, 0, 0)], [(1, 2, 0), (2, 3, 1)]),
    ([(2, 5, 1), (1, 9, 2)], [(1, 20, 2)]),
    ([(3, 30, 3)], [(2, 12, 3), (3, 45, 4)]),
    ([(1, 60, 4)], [(3, 31, 5)]),
]


def counts(found: Difference) -> tuple[int, int, int, int]:
    return found.equal, found.gained, found.lost, found.changed


def joined(
    steps: Any, before: int, after: int, how: str, match: str = "all", pick: str = "first"
) -> list[Any]:
    return [
        row for step in oracle.streaming_join(steps, before, after, how.lower(), match, pick) for row in step
    ]


@pytest.mark.parametrize("how", ["LEFT", "INNER", "FULL"])
def test_a_wider_window(tmp_path: Path, how: str) -> None:
    app = Running(str(tmp_path), join(5, 5, how))
    app.play(STEPS)
    found = preview(app.home, app.plan, plan_of(join(20, 20, how)))
    old, new = (joined(app.steps(), width, width, how) for width in (5, 20))
    (table,) = found.tables
    assert counts(table.difference) == differences(old, new)
    assert table.difference.gained + table.difference.changed > 0
    assert (table.old_rows, table.new_rows) == (len(old), len(new))


_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60)), max_size=3)
_spec = st.tuples(
    st.integers(0, 20),
    st.integers(0, 20),
    st.sampled_from(["INNER", "LEFT", "FULL"]),
    st.sampled_from([("all", "first"), ("one", "first"), ("one", "nearest"), ("one", "latest")]),
)


def text_of(spec: Any) -> str:
    before, after, how, (match, pick) = spec
    picks = f", match = '{match}'" + (f", pick = '{pick}'" if match == "one" else "")
    return join(before, after, how, picks)


@settings(max_examples=15)
@given(st.lists(st.tuples(_rows, _rows), min_size=1, max_size=6), _spec, _spec)
def test_random_pairs_of_versions(
    tmp_path_factory: pytest.TempPathFactory,
    steps: Sequence[tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]],
    old: Any,
    new: Any,
) -> None:
    """Rows in any order, many of them late: both versions follow the stream times on record."""
    if not any(left and right for left, right in steps):
        steps = [([(0, 0)], [(0, 0)]), *steps]
    numbers = [iter(range(1000)), iter(range(1000))]
    play = [
        tuple([(k, t, next(numbers[n])) for k, t in side] for n, side in enumerate(step)) for step in steps
    ]
    app = Running(str(tmp_path_factory.mktemp("home")), text_of(old))
    app.play(play)  # type: ignore[arg-type]
    (table,) = preview(app.home, app.plan, plan_of(text_of(new))).tables
    results = (joined(app.steps(), *spec[:3], *spec[3]) for spec in (old, new))
    # Rows are known by key and time of their left row, so two left rows may share them.
    keys = {
        side: {row[2]: row[:2] for step in app.steps() for row in step[n]}
        for n, side in enumerate(("left", "right"))
    }
    assert counts(table.difference) == differences(*results, lambda side, number: keys[side][number])


def minutes(count: int) -> list[tuple[list[Row], list[Row]]]:
    """Every ten seconds a left row, and a right row four seconds before it."""
    return [([(n % 3, 10 * n, n)], [(n % 3, 10 * n - 4, n)]) for n in range(count)]


def trim(app: Running, left: int, right: int) -> None:
    for name, first in (("app.v.left", left), ("app.v.right", right)):
        category = Category.open(app.home, name)
        category.set_reader("app.v", first, application="app")
        category.retain()
        assert category.first_commit() == first


@pytest.mark.parametrize(("left", "right"), [(6, 6), (0, 7), (9, 2)])
@pytest.mark.parametrize("how", ["LEFT", "FULL"])
def test_a_trimmed_log_is_exact_from_a_named_time_on(tmp_path: Path, how: str, left: int, right: int) -> None:
    app = Running(str(tmp_path), join(5, 5, how))
    app.play(minutes(20))
    whole = preview(app.home, app.plan, plan_of(join(40, 20, how)))
    assert whole.since_us == NEVER
    trim(app, left, right)
    found = preview(app.home, app.plan, plan_of(join(40, 20, how)), since_us=3600 * SECOND)
    assert found.short
    since = (found.since_us - START_US) / SECOND
    assert since < 150, "it reaches nearly as far back as it can"
    times = [10 * n for n in range(20)]

    def counted(rows: list[Any]) -> list[Any]:
        return [row for row in rows if (times[row[1]] - 4 if row[0] is None else times[row[0]]) >= since]

    old, new = (counted(joined(app.steps(), *width, how)) for width in ((5, 5), (40, 20)))
    assert counts(found.tables[0].difference) == differences(old, new)
    assert found.tables[0].difference.gained > 0


def test_a_log_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(12))
    trim(app, 10, 10)
    with pytest.raises(PreviewError, match="too short"):
        preview(app.home, app.plan, plan_of(join(600, 600)))


def test_since_counts_back_from_where_stream_time_is(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(20))
    found = preview(app.home, app.plan, plan_of(join(20, 5)), since_us=100 * SECOND)
    assert not found.short
    first = (found.since_us - START_US) / SECOND
    assert first == found.until_us / SECOND - START_US / SECOND - 100
    late = [n for n in range(20) if 10 * n >= first]
    assert found.tables[0].old_rows == len(late)


def test_nothing_of_the_home_is_touched(tmp_path: Path) -> None:
    app = Running(str(tmp_path / "home"), join(5, 5))
    app.play(STEPS)

    def state() -> dict[str, tuple[int, int]]:
        files = [os.path.join(folder, name) for folder, _, names in os.walk(app.home) for name in names]
        return {file: (os.stat(file).st_mtime_ns, os.stat(file).st_size) for file in files}

    settle()  # the application's own snapshots are copied by now
    before = state()
    preview(app.home, app.plan, plan_of(join(20, 20, where="\n  WHERE a.id < 100")))
    assert state() == before


def test_a_filter_of_one_side_is_sliced_again_from_the_input(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(8))
    looser = preview(app.home, app.plan, plan_of(join(5, 5, where="\n  WHERE a.id >= 3")))
    assert counts(looser.tables[0].difference) == (5, 0, 3, 0)


def test_a_column_that_an_input_gives_anew(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(6))
    new = join(5, 5, select="a.id AS l, b.id AS r, a.k + 1 AS more", table="l, r, more")
    (table,) = preview(app.home, app.plan, plan_of(new)).tables
    assert table.columns.added == ("more",)
    assert counts(table.difference) == (6, 0, 0, 0)


def test_an_expression_after_the_join(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(6))
    new = join(5, 5, table="l, r + l AS r")
    (table,) = preview(app.home, app.plan, plan_of(new), samples=9).tables
    assert counts(table.difference) == (1, 0, 0, 5)
    assert ({"l": 4, "r": 4}, {"l": 4, "r": 8}) in table.difference.changed_samples


def test_keys_that_change(tmp_path: Path) -> None:
    """The application itself cannot go on with them; what they would give can be seen."""
    app = Running(str(tmp_path), join(5, 5, "INNER"))
    app.play(minutes(8))
    new = join(5, 15, "INNER").replace("a.k = b.k", "a.id + 1 = b.id")
    found = preview(app.home, app.plan, plan_of(new))
    assert (found.tables[0].old_rows, found.tables[0].new_rows) == (8, 7)


def test_what_needs_spark_is_compared_before_it(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(6))
    new = join(20, 5, table="l, hash(r) AS r")
    found = preview(app.home, app.plan, plan_of(new))
    assert any("needs Spark" in note for note in found.notes)
    old, after = (joined(app.steps(), before, 5, "LEFT") for before in (5, 20))
    assert counts(found.tables[0].difference) == differences(old, after)


def test_an_aggregate_is_compared_by_the_rows_that_enter_it(tmp_path: Path) -> None:
    text = (
        INPUTS
        + """CREATE VIEW v AS SELECT a.t AS t, a.id AS l, b.id AS r FROM a JOIN b ON a.k = b.k
      AND b.t BETWEEN a.t - INTERVAL '{} seconds' AND a.t
      WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);
    CREATE TABLE o AS SELECT window.start AS start, count(*) AS n FROM v GROUP BY window(t, '1 minute')
      STORAGE NOOP;"""
    )
    app = Running(str(tmp_path), text.format(5))
    for left, right in minutes(12):
        app.commit("a", left)
        app.commit("b", right)
        for name, runner in app.graph.runners.items():
            if not name.startswith("o") or name.endswith(".rows"):
                while runner.step():
                    pass
    found = preview(app.home, app.plan, plan_of(text.format(40)))
    assert any("o is an aggregate" in note for note in found.notes)
    old, new = (joined(app.steps(), before, 0, "INNER") for before in (5, 40))
    assert counts(found.tables[0].difference) == differences(old, new)


CHAIN = (
    INPUTS
    + """
CREATE VIEW ab AS SELECT a.t AS t, a.k AS k, a.id AS l, b.id AS r FROM a LEFT JOIN b ON b.k = a.k
  AND b.t BETWEEN a.t - INTERVAL '{} seconds' AND a.t
  WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);
CREATE VIEW abc AS SELECT ab.l AS l, ab.r AS r, c.id AS c FROM ab LEFT JOIN c ON c.k = ab.k
  AND c.t BETWEEN ab.t - INTERVAL '{} seconds' AND ab.t + INTERVAL '5 seconds'
  WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);
CREATE TABLE o AS SELECT l, r, c FROM abc STORAGE NOOP;
{}"""
)


@pytest.mark.parametrize("more", ["", "CREATE TABLE p AS SELECT l, r FROM ab STORAGE NOOP;"])
def test_a_chain(tmp_path: Path, more: str) -> None:
    """With a second reader the first join is a category of its own, and a slicer stands in between."""
    app = Running(str(tmp_path), CHAIN.format(5, 5, more))
    play = minutes(10)
    for n, (left, right) in enumerate(play):
        app.commit("c", [(n % 3, 10 * n + 1, n)])
        app.play([(left, right)])
    found = preview(app.home, app.plan, plan_of(CHAIN.format(40, 30, more)))
    left, right = ([row for step in play for row in step[n]] for n in range(2))
    third: list[Row] = [(n % 3, 10 * n + 1, n) for n in range(10)]
    results = []
    for widths in ((5, 5), (40, 30)):
        pairs = oracle.batch_join(left, right, widths[0], 0, "left")
        times = {row[2]: row[:2] for row in left}
        between: list[Any] = [(*times[pair[0]], n) for n, pair in enumerate(pairs)]
        rows = oracle.batch_join(between, third, widths[1], 5, "left")
        results.append([(pairs[n][0], pairs[n][1], c) for n, c in rows])
    by_name = {table.name: counts(table.difference) for table in found.tables}
    assert by_name["o" if "o" in by_name else "abc"] == differences(*results)


def test_a_join_without_an_equality(tmp_path: Path) -> None:
    text = (
        INPUTS
        + "CREATE VIEW v AS SELECT a.id AS l, b.id AS r FROM a JOIN b ON a.id < b.id "
        + "AND b.t BETWEEN a.t - INTERVAL '{0} seconds' AND a.t + INTERVAL '{0} seconds' "
        + "WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);"
        + "CREATE TABLE o AS SELECT l, r FROM v STORAGE NOOP;"
    )
    app = Running(str(tmp_path), text.format(12))
    app.play(minutes(12))
    found = preview(app.home, app.plan, plan_of(text.format(25)))
    old, new = (_batch(text.format(width), app) for width in (12, 25))
    assert counts(found.tables[0].difference) == differences(old, new)
    assert found.tables[0].difference.gained > 0


def _batch(text: str, app: Running) -> list[Any]:
    """The same by a run of its own over the same commits, with the driver."""
    other = Running(f"{app.home}/{abs(hash(text))}", text)
    other.play(minutes(12))
    other.graph.drain()
    return [tuple(row.values()) for row in other.graph.tables()["v"].to_pylist()]


@pytest.mark.parametrize("window", ["tumbling", "session"])
def test_joins_within_windows(tmp_path: Path, window: str) -> None:
    shape = {"tumbling": "TUMBLING(INTERVAL '30 seconds')", "session": "SESSION(INTERVAL '25 seconds')"}[
        window
    ]
    text = (
        INPUTS
        + "CREATE VIEW v AS SELECT a.id AS l, b.id AS r FROM a {} JOIN b ON a.k = b.k WITHIN "
        + shape
        + " WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);"
        + "CREATE TABLE o AS SELECT l, r FROM v STORAGE NOOP;"
    )
    app = Running(str(tmp_path), text.format("LEFT"))
    app.play(minutes(12))
    found = preview(app.home, app.plan, plan_of(text.format("FULL")))
    old, new = (_batch(text.format(how), app) for how in ("LEFT", "FULL"))
    assert counts(found.tables[0].difference) == differences(old, new)


def test_sessions_over_a_trimmed_log_are_refused(tmp_path: Path) -> None:
    text = (
        INPUTS
        + "CREATE VIEW v AS SELECT a.id AS l, b.id AS r FROM a {} JOIN b ON a.k = b.k WITHIN "
        + "SESSION(INTERVAL '2 seconds') WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);"
        + "CREATE TABLE o AS SELECT l, r FROM v STORAGE NOOP;"
    )
    app = Running(str(tmp_path), text.format("LEFT"))
    app.play(minutes(12))
    trim(app, 5, 5)
    with pytest.raises(PreviewError, match="no bounds of event time"):
        preview(app.home, app.plan, plan_of(text.format("FULL")))


def test_large_results_are_compared_in_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Running(str(tmp_path), join(5, 5))
    app.play(minutes(10))
    at_once = preview(app.home, app.plan, plan_of(join(40, 5)))
    monkeypatch.setattr("dovetail.preview.compare.PASS_BYTES", 300)
    passes = preview(app.home, app.plan, plan_of(join(40, 5)))
    assert counts(passes.tables[0].difference) == counts(at_once.tables[0].difference)
    assert counts(passes.tables[0].difference)[1] > 0


def test_figures_of_both(tmp_path: Path) -> None:
    app = Running(str(tmp_path), join(2, 2))
    app.play(minutes(10))
    found: Preview = preview(app.home, app.plan, plan_of(join(5, 5)))
    old, new = found.old.joins["v"], found.new.joins["v"]
    assert (old.match_rate, new.match_rate) == (0.0, 1.0)
    assert new.state_bytes >= old.state_bytes > 0


FILES = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{0}/a", format = "parquet");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{0}/b", format = "parquet");
CREATE VIEW v AS SELECT a.id AS l, b.id AS r FROM a LEFT JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '5 seconds' AND a.t{1} WITH (max_delay = INTERVAL '5 seconds');
CREATE TABLE o AS SELECT l, r FROM v STORAGE NOOP;
"""


def test_files_are_sliced_again_and_one_that_is_gone_is_named(tmp_path: Path) -> None:
    home, plan = str(tmp_path / "home"), plan_of(FILES.format(tmp_path, ""))
    graph = Graph(plan, home, home)
    for n, both in enumerate(minutes(6)):
        for name, rows in zip("ab", both, strict=True):
            (tmp_path / name).mkdir(exist_ok=True)
            made = [{"t": START_US + (t or 0) * SECOND, "k": k, "id": number} for k, t, number in rows]
            pq.write_table(pa.Table.from_pylist(made, SCHEMA), tmp_path / name / f"{n}.parquet")
        while [runner for runner in graph.runners.values() if runner.step()]:
            pass
    new = plan_of(FILES.format(tmp_path, "\n  WHERE a.id <> 2"))
    (table,) = preview(home, plan, new).tables
    assert counts(table.difference) == (5, 0, 1, 0)
    (tmp_path / "a" / "3.parquet").unlink()
    with pytest.raises(PreviewError, match="cannot be read again") as error:
        preview(home, plan, new)
    assert "3.parquet" in (error.value.where or "")


PICKED = "SELECT a.id AS l, b.id AS r FROM a"
UNION = (
    "CREATE VIEW u AS SELECT t, k, id FROM a UNION ALL SELECT t, k, id FROM b;\n"
    "CREATE VIEW v AS SELECT a.id AS l, b.id AS r FROM u AS a"
)


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        (
            PICKED,
            PICKED.replace("a.id", "LENGTH(sha2(CAST(a.id AS STRING), 256))"),
            "something that needs Spark",
        ),
        (f"CREATE VIEW v AS {PICKED}", UNION, "reads several inputs"),
        (PICKED, PICKED.replace("a.id", "a.id + 1"), "it is not known which input rows the commits"),
    ],
)
def test_a_side_that_cannot_be_sliced_again_names_a_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was: str, now: str, what: str
) -> None:
    text, home = FILES.format(tmp_path, ""), str(tmp_path / "home")
    graph, append = Graph(plan_of(text), home, home), Category.append
    for name in "ab":
        (tmp_path / name).mkdir()
        rows = [{"t": START_US, "k": 1, "id": 1}]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), tmp_path / name / "0.parquet")
    if "not known" in what:

        def as_spark(self: Category, *given: Any, **how: Any) -> Any:
            return append(self, *given, **{**how, "covers": None})

        monkeypatch.setattr(Category, "append", as_spark)
    for runner in graph.runners.values():
        runner.step()
    assert text.count(was) == 1
    with pytest.raises(PreviewError, match=what) as error:
        preview(home, plan_of(text), plan_of(text.replace(was, now)))
    assert "run the changed query beside this one, under another application name" in (error.value.hint or "")
