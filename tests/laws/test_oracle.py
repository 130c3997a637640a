"""The oracle before it judges: its streaming half agrees with its batch half, and its batch half with DuckDB."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from differential.sql import batch_sql
from oracle import ENDED, NEVER
from streams import DETERMINED, MODES, Mode, Step, schedules, streams, windows


@pytest.mark.parametrize("mode", DETERMINED, ids="-".join)
@given(data=st.data(), pair=streams(), window=windows())
def test_streaming_without_late_rows_is_batch(mode, data, pair, window):
    steps = data.draw(schedules(pair))
    emitted = oracle.streaming_join(steps, *window, *mode)
    assert oracle.in_order(sum(emitted, [])) == oracle.batch_join(pair.left, pair.right, *window, *mode)


@pytest.mark.parametrize("mode", DETERMINED, ids="-".join)
@given(pair=streams(), window=windows())
def test_batch_is_what_duckdb_gives(mode, pair, window):
    with duckdb.connect() as db:
        for side in ("left", "right"):
            db.execute(f"CREATE TABLE {side}_rows (key BIGINT, time BIGINT, id BIGINT)")
            if rows := getattr(pair, side):
                db.executemany(f"INSERT INTO {side}_rows VALUES (?, ?, ?)", rows)
        found = db.execute(batch_sql(window.before, window.after, mode)).fetchall()
    assert oracle.in_order(found) == oracle.batch_join(pair.left, pair.right, *window, *mode)


@given(data=st.data(), pair=streams(late=True), window=windows())
def test_nothing_is_left_at_the_end(data, pair, window):
    steps = data.draw(schedules(pair))
    for mode in MODES:
        assert oracle.waiting(steps, *window, *mode)[-1] == (0, 0)


def test_a_worked_example():
    """One key, window -2 .. +3. At 4, l0 waits; r0 arrives and meets it. The right stream then passes 7, so l0
    closes; r1, on time for nobody, is too late for l0. l1 arrives late and meets the retained r1, not the evicted r0.
    """
    steps = [
        Step([("k", 4, 0)], [], (4, NEVER)),
        Step([], [("k", 5, 0)], (4, 5)),
        Step([], [], (8, 8)),
        Step([("k", 6, 1)], [("k", 7, 1)], (8, 8)),
        Step([], [], (ENDED, ENDED)),
    ]
    inner = [[], [(0, 0)], [], [(1, 1)], []]
    assert oracle.streaming_join(steps, 2, 3, "inner") == inner
    assert oracle.streaming_join(steps, 2, 3, "full") == inner
    assert oracle.streaming_join(steps, 2, 3, "semi") == [[], [(0, None)], [], [(1, None)], []]
    assert oracle.streaming_join(steps, 2, 3, "full", "one", "latest") == [[], [], [(0, 0)], [], [(1, 1)]]
    assert oracle.waiting(steps, 2, 3, "inner") == [(1, 0), (1, 1), (0, 0), (1, 1), (0, 0)]
    assert Mode("inner", "all", "first") in MODES
