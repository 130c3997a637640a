"""The oracle before it judges: its streaming half agrees with its batch half, its batch half with DuckDB."""

from itertools import chain

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from differential.sql import batch_sql
from laws.effort import tried
from oracle import ENDED, NEVER
from streams import DETERMINED, MODES, Step, schedules, streams, windows


@tried
@given(data=st.data(), pair=streams(), window=windows())
def test_streaming_without_late_rows_is_batch(data, pair, window):
    steps = data.draw(schedules(pair))
    for mode in DETERMINED:
        emitted = oracle.in_order(chain(*oracle.streaming_join(steps, *window, *mode)))
        assert emitted == oracle.batch_join(pair.left, pair.right, *window, *mode), mode


@pytest.fixture(scope="module")
def db():
    with duckdb.connect() as connection:
        for side in ("left", "right"):
            connection.execute(f"CREATE TABLE {side}_rows (key BIGINT, time BIGINT, id BIGINT)")
        yield connection


@tried
@given(pair=streams(), window=windows())
def test_batch_is_what_duckdb_gives(db, pair, window):
    for side, rows in (("left", pair.left), ("right", pair.right)):
        db.execute(f"DELETE FROM {side}_rows")
        for row in rows:
            db.execute(f"INSERT INTO {side}_rows VALUES (?, ?, ?)", row)
    for mode in DETERMINED:
        found = db.execute(batch_sql(*window, mode)).fetchall()
        assert oracle.in_order(found) == oracle.batch_join(pair.left, pair.right, *window, *mode), mode


@tried
@given(data=st.data(), pair=streams(late=True), window=windows())
def test_nothing_is_left_at_the_end(data, pair, window):
    steps = data.draw(schedules(pair))
    for mode in MODES:
        assert oracle.waiting(steps, *window, *mode)[-1] == (0, 0)


def test_a_worked_example():
    """One key, window -2 .. +3. l0 waits at 4; r0 comes at 5 and they meet. Both times pass to 8: l0 closes,
    for nothing up to 7 is expected any more, and r0 is evicted. Late, l1 and r1 come together and meet; r1
    would have met l0, and l1 r0, had they not been gone."""
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
