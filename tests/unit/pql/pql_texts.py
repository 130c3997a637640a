"""Hypothesis strategies for valid PQL texts: joins of all kinds over views, filters and aggregations."""

from __future__ import annotations

from hypothesis import strategies as st

LEFT_ITEMS = [
    "l.t AS at",
    "l.k AS k",
    "abs(l.x) AS ax",
    "l.x + 1 AS more",
    "'const' AS c",
    "(l.s).u AS u",
    "7 AS n",
]
RIGHT_ITEMS = ["r.y AS y", "coalesce(r.z, 'none') AS z", "l.x + r.y AS both", "r.t AS rt"]
KEYS = ["l.k = r.k", "r.k = l.k", "lower(l.k) = r.k", "l.k = r.k AND l.x = r.y", "(l.k = r.k)"]
WINDOWS = [
    "r.t BETWEEN l.t - INTERVAL '{a} seconds' AND l.t + INTERVAL '{b} seconds'",
    "l.t BETWEEN r.t - INTERVAL {b} SECONDS AND r.t + INTERVAL {a} SECONDS",
    "(r.t >= l.t - INTERVAL '{a}' SECOND AND r.t <= l.t + INTERVAL '{b}' SECOND)",
    "l.t - INTERVAL '{a} seconds' < r.t AND l.t + INTERVAL '{b} seconds' > r.t",
    "r.t - l.t BETWEEN -INTERVAL '{a} seconds' AND INTERVAL '{b} seconds'",
]
HOWS = ["", "INNER", "LEFT", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI"]
OPTIONS = [
    "",
    ' WITH (match = "one")',
    ' WITH (match = "one", pick = "nearest", buckets = 4)',
    ' WITH (match = "one", pick = MAX(y))',
    ' WITH (match = "one", pick = MIN(abs(r.y - l.x) + 1))',
    " WITH (max_delay = INTERVAL '5 minutes', tasks = 2)",
    ' WITH (compression = "zstd")',
    " WITH (left_max_delay = INTERVAL 0 SECONDS, max_step_rows = 100)",
]
TABLES = [
    "CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;",
    'CREATE TABLE o AS SELECT k FROM v STORAGE SCRIBE(category = "out", shard = k, buckets = 4);',
    'CREATE TABLE o AS SELECT k FROM v STORAGE SCRIBE(category = "out", compression = "none");',
    "CREATE TABLE o AS SELECT k FROM v STORAGE SCRIBE(category='o', keep=INTERVAL 9 DAYS, keep_bytes=5);",
    "CREATE TABLE o AS SELECT window.start AS since, k, count(*) AS n FROM v "
    "GROUP BY window(at, '1 hour'), k STORAGE PARQUET(path = \"/o\");",
    "CREATE TABLE o AS SELECT k FROM v STORAGE CONSOLE; "
    'CREATE TABLE p AS SELECT at FROM v STORAGE JSON(path = "/p");',
]


@st.composite
def programs(draw: st.DrawFn, *, how: str | None = None, plain: bool = False) -> str:
    """`plain`: without what only a stream has, so that a batch engine gives the same rows."""
    how = draw(st.sampled_from(HOWS)) if how is None else how
    options = [option for option in OPTIONS if not plain or "match" not in option]
    if how in ("LEFT SEMI", "LEFT ANTI"):
        options = [option for option in options if "MAX" not in option and "MIN" not in option]
    tables = [table for table in TABLES if not plain or "window" not in table]
    items = draw(st.lists(st.sampled_from(LEFT_ITEMS[2:]), unique=True, max_size=3))
    if "SEMI" not in how and "ANTI" not in how:
        items += draw(st.lists(st.sampled_from(RIGHT_ITEMS), unique=True, max_size=3))
    items = [*LEFT_ITEMS[:2], *draw(st.permutations(items))]
    window = draw(st.sampled_from(WINDOWS)).format(a=draw(st.integers(1, 9)), b=draw(st.integers(1, 90)))
    on = [draw(st.sampled_from(KEYS)), window]
    if how in ("", "INNER"):
        on += draw(st.lists(st.sampled_from(["l.x > 1", "r.y < 5", "l.x <> r.y", "TRUE"]), unique=True))
    on = draw(st.permutations(on))
    where = draw(st.sampled_from(["", " WHERE l.x > 0", " WHERE l.k <> '' AND (l.x = 1 OR l.x = 2)"]))
    types = draw(st.booleans())
    return f"""CREATE APPLICATION app;
CREATE INPUT TABLE left (t{" TIMESTAMP" * types}, k, x{" INT" * types}, s STRUCT<u: INT>) FROM SCRIBE("left");
CREATE INPUT TABLE right (t, k, y{" INT" * types}, z) FROM FILES("/r", format = "json");
CREATE VIEW plain AS SELECT * FROM left WHERE x IS NOT NULL;
CREATE VIEW v AS SELECT {", ".join(items)}
FROM {draw(st.sampled_from(["left", "plain"]))} AS l {how} JOIN right AS r
ON {" AND ".join(on)}{draw(st.sampled_from(options)) if not {"l.x <> r.y"} & set(on) else ""}{where};
{draw(st.sampled_from(tables))}
"""
