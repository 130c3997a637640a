"""Random applications over three streams, each as PQL and as what DuckDB is asked: same seed, same query.

The text of both is nearly the same, because PQL is SQL. What differs is said where it is written. `plain`
queries compute only what needs no Spark: `dovetail.local` runs them, and DuckDB aggregates for it
(`local_duckdb.py`). The others compute more, and Spark runs them (`tests/spark/test_random_queries.py`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.csv import write_csv

import dovetail.log
from differential.duckdb_text import bucket, hopping, join_text, picks_text, sessions, together

ROWS = 120
START_US = 1_700_000_000_000_000
STREAMS = ("a", "b", "c")
LOOKUPS = ("names", "versions")
PARQUET = ("parquet",) * len(STREAMS)
TYPES = {"t": "TIMESTAMP", "k": "BIGINT", "s": "STRING", "x": "INT", "d": "DOUBLE", "id": "BIGINT"}
FUNCTIONS = """
CREATE FUNCTION tripled(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return None if x is None else 3 * x $$;
CREATE FUNCTION shouted(s STRING) RETURNS STRING LANGUAGE PYTHON PARAMETER STYLE ARROW AS $$
import pyarrow.compute as pc
return pc.utf8_upper(s)
$$;
CREATE FUNCTION halved(d DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON PARAMETER STYLE PANDAS AS $$ return d / 2 $$;
"""
PICKING = ("INNER", "LEFT", "RIGHT", "FULL")
KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")


def stream(seed: int) -> pa.Table:
    """Rows in the order of their times, over ten minutes, with nulls in every column but the time."""
    rng = random.Random(seed)

    def some(values: list) -> list:
        return [None if rng.random() < 0.05 else rng.choice(values) for _ in range(ROWS)]

    times = sorted(START_US + rng.randrange(600_000_000) for _ in range(ROWS))
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(some(list(range(8))), pa.int64()),
            "s": pa.array(some(["red", "green", "Blue", "", "ünder"]), pa.string()),
            "x": pa.array(some(list(range(-4, 12))), pa.int32()),
            "d": pa.array(some([-1.5, 0.0, 0.25, 2.0, 7.75]), pa.float64()),
            "id": pa.array(range(ROWS), pa.int64()),
        }
    )


@dataclass
class Query:
    """`pql` are statements after the inputs; the last one makes the table. `sql`: the same for DuckDB, as
    views, of which the last is the answer."""

    seed: int
    pql: list[str] = field(default_factory=list)
    sql: list[str] = field(default_factory=list)

    @property
    def table(self) -> str:
        return f"q{self.seed}"


class Maker:
    def __init__(self, seed: int, *, plain: bool, forms: bool) -> None:
        self.rng = random.Random(seed)
        self.more = random.Random(f"more of {seed}")  # so that what `rng` draws stays what it was
        self.drawn = random.Random(f"forms of {seed}")
        self.later = random.Random(f"relations of {seed}")
        self.plain, self.forms = plain, forms
        self.shown: list[str] = []  # the columns of the last join
        self.query = Query(seed)
        self.views = 0

    def made(self) -> Query:
        left = self._stream()
        left = self._joined(left)
        if self.rng.random() < 0.4:
            left = self._joined(left)
        self._table(left)
        return self.query

    def _form(self, chance: float) -> bool:
        return self.drawn.random() < chance and self.forms

    def _relation(self, chance: float) -> bool:
        return self.later.random() < chance and self.forms

    def _name(self) -> str:
        self.views += 1
        return f"{self.query.table}_{self.views}"

    def _view(self, name: str, pql: str, sql: str | None = None) -> None:
        self.query.pql.append(f"CREATE VIEW {name} AS {pql};")
        self.query.sql.append(f"CREATE VIEW {name} AS {sql or pql};")

    def _stream(self) -> tuple[str, dict[str, str]]:
        """A relation and its columns by what they are: an input, or a view that computes and filters."""
        source, columns = self.rng.choice(STREAMS), {name: name for name in TYPES}
        drawn = self.rng.random()
        if drawn < 0.2:
            return self._called(source), columns
        if drawn < 0.35:
            return self._closed(source), columns
        if self.plain or drawn < 0.7:
            if self._relation(0.35):
                united = self.later.random() < 0.4 and not self.plain  # only Spark puts inputs together
                return (self._united if united else self._looked_up)(source), columns
            return source, columns
        name = self._name()
        number = self._number()
        number = self._seen() if self._form(0.3) else number
        items = ["t", "k", "id", f"{number} AS x", f"{self._text()} AS s", "d"]
        self._view(name, f"SELECT {', '.join(items)} FROM {source} WHERE {self._condition()}")
        return name, columns

    def _called(self, source: str) -> str:
        """A view that calls functions of the query."""
        name = self._name()
        kept = self._condition_here()
        self._view(
            name,
            f"SELECT t, k, id, tripled(x) AS x, shouted(s) AS s, halved(d) AS d FROM {source} WHERE {kept}",
            f"SELECT t, k, id, x * 3 AS x, upper(s) AS s, d / 2 AS d FROM {source} WHERE {kept}",
        )
        return name

    def _united(self, source: str) -> str:
        """A view of the rows of two inputs, or of some of them."""
        name, items = self._name(), "t, k, s, x, d, id"
        other = self.later.choice([one for one in STREAMS if one != source])
        kept = self.later.choice(("", " WHERE x > 0", " WHERE id % 5 <> 2"))
        self._view(name, f"SELECT {items} FROM {source} UNION ALL SELECT {items} FROM {other}{kept}")
        return name

    def _looked_up(self, source: str) -> str:
        """A view of rows with what a table says of their key: as it is, or as it was at their time."""
        name, kind = self._name(), self.later.choice(("", "LEFT "))
        items = "l.t AS t, l.k AS k, u.s AS s, l.x AS x, u.d AS d, l.id AS id"
        selected = f"SELECT {items} FROM {source} AS l"
        if self.later.random() < 0.5:
            key = self.later.choice(("l.k = u.k", "l.s = u.s", "l.k = u.k AND l.s = u.s"))
            if not kind and self.later.random() < 0.4:
                key += " AND l.x < u.id"
            self._view(
                name,
                f"{selected} {kind}JOIN TABLE names AS u ON {key}",
                f"{selected} {kind}JOIN names AS u ON {key}",
            )
        else:
            key = self.later.choice(("l.k = u.k", "l.s = u.s"))
            self._view(
                name,
                f"{selected} {kind}JOIN TABLE versions FOR SYSTEM_TIME AS OF l.t AS u ON {key}",
                f"{selected} ASOF {kind}JOIN versions AS u ON {key} AND l.t >= u.t",
            )
        return name

    def _condition_here(self) -> str:
        return self.rng.choice(("x > 0", "id % 5 <> 2", "k < 4 OR k IS NULL", "x BETWEEN -1 AND 9"))

    def _closed(self, source: str) -> str:
        """A view of closed windows, or of some rows of them."""
        name, seconds = self._name(), self.rng.choice((15, 40))
        start = bucket(seconds, "t")
        window = f"window(t, '{seconds} seconds')"
        shape = self.rng.choice(("groups", "groups", "distinct", "ranked"))
        if shape == "groups":
            items = "k, s, MAX(x) AS x, MIN(d) AS d, MAX(id) AS id"
            having = self.rng.choice(("", " HAVING COUNT(DISTINCT x) > 1"))
            self._view(
                name,
                f"SELECT window.end AS t, {items} FROM {source} GROUP BY {window}, k, s{having}",
                f"SELECT {start} + INTERVAL {seconds} SECOND AS t, {items} FROM {source} "
                f"GROUP BY {start}, k, s{having}",
            )
        elif shape == "distinct":
            items = "k, s, x, NULLIF(d, d) AS d, k AS id"
            self._view(
                name,
                f"SELECT DISTINCT {window}.start AS t, {items} FROM {source}",
                f"SELECT DISTINCT {start} AS t, {items} FROM {source}",
            )
        elif self.more.random() < 0.4:
            order = "ORDER BY id DESC"
            self._view(
                name,
                f"SELECT DISTINCT ON ({window}, k) t, k, s, x, d, id FROM {source} {order}",
                f"SELECT DISTINCT ON ({start}, k) t, k, s, x, d, id FROM {source} "
                f"ORDER BY {start}, k, id DESC",
            )
        else:
            ranked = "ROW_NUMBER() OVER (PARTITION BY {}, k ORDER BY id DESC) <= 2"
            self._view(
                name,
                f"SELECT t, k, s, x, d, id FROM {source} QUALIFY {ranked.format(window)}",
                f"SELECT t, k, s, x, d, id FROM {source} QUALIFY {ranked.format(start)}",
            )
        return name

    def _number(self) -> str:
        return self.rng.choice(
            ["x", "x + 3", "abs(x)", "x * 2 - 1", "coalesce(x, 5)", "CASE WHEN x > 4 THEN x ELSE 0 END"]
        )

    def _seen(self) -> str:
        """A number that depends on the time zone."""
        return self.drawn.choice(("CAST(hour(t) AS INT)", "CAST(minute(t) AS INT)", "CAST(day(t) AS INT)"))

    def _text(self) -> str:
        return self.rng.choice(["s", "upper(s)", "coalesce(s, 'none')", "s || '!'", "substring(s, 1, 2)"])

    def _condition(self) -> str:
        return self.rng.choice(
            [
                "x > 0",
                "x IS NOT NULL AND id % 5 <> 2",
                "s IN ('red', 'green') OR k < 4",
                "x BETWEEN -1 AND 9",
                "NOT (s = 'red')",
                "length(s) > 3 OR d >= 0.25",
            ]
        )

    def _joined(self, left: tuple[str, dict[str, str]]) -> tuple[str, dict[str, str]]:
        """A view that joins a relation with a stream."""
        name, (relation, columns), (other, _) = self._name(), left, self._stream()
        read, first = other, ""
        if self.rng.random() < 0.3:
            other = f"(SELECT id, d, x, s, k, t FROM {other})"
        asked = other
        able = not self.plain or (read in STREAMS and relation in STREAMS)  # Arrow casts no column of a call
        if self._form(0.3) and able:
            other = f"(SELECT t, k, s, x, d, id FROM {read} WHERE {self._condition_here()})"
            asked, first = f"{name}_those", f"WITH {name}_those AS {other} "
        kind = self.rng.choice(KINDS)
        keyed = self.rng.random() < 0.8
        on, within = [], ""
        keys = self.rng.choice((["k"], ["s"], ["k", "s"])) if keyed else []
        on += [self._equal(columns[key], key, able) for key in keys]
        cast = any("CAST" in equal for equal in on)
        compares = not keyed or self.rng.random() < 0.3
        sql_window = ""
        if keyed and self.rng.random() < 0.25:
            seconds = self.rng.choice((20, 45))
            shape, compares = f"TUMBLING '{seconds} seconds'", False
            if kind == "INNER" and seconds == 20 and self._form(0.6):
                shape = f"HOPPING '{seconds} seconds' EVERY '{seconds // 2} seconds'"
            within = f" WITHIN {shape} OF l.{columns['t']}, r.t"
            sql_window = " = ".join(bucket(seconds, time) for time in (f"l.{columns['t']}", "r.t"))
        window = self._window(columns["t"])
        # Afterwards, and of keys that are no whole numbers, only Spark compares.
        if compares and not (self.plain and keyed and (kind == "INNER" or keys != ["k"] or cast)):
            on.append(self._compared(columns))
        items, made = self._items(kind, columns)
        conditions = " AND ".join(on)
        pql_on = conditions if within else f"{conditions} AND {window}"
        sql_on = f"{conditions} AND {sql_window or window}"
        from_left, from_right = relation, other
        if within and "HOPPING" not in within and not cast and self._relation(0.4):
            gap = self.later.choice((2, 5))
            within = f" WITHIN SESSION '{gap} seconds' OF l.{columns['t']}, r.t"
            lefts, rights = [columns[key] for key in keys], keys
            from_left, from_right = together(relation, columns["t"], lefts, other, "t", rights, gap)
            sql_on = f"{conditions} AND l.since = r.since"
        sql = join_text(items, from_left, kind, from_right, sql_on)
        if "HOPPING" in within:
            both = (hopping(relation, columns["t"], seconds), hopping(other, "t", seconds))
            sql = join_text(items, both[0], kind, both[1], f"{conditions} AND l.since = r.since")
        options = ""
        if kind in PICKING and read in STREAMS and self.more.random() < 0.3 and "HOPPING" not in within:
            pick, order = self._pick(columns["t"])
            options = f' WITH (match = "one", pick = {pick})'
            sql = picks_text(items, from_left, kind, from_right, sql_on, order)
        condition = f"ON {pql_on}"
        if within and not cast and columns["k"] == "k" and self._form(0.7):
            condition = f"USING ({', '.join(keys)})"
        joined = f"{relation} AS l {kind} JOIN {asked} AS r {condition}{within}{options}"
        self._view(name, f"{first}SELECT {items} FROM {joined}", sql)
        return name, made

    def _equal(self, left: str, key: str, able: bool) -> str:
        """Two columns are equal, also by a CAST."""
        if key == "k" and self._form(0.25) and able:
            casts = [f"CAST(l.{left} AS STRING) = CAST(r.k AS STRING)", f"l.{left} = CAST(r.x AS BIGINT)"]
            return self.drawn.choice(casts)
        return f"l.{left} = r.{key}"

    def _pick(self, time: str) -> tuple[str, str]:
        """Which partner a left row gets: for PQL, and the order whose first it is. No two are equal there."""
        return self.more.choice(
            [
                ("MAX(r.id)", "r.id DESC"),
                ("MIN(abs(r.id - 60))", "abs(r.id - 60), r.t"),
                ('"latest"', "r.t DESC"),
                ('"nearest"', f"abs(epoch_us(r.t) - epoch_us(l.{time})), r.t"),
            ]
        )

    def _window(self, time: str) -> str:
        before, after = self.rng.choice(((0, 30), (20, 20), (45, -10), (-5, 40)))
        return f"r.t BETWEEN l.{time} - INTERVAL '{before} seconds' AND l.{time} + INTERVAL '{after} seconds'"

    def _compared(self, columns: dict[str, str]) -> str:
        return self.rng.choice(
            [
                f"l.{columns['x']} < r.x",
                f"abs(l.{columns['x']} - r.x) <= 1",
                f"l.{columns['d']} >= r.d",
                f"l.{columns['x']} + r.x = 7",
                f"l.{columns['s']} <> r.s",
            ]
        )

    def _items(self, kind: str, columns: dict[str, str]) -> tuple[str, dict[str, str]]:
        """What a join returns, and where a later one finds its columns: on a side that has no nulls."""
        lefts = [f"l.{column} AS {kept}_{self.views}" for kept, column in columns.items()]
        made = {kept: f"{kept}_{self.views}" for kept in columns}
        self.shown = list(made.values())
        if kind in ("LEFT SEMI", "LEFT ANTI"):
            return ", ".join(lefts), made
        self.shown += [f"r{name}_{self.views}" for name in TYPES]
        rights = [f"r.{name} AS r{name}_{self.views}" for name in ("t", "id", "x", "s", "k", "d")]
        if kind == "RIGHT":
            made = {name: f"r{name}_{self.views}" for name in TYPES}
        return ", ".join([*lefts, *rights]), made

    def _table(self, left: tuple[str, dict[str, str]]) -> None:
        relation, columns = left
        table, answer = self.query.table, f"{self.query.table}_answer"
        if self.rng.random() < 0.35:
            pql, sql = self.rng.choice((self._aggregate, self._top))(relation, columns)
        else:
            items = [f"{column} AS {kept}" for kept, column in columns.items() if kept != "t"]
            if self.forms:
                items = self.shown
            where = "" if self.plain else f" WHERE {columns['x']} IS NULL OR {columns['x']} > -3"
            pql = sql = f"SELECT {', '.join(items)} FROM {relation}{where}"
        self.query.pql.append(f'CREATE TABLE {table} AS {pql} STORAGE SCRIBE(category = "{table}");')
        self.query.sql.append(f"CREATE VIEW {answer} AS {sql};")

    def _aggregate(self, relation: str, columns: dict[str, str]) -> tuple[str, str]:
        time, key, number = columns["t"], columns["k"], columns["x"]
        wanted = f"{key} AS k, COUNT(*) AS n, SUM({number}) AS x, MIN({columns['s']}) AS s, "
        wanted += f"COUNT(DISTINCT {columns['id']}) AS ids"
        having = self.rng.choice(("", " HAVING COUNT(*) > 1"))
        shape = (
            self.drawn.choice(("tumbling", "tumbling", "hopping", "session")) if self.forms else "tumbling"
        )
        if shape == "session" and self.plain:
            shape = "tumbling"  # only Spark hashes the keys of sessions
        window, rows, since = {
            "tumbling": (f"window({time}, '1 minute')", relation, bucket(60, time)),
            "hopping": (f"window({time}, '1 minute', '30 seconds')", hopping(relation, time, 60), "since"),
            "session": (f"session_window({time}, '7 seconds')", sessions(relation, time, key, 7), "since"),
        }[shape]
        asked, early = wanted, ""
        if self._form(0.3):
            asked, early = f"{wanted}, window_closed AS final", " WITH (early = INTERVAL '20 seconds')"
            wanted += ", true AS final"
        return (
            f"SELECT {asked} FROM {relation} GROUP BY {window}, {key}{having}{early}",
            f"SELECT {wanted} FROM {rows} WHERE {time} IS NOT NULL GROUP BY {since}, {key}{having}",
        )

    def _top(self, relation: str, columns: dict[str, str]) -> tuple[str, str]:
        """The first rows of each window. Rows that are the same in all that is shown may take each other's
        place."""
        shown = [columns[name] for name in ("k", "id", "x")]
        order = ", ".join(f"{column} NULLS FIRST" for column in shown)
        rank = f"ROW_NUMBER() OVER (PARTITION BY {{}} ORDER BY {order}) <= 3"
        selected, time = f"SELECT {', '.join(shown)} FROM {relation}", columns["t"]
        window = f"window({time}, '1 minute')"
        return (
            f"{selected} QUALIFY {rank.format(window)}",
            f"{selected} WHERE {time} IS NOT NULL QUALIFY {rank.format(bucket(60, time))}",
        )


def random_query(seed: int, *, plain: bool, forms: bool = True) -> Query:
    """`forms`: also what came to the generator later. What is drawn before them stays the same."""
    return Maker(seed, plain=plain, forms=forms).made()


def write_streams(
    folder: Path, sources: Sequence[str] = PARQUET, home: str = "", files: int = 1
) -> dict[str, pa.Table]:
    """The rows of all streams and of the tables that they are looked up in, written where `application` reads
    them. Gives the tables."""
    tables = {name: stream(number) for number, name in enumerate(STREAMS)}
    for (name, table), source in zip(tables.items(), sources, strict=True):
        (folder / name).mkdir()
        each = -(-table.num_rows // files)
        for number in range(files):
            rows = table.slice(number * each, each)
            write_rows(rows, folder / name / f"{number:03}", source.split()[0], name, home)
    for number, name in enumerate(LOOKUPS, len(STREAMS)):
        (folder / name).mkdir()
        tables[name] = stream(number).slice(0, 30)
        pq.write_table(tables[name], folder / name / "0.parquet")
    return tables


def write_rows(rows: pa.Table, file: Path, kind: str, category: str, home: str) -> None:
    if kind == "parquet":
        pq.write_table(rows, file.with_suffix(".parquet"))
    elif kind == "json":
        lines = [json.dumps(row, default=datetime.isoformat) for row in rows.to_pylist()]
        file.with_suffix(".json").write_text("\n".join(lines))
    elif kind == "csv":
        texts = [pc.strftime(rows["t"], "%Y-%m-%dT%H:%M:%SZ"), *rows.columns[1:]]
        write_csv(pa.table(texts, names=rows.column_names), file.with_suffix(".csv"))
    else:
        with dovetail.log.writer(category, home=home) as log:
            log.append(rows)


def final(table: pa.Table) -> pa.Table:
    """Without early results."""
    return table.filter(table["final"]) if "final" in table.column_names else table


def declared(name: str, source: str, folder: str) -> str:
    """The input table of a stream. `source`: a format of files, or `log`; with `as it is`, its columns are
    those of the source."""
    kind, _, own = source.partition(" ")
    columns = "" if own else f" ({', '.join(f'{column} {type_}' for column, type_ in TYPES.items())})"
    header = ', header = "true"' if kind == "csv" else ""
    origin = f'LOG("{name}")' if kind == "log" else f'FILES("{folder}/{name}", format = "{kind}"{header})'
    return f"CREATE INPUT TABLE {name}{columns} FROM {origin};"


def application(
    queries: list[Query],
    folder: str,
    sources: Sequence[str] = PARQUET,
    zone: str = "UTC",
) -> str:
    """The PQL of an application with some queries."""
    inputs = [declared(name, source, folder) for name, source in zip(STREAMS, sources, strict=True)]
    columns = ", ".join(f"{column} {type_}" for column, type_ in TYPES.items())
    inputs += [
        f'CREATE LOOKUP TABLE names ({columns}) FROM PARQUET("{folder}/names");',
        f'CREATE LOOKUP TABLE versions ({columns}) FROM PARQUET("{folder}/versions", valid_from = t);',
    ]
    statements = [statement for query in queries for statement in query.pql]
    return "\n".join(
        ["CREATE APPLICATION random;", f"SET TIME ZONE '{zone}';", FUNCTIONS, *inputs, *statements]
    )
