"""The batch join within windows by DuckDB: every row once for each of its windows, joined on window and key.

Windows are of a minute, hopping ones every 25 seconds; sessions have a gap of 50.
"""

from __future__ import annotations

from spark.batch import Database, join_sql

SECOND = 1_000_000


def windowed(db: Database) -> None:
    """Both sides once for every window of each row, as `l_tumbling` and so on; rows without a key or a time
    once."""
    for side in "lr":
        db.execute(f"CREATE TABLE {side}_sound AS FROM {side} WHERE k IS NOT NULL AND eventtime IS NOT NULL")
        void = f"SELECT id, k, NULL, NULL FROM {side} WHERE k IS NULL OR eventtime IS NULL"
        for shape, length, every in (("tumbling", 60, 60), ("hopping", 60, 25)):
            time = "epoch_us(eventtime)"
            first = f"({time} - {length * SECOND}) // {every * SECOND} + 1"
            numbers = f"unnest(range({first}, {time} // {every * SECOND} + 1))"
            db.execute(
                f"""CREATE TABLE {side}_{shape} AS
                SELECT id, k, make_timestamp(n * {every * SECOND}) AS window_start,
                    make_timestamp(n * {every * SECOND} + {length * SECOND}) AS window_end
                FROM (SELECT id, k, {numbers} AS n FROM {side}_sound) UNION ALL {void}"""
            )
    gap = "INTERVAL 50 SECOND"
    db.execute(
        f"""CREATE TABLE sessions AS
        SELECT side, id, k, min(eventtime) OVER every_row AS window_start,
            max(eventtime) OVER every_row + {gap} AS window_end
        FROM (SELECT *, sum(begins) OVER (PARTITION BY k ORDER BY eventtime RANGE UNBOUNDED PRECEDING) AS n
            FROM (SELECT *, coalesce((eventtime - lag(eventtime) OVER (PARTITION BY k ORDER BY eventtime)
                > {gap})::INT, 1) AS begins
                FROM (SELECT 'l' AS side, * FROM l_sound UNION ALL SELECT 'r', * FROM r_sound)))
        WINDOW every_row AS (PARTITION BY k, n)"""
    )
    for side in "lr":
        void = f"SELECT id, k, NULL, NULL FROM {side} WHERE k IS NULL OR eventtime IS NULL"
        db.execute(
            f"""CREATE TABLE {side}_session AS
            SELECT id, k, window_start, window_end FROM sessions WHERE side = '{side}' UNION ALL {void}"""
        )


def window_join_sql(shape: str, how: str, select: str) -> str:
    """The join of what `windowed` made: `select` of l and r, then the bounds of the window."""
    bounds = "l.window_start, l.window_end"
    if how in ("right", "full"):
        bounds = ", ".join(f"coalesce(l.{end}, r.{end})" for end in ("window_start", "window_end"))
    on = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    return join_sql(how, f"{select}, {bounds}", on, f"l_{shape}", f"r_{shape}")
