"""Promises of stages that write no more pass to those who write in their place."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from dovetail.changes.heirs import pass_promises_on
from dovetail.log.category import Category
from dovetail.model.promise import Promise
from dovetail.pql.compile import compile_pql
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64())])
ALONE = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM SCRIBE("a");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("b");
    CREATE VIEW v AS SELECT a.t AS t, a.k AS k FROM a JOIN b ON a.k = b.k
        AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
    CREATE TABLE o AS SELECT t, k FROM v STORAGE SCRIBE(category = "out");
"""
BESIDE = ALONE + "CREATE TABLE p AS SELECT k FROM v STORAGE NOOP;"


def promise(time_us: int) -> Promise:
    return Promise({"t": time_us}, "fixed")


def test_of_a_join_whose_table_gets_company(tmp_path: Path) -> None:
    """The join wrote the table's category, and a stage of the table's own does so now: an application above
    reads on."""
    home = str(tmp_path)
    out = Category.create(home, "out", SCHEMA, buckets=1)
    out.append([], producer="app.v", batch=7, promise=promise(10))
    out.append([], producer="other.stage", batch=7, promise=promise(90))

    def promised() -> int | None:
        return out.commit(out.next_commit() - 1).promised("t")

    alone, beside = compile_pql(ALONE), compile_pql(BESIDE)
    pass_promises_on(home, alone)
    assert out.next_commit() == 2, "the join writes it"
    pass_promises_on(home, beside)
    pass_promises_on(home, beside)
    assert (out.next_commit(), promised()) == (3, 10), "the other stage is at 90, but this one is not"
    out.append([], producer="app.o", batch=0, promise=promise(50))
    assert promised() == 50
    pass_promises_on(home, alone)
    assert (out.next_commit(), promised()) == (5, 50), "the join is the writer again"
    out.append([], producer="app.v", batch=8, promise=promise(60))
    assert promised() == 60
    assert out.last_batch("app.o") == 0
    pass_promises_on(home, beside)
    assert promised() == 60, "what had ended is passed to it again"
    out.append([], producer="app.o", batch=1, promise=promise(70))
    assert promised() == 70


def test_one_who_promises_nothing_inherits_nothing(tmp_path: Path) -> None:
    """Its rows may be as old as they like."""
    home = str(tmp_path)
    out = Category.create(home, "out", SCHEMA, buckets=1)
    out.append([], producer="app.v", batch=0, promise=promise(10))
    rows = pa.RecordBatch.from_pylist([{"t": None, "k": 1}], out.schema)
    out.append(out.write_segments([rows], bucket_of(None, 1), time_of(None)), producer="app.o", batch=0)
    pass_promises_on(home, compile_pql(BESIDE))
    assert out.commit(out.next_commit() - 1).promised("t") is None
