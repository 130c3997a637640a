"""The interval join in DuckDB's SQL, over tables `left_rows` and `right_rows` with columns key, time, id."""

from streams import Mode

PICK_ORDER = {
    "first": "step, right_id",
    "nearest": "abs(right_time - left_time), right_time, right_id",
    "earliest": "right_time, right_id",
    "latest": "right_time DESC, right_id",
}


def batch_sql(before: int, after: int, mode: Mode) -> str:
    """The batch join as (left id, right id), by DuckDB's own join of that type. For match `one`: the pairs
    that a window function ranks first, and the rows that are in none of them."""
    on = f"l.key = r.key AND r.time BETWEEN l.time - ({before}) AND l.time + ({after})"
    if mode.how in ("semi", "anti"):
        exists = "EXISTS" if mode.how == "semi" else "NOT EXISTS"
        return f"SELECT l.id, NULL FROM left_rows l WHERE {exists} (SELECT 1 FROM right_rows r WHERE {on})"
    if mode.match == "all":
        return f"SELECT l.id, r.id FROM left_rows l {mode.how} JOIN right_rows r ON {on}"
    return f"""
        WITH picked AS (
            SELECT l.id AS left_id, l.time AS left_time, r.id AS right_id, r.time AS right_time
            FROM left_rows l JOIN right_rows r ON {on}
            QUALIFY row_number() OVER (PARTITION BY l.id ORDER BY {PICK_ORDER[mode.pick]}) = 1
        )
        SELECT left_id, right_id FROM picked {_alone(mode, "")}"""


def met_sql(before: int, after: int) -> str:
    """All pairs of rows that meet in a stream, late or not, and the step in which they do.

    The tables also have `step`, in which a row came, and `stream_time`, its own side's time just before.
    """
    return f"""
        SELECT l.id AS left_id, l.time AS left_time, r.id AS right_id, r.time AS right_time,
               l.closed AS closed, greatest(l.step, r.step) AS step
        FROM left_rows l JOIN right_rows r
          ON l.key = r.key AND r.time BETWEEN l.time - ({before}) AND l.time + ({after})
         AND (l.step = r.step
              OR (l.step < r.step AND r.stream_time <= l.time + ({after}))
              OR (r.step < l.step AND l.stream_time <= r.time + ({before})))"""


def streaming_sql(mode: Mode) -> str:
    """What each step emits, as (left id, right id, step), over a table `met` made by `met_sql`.

    The tables also have `closed` (left) and `evicted` (right), the step in which a row leaves.
    """
    if mode.how == "semi":
        return "SELECT left_id, NULL, min(step) FROM met GROUP BY left_id"
    if mode.how == "anti":
        return "SELECT id, NULL, closed FROM left_rows ANTI JOIN met ON id = left_id"
    step = "step" if mode.match == "all" or mode.pick == "first" else "closed"
    order = f"QUALIFY row_number() OVER (PARTITION BY left_id ORDER BY {PICK_ORDER[mode.pick]}) = 1"
    return f"""
        WITH picked AS (FROM met {order if mode.match == "one" else ""})
        SELECT left_id, right_id, {step} FROM picked {_alone(mode, ", closed", ", evicted")}"""


def _alone(mode: Mode, left_columns: str, right_columns: str = "") -> str:
    left = f"UNION ALL SELECT id, NULL{left_columns} FROM left_rows ANTI JOIN picked ON id = left_id"
    right = f"UNION ALL SELECT NULL, id{right_columns} FROM right_rows ANTI JOIN picked ON id = right_id"
    keeps = {"left": left, "right": right, "full": f"{left} {right}"}
    return keeps.get(mode.how, "")
