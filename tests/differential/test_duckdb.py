"""DuckDB as an outside witness, on data too large for the oracle.

Without late rows, the join must give what DuckDB's own join of the two whole tables gives. With late rows, it
must give in every step what the definition says, written as SQL over the rows and the steps they came in.
"""

from dataclasses import replace
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from differential.sql import batch_sql, met_sql, streaming_sql
from differential.workload import SECOND, Workload, hash_of, make
from dovetail.joins.interval.step import step
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times
from dovetail.model.interval import IntervalSpec
from dovetail.model.time_codes import NO_TIME
from streams import DETERMINED, MODES, Mode

UNIFORM = Workload("uniform", 200_000, keys=20_000, before_us=180 * SECOND, after_us=180 * SECOND)
OTHERS = (
    Workload("zipf", 40_000, keys=20_000, before_us=20 * SECOND, after_us=40 * SECOND, zipf=1.0),
    replace(UNIFORM, name="one-sided", rows=100_000, before_us=-60 * SECOND, after_us=240 * SECOND, seed=5),
    replace(UNIFORM, name="colliding", rows=100_000, hashes=3_000, seed=7),
    replace(UNIFORM, name="one step", rows=100_000, steps=2, seed=11),
)
WIDEST = tuple(Mode(*words.split()) for words in ("full all first", "full one nearest", "semi all first"))
"""Where not every mode is tried: modes that between them take every path through the buffers."""

ON_TIME = [*((UNIFORM, mode) for mode in DETERMINED), *((work, mode) for work in OTHERS for mode in WIDEST)]
WIDEST_LATE = (*WIDEST, Mode("full", "one", "first"), Mode("anti", "all", "first"))
LATE = [*((UNIFORM, mode) for mode in MODES), *((work, mode) for work in OTHERS for mode in WIDEST_LATE)]


def joined(work, sides, spec, worth=None):
    """The rows of the product: (left id, right id, step), with -1 for null."""
    left, right = sides
    state = JoinState.empty(spec)
    columns = [
        Arrivals(hash_of(work, side.key), np.where(side.usable, side.time, NO_TIME), np.arange(work.rows))
        for side in sides
    ]
    found = []
    for n in range(work.steps):
        new = []
        for side, column in zip(sides, columns, strict=True):
            start, stop = np.searchsorted(side.step, [n, n + 1])
            new.append(Arrivals(*(values[start:stop] for values in column)))
        until = Times(int(left.until[n]), int(right.until[n]))
        out = step(state, *new, until, lambda a, b: left.key[a] == right.key[b], worth=worth)
        nobody = np.full(max(len(out.left_alone), len(out.right_alone)), -1)
        lefts = np.concatenate([out.left, out.left_alone, nobody[: len(out.right_alone)]])
        rights = np.concatenate([out.right, nobody[: len(out.left_alone)], out.right_alone])
        found.append((lefts, rights, np.full(len(lefts), n)))
    assert (state.left_rows, state.right_rows) == (0, 0)
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def tables(work, sides, mode):
    """The two streams for DuckDB, with the step in which each row leaves."""
    left, right = sides
    closed = left.leaves(right.until, work.after_us)
    evicted = right.leaves(left.until, work.before_us)
    if mode.match == "one" and mode.pick != "first":
        evicted = np.maximum(evicted, right.leaves(right.until, work.before_us + work.after_us))
    for side, leaves in zip(sides, ({"closed": closed}, {"evicted": evicted}), strict=True):
        yield pa.table(
            {
                "key": pa.array(side.key, mask=side.null_key),
                "time": pa.array(side.time, mask=side.time == NO_TIME),
                "id": np.arange(work.rows),
                "step": side.step,
                "stream_time": side.stream_time,
                **leaves,
            }
        )


def query(db, sql):
    """Three columns, with -1 for null."""
    return [np.ma.filled(column, -1).astype(np.int64) for column in db.sql(sql).fetchnumpy().values()]


def packed(columns):
    """Rows as sorted numbers: equal multisets are equal arrays."""
    return np.sort((columns[2] << 40) + ((columns[0] + 1) << 20) + columns[1] + 1)


@pytest.fixture(scope="module")
def db():
    with duckdb.connect() as connection:
        yield connection


made = cache(make)


def in_words(case):
    return case.name if isinstance(case, Workload) else "-".join(case)


@pytest.mark.parametrize(("work", "mode"), ON_TIME, ids=in_words)
def test_without_late_rows_it_is_the_batch_join(db, work, mode):
    for name, table in zip(("left_rows", "right_rows"), tables(work, made(work), mode), strict=True):
        db.register(name, table)
    expected = query(db, f"SELECT *, 0 FROM ({batch_sql(work.before_us, work.after_us, mode)})")
    assert len(expected[0]) > work.rows // 10, "where hardly anything comes out, nothing is proved"
    left, right, _ = joined(work, made(work), IntervalSpec(work.before_us, work.after_us, *mode))
    assert np.array_equal(packed([left, right, np.zeros_like(left)]), packed(expected))


@pytest.mark.parametrize(("work", "mode"), LATE, ids=in_words)
def test_with_late_rows_every_step_is_the_definition(db, work, mode):
    work = replace(work, late=True)
    for name, table in zip(("left_rows", "right_rows"), tables(work, made(work), mode), strict=True):
        db.register(name, table)
    db.execute(f"CREATE OR REPLACE TABLE met AS {met_sql(work.before_us, work.after_us)}")
    found = joined(work, made(work), IntervalSpec(work.before_us, work.after_us, *mode))
    assert np.array_equal(packed(found), packed(query(db, streaming_sql(mode))))
