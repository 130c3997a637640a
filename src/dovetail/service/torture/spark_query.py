"""The query of a case on Spark, by mode: what `quick_kinds.py` says to the operator, in PQL. Times are
seconds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dovetail.service.torture.modes import Mode
from dovetail.service.torture.workload import (
    AFTER,
    BEFORE,
    EVERY,
    GAP,
    LEFT_ROWS,
    LENGTH,
    LONGEST,
    MAX_DELAY,
    RIGHT_ROWS,
)

NAME, VIEW = "torture", "pairs"
_QUERY = """\
CREATE APPLICATION {name};
CREATE INPUT TABLE l {left};
CREATE INPUT TABLE r {right};
CREATE VIEW {view} AS SELECT {columns} FROM l {join} JOIN r ON {on}
  WITH (tasks = 2, max_step_rows = 60{options});
CREATE TABLE result AS SELECT * FROM {view} STORAGE {storage};
"""
_VALUES = {"max": "MAX(r.id)", "min": "MIN(abs(r.id - l.id))"}
_JOINS = {"semi": "LEFT SEMI", "anti": "LEFT ANTI"}
_BETWEEN = (
    "r.eventtime BETWEEN "
    f"l.eventtime - INTERVAL '{BEFORE} seconds' AND l.eventtime + INTERVAL '{AFTER} seconds'"
)
_CONDITIONS = {
    "near": "abs(ascii(l.k) - ascii(r.k)) <= 1",
    "next": "abs(ascii(l.k) - ascii(r.k)) <= 2 AND l.k <> r.k",
}
_WINDOWS = {
    "tumbling": f"TUMBLING '{LENGTH} seconds'",
    "hopping": f"HOPPING '{LENGTH} seconds' EVERY '{EVERY} seconds'",
    "session": f"SESSION '{GAP} seconds'",
}


class QueryEnds(NamedTuple):
    """Where rows come from, columns included, and where they go."""

    left: str
    right: str
    storage: str


def ends_here(folder: Path, into_log: bool) -> QueryEnds:
    return QueryEnds(
        '(eventtime, k, id) FROM SCRIBE("l")',
        f'(eventtime, k, id) FROM FILES("{folder}/r", format = "parquet")',
        'SCRIBE(category = "out")' if into_log else f'PARQUET(path = "{folder}/out")',
    )


def query(mode: Mode, ends: QueryEnds) -> str:
    columns = ["l.id AS l"] if mode.how in _JOINS else ["l.id AS l", "r.id AS r"]
    if mode.windowed:
        columns += ["window_start AS s", "window_end AS e"]
    return _QUERY.format(
        name=NAME,
        view=VIEW,
        left=ends.left,
        right=ends.right,
        columns=", ".join(columns),
        join=_JOINS.get(mode.how, mode.how.upper()),
        on=_on(mode),
        options="".join(f", {option}" for option in _options(mode)),
        storage=ends.storage,
    )


def _on(mode: Mode) -> str:
    match mode.kind:
        case "interval":
            return f"l.k = r.k AND {_BETWEEN}"
        case "theta":
            return f"{_CONDITIONS[mode.condition]} AND {_BETWEEN}"
        case "theta by rows":
            return _CONDITIONS[mode.condition]
    return f"l.k = r.k WITHIN {_WINDOWS[mode.kind]}"


def _options(mode: Mode) -> list[str]:
    if mode.kind == "theta by rows":
        return [f"left_window = ROWS {LEFT_ROWS}", f"right_window = ROWS {RIGHT_ROWS}"]
    options = [f"max_delay = INTERVAL '{MAX_DELAY} seconds'"]
    if mode.pick:
        pick = _VALUES.get(mode.pick, f'"{mode.pick}"')
        options += ['match = "one"', f"pick = {pick}"]
    if mode.kind == "session":
        options.append(f"max_session = INTERVAL '{LONGEST} seconds'")
    elif mode.windowed:
        options.append(f'emit = "{"eager" if mode.eager else "lazy"}"')
    return options
