"""What DuckDB is asked where PQL says it shorter: windows of rows, joins within them, and picked partners."""

from __future__ import annotations

EPOCH = "TIMESTAMPTZ '1970-01-01 00:00:00+00'"


def bucket(seconds: int, time: str) -> str:
    """The start of a tumbling window."""
    return f"time_bucket(INTERVAL {seconds} SECOND, {time}, {EPOCH})"


def hopping(relation: str, time: str, seconds: int) -> str:
    """Each row once for each of its two windows, which begin at `since`."""
    starts = f"{bucket(seconds // 2, time)} - to_seconds(unnest([0, {seconds // 2}]))"
    return f"(SELECT *, {starts} AS since FROM {relation} WHERE {time} IS NOT NULL)"


def sessions(relation: str, time: str, key: str, gap: int) -> str:
    """Each row with the number of its session of the key."""
    new = f"coalesce({time} >= lag({time}) OVER turn + INTERVAL {gap} SECOND, true)::INT"
    marked = f"SELECT *, {new} AS begins FROM {relation} WHERE {time} IS NOT NULL"
    marked += f" WINDOW turn AS (PARTITION BY {key} ORDER BY {time})"
    turn = f"(PARTITION BY {key} ORDER BY {time} RANGE UNBOUNDED PRECEDING)"
    return f"(SELECT *, sum(begins) OVER {turn} AS since FROM ({marked}))"


def together(
    left: str,
    left_time: str,
    left_keys: list[str],
    right: str,
    right_time: str,
    right_keys: list[str],
    gap: int,
) -> tuple[str, str]:
    """Both sides of a join within sessions: each row with the number of its session, made of the rows of both
    sides that have its key. None without a key or a time."""
    names = [f"key_{number}" for number in range(len(left_keys))]
    key = ", ".join(names)

    def marks(relation: str, time: str, keys: list[str]) -> str:
        asked = ", ".join(f"{column} AS {name}" for column, name in zip(keys, names, strict=True))
        known = " AND ".join(f"{column} IS NOT NULL" for column in (time, *keys))
        return f"SELECT {asked}, {time} AS moment FROM {relation} AS own WHERE {known}"

    both = f"{marks(left, left_time, left_keys)} UNION {marks(right, right_time, right_keys)}"
    turn = f"(PARTITION BY {key} ORDER BY moment)"
    new = f"coalesce(moment > lag(moment) OVER {turn} + INTERVAL {gap} SECOND, true)::INT"
    begun = f"SELECT *, {new} AS begins FROM ({both})"
    marked = f"SELECT {key}, moment, sum(begins) OVER {turn} AS since FROM ({begun})"

    def with_session(relation: str, time: str, keys: list[str]) -> str:
        same = " AND ".join(f"own.{column} = {name}" for column, name in zip(keys, names, strict=True))
        same += f" AND own.{time} = moment"
        return f"(SELECT own.*, since FROM {relation} AS own LEFT JOIN ({marked}) ON {same})"

    return with_session(left, left_time, left_keys), with_session(right, right_time, right_keys)


def join_text(items: str, left: str, kind: str, right: str, condition: str) -> str:
    """Semi and anti joins as EXISTS: of a SEMI JOIN without an equality DuckDB 2.0 makes the least integer of
    nulls on the left."""
    if kind in ("LEFT SEMI", "LEFT ANTI"):
        exists = "EXISTS" if kind == "LEFT SEMI" else "NOT EXISTS"
        return (
            f"SELECT {items} FROM {left} AS l WHERE {exists} (SELECT 1 FROM {right} AS r WHERE {condition})"
        )
    return f"SELECT {items} FROM {left} AS l {kind} JOIN {right} AS r ON {condition}"


def picks_text(items: str, left: str, kind: str, right: str, condition: str, order: str) -> str:
    """A join in which each left row has its first partner by an order."""
    joins = {
        "INNER": ("JOIN", "JOIN"),
        "LEFT": ("LEFT JOIN", "LEFT JOIN"),
        "RIGHT": ("JOIN", "RIGHT JOIN"),
        "FULL": ("FULL JOIN", "FULL JOIN"),
    }
    first, then = joins[kind]
    return (
        f"WITH l AS MATERIALIZED (SELECT *, row_number() OVER () AS at FROM {left}), "
        f"r AS MATERIALIZED (SELECT *, row_number() OVER () AS at FROM {right} AS r), "
        f"picked AS (SELECT l.at AS of_l, r.at AS of_r FROM l JOIN r ON {condition} "
        f"QUALIFY row_number() OVER (PARTITION BY l.at ORDER BY {order}) = 1) "
        f"SELECT {items} FROM l {first} picked ON of_l = l.at {then} r ON r.at = of_r"
    )
