"""Law (complete): with disorder below max_delay, a drained join is the batch join, row for row.

Whatever the number of input files, of micro-batches and of buckets. With `HYPOTHESIS_PROFILE=thorough` on one
million rows a side, and each join type meets each number of files and each number of buckets.
"""

from __future__ import annotations

import pytest

from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import count, database, differences, join_sql
from spark.events import events, write_files

ROWS = 1_000_000 if THOROUGH else 100_000
KEYS = ROWS // 5
JOINS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}
BUCKETS = (1, 16, 64)
PAIR = "l.eventtime AS t, l.id AS l, l.v AS lv, r.id AS r, r.v AS rv"
LEFT_ONLY = "l.eventtime AS t, l.id AS l, l.v AS lv"


def select(how: str) -> str:
    return LEFT_ONLY if how in ("semi", "anti") else PAIR


CUTS = ((0, 20, 6), (1, 1, 1)) if THOROUGH else ((0, 20, 6),)


@pytest.mark.parametrize(("shift", "files", "files_a_batch"), CUTS)
def test_every_join_type_equals_the_batch_join(
    application: Application, shift: int, files: int, files_a_batch: int
) -> None:
    left, right = events(ROWS, KEYS, seed=files), events(ROWS, KEYS, seed=files + 100)
    write_files(left, application.folder / "l", files)
    write_files(right, application.folder / "r", files)
    source = f'format = "parquet", maxFilesPerTrigger = {files_a_batch}'
    pql = f"""
        CREATE APPLICATION every_type;
        CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", {source});
        CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{{here}}/r", {source});
    """
    for n, (how, words) in enumerate(JOINS.items()):
        pql += f"""
        CREATE VIEW {how}_join AS SELECT {select(how)} FROM l {words} r ON l.k = r.k
            AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
            WITH (buckets = {BUCKETS[(n + shift) % 3]}, max_step_rows = {ROWS // 2});
        CREATE TABLE {how}_rows AS SELECT * FROM {how}_join STORAGE PARQUET(path = "{{here}}/{how}");
        """
    summary = application.run(pql)

    bounds = "l.eventtime - INTERVAL 2 MINUTE AND l.eventtime + INTERVAL 3 MINUTE"
    on = f"l.k = r.k AND r.eventtime BETWEEN {bounds}"
    db = database(l=left, r=right, **{f"{how}_found": application.files(how) for how in JOINS})
    for how in JOINS:
        expected = join_sql(how, select(how), on)
        assert count(db, expected) > ROWS / 10
        assert differences(db, f"FROM {how}_found", expected) == {}, how
    for join in summary.joins:
        assert (join.left_rows, join.right_rows) == (ROWS, ROWS)
        assert (join.late_rows, join.open_rows, join.retained_rows) == (0, 0, 0)
