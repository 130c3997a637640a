"""Random chains of joins: as PQL, as the rows of their inputs, and as DuckDB computes them in one go.

A relation has a time `t`, a key `k`, a number `x`, and the numbers `i0`, `i1`, .. of the input rows that it
was made of. A view has a second time `u`. DuckDB's result of every stage is a table, from which the next one
is computed. Nothing of ours is imported here.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from random import Random

import duckdb
import pyarrow as pa

START_S = 1_767_225_600  # 2026-01-01
SECOND = 1_000_000
INTERVAL, THETA = "interval", "theta"
WINDOWS = ("tumbling", "hopping", "session")
KINDS = (INTERVAL, *WINDOWS, THETA)
HOWS = ("inner", "left", "right", "full", "semi", "anti")
PICKS = ("nearest", "earliest", "latest")
MOST_ROWS = 1_500
SCHEMA = pa.schema(
    [("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("x", pa.int64()), ("i0", pa.int64())]
)
SQL_HOW = {how: how.upper() for how in HOWS} | {"semi": "LEFT SEMI", "anti": "LEFT ANTI"}
PICK_ORDER = {
    "nearest": "abs(epoch_us(r.{b}) - epoch_us(l.{a})), r.{b}",
    "earliest": "r.{b}",
    "latest": "r.{b} DESC",
}


@dataclass(frozen=True)
class Relation:
    name: str
    ids: int
    max_delay_s: int | None  # None: a view


@dataclass(frozen=True)
class Stage:
    """One join. `before`, `after`, `length` and `every` are in seconds."""

    kind: str
    how: str
    left: Relation
    right: Relation
    left_time: str
    right_time: str
    before: int = 0
    after: int = 0
    length: int = 0
    every: int = 0
    pick: str | None = None

    @property
    def on(self) -> str:
        """The condition, for both Spark and DuckDB."""
        a, b = f"l.{self.left_time}", f"r.{self.right_time}"
        match = "abs(l.x - r.x) <= 1" if self.kind == THETA else "l.k = r.k"
        if self.kind in WINDOWS:
            return match
        low, high = f"INTERVAL ({-self.before}) SECOND", f"INTERVAL ({self.after}) SECOND"
        return f"{match} AND {b} BETWEEN {a} + {low} AND {a} + {high}"


@dataclass(frozen=True)
class Chain:
    seed: int
    pql: str
    inputs: dict[str, list[pa.Table]]
    """By category: its commits."""
    stages: tuple[Stage, ...]
    rows: list[tuple[int | None, ...]]
    """What the last join gives: its ids, sorted."""

    def __repr__(self) -> str:
        return f"seed {self.seed}\n{self.pql}"


def draw(seed: int, joins: int, kinds: tuple[str, ...] = (), hows: tuple[str, ...] = ()) -> Chain:
    """`kinds` and `hows`: of the first joins; the others, and those that are "", are drawn."""
    rng = Random(seed)
    with duckdb.connect() as db:
        return _Drawing(db, rng, seed).chain(joins, kinds, hows)


def in_order(rows: list[tuple[int | None, ...]]) -> list[tuple[int | None, ...]]:
    return sorted(rows, key=lambda row: [-1 if one is None else one for one in row])


class _Drawing:
    def __init__(self, db: duckdb.DuckDBPyConnection, rng: Random, seed: int) -> None:
        self.db, self.rng, self.seed = db, rng, seed
        self.inputs: list[Relation] = []
        self.commits: dict[str, list[pa.Table]] = {}
        self.text = ["CREATE APPLICATION app;"]

    def chain(self, joins: int, kinds: tuple[str, ...], hows: tuple[str, ...]) -> Chain:
        stages: list[Stage] = []
        views: list[Relation] = []
        for number in range(joins):
            while True:
                kind = (kinds[number : number + 1] or ("",))[0] or self.rng.choice(KINDS)
                how = (hows[number : number + 1] or ("",))[0] or self.rng.choice(HOWS)
                stage = self.stage(kind, how, views)
                view = self.made(f"v{number}", stage)
                if view is not None:
                    break
            stages.append(stage)
            views.append(view)
        last = views[-1]
        ids = ", ".join(f"i{n}" for n in range(last.ids))
        self.text.append(f"CREATE TABLE result AS SELECT {ids} FROM {last.name} STORAGE NOOP;")
        rows = self.db.sql(f"SELECT {ids} FROM {last.name}").fetchall()
        return Chain(self.seed, "\n".join(self.text), self.commits, tuple(stages), in_order(rows))

    def input(self) -> Relation:
        """A stream of its own, or now and then one that is there already."""
        if self.inputs and self.rng.random() < 0.2:
            return self.rng.choice(self.inputs)
        rng, name = self.rng, f"s{len(self.inputs)}"
        delay_s, span_s = rng.choice([0, 2, 15]), 300
        rows, seen = [], set()
        for clock in sorted(rng.randrange(span_s) for _ in range(rng.choice([8, 40, 60]))):
            time = clock - rng.randint(0, delay_s)
            if time in seen:  # so that picks have no ties
                continue
            seen.add(time)
            time = None if rng.random() < 0.03 else (START_S + time) * SECOND
            key = None if rng.random() < 0.03 else rng.randrange(4)
            rows.append((time, key, rng.randrange(16), len(rows)))
        columns = zip(*rows, strict=True)
        types = pa.timestamp("us", "UTC"), pa.int64(), pa.int64(), pa.int64()
        table = pa.table(
            [pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=["t", "k", "x", "i0"]
        )
        self.commits[name] = [*_cut(rng, table)]
        self.db.register("arriving", table.set_column(0, "t", table["t"].cast(pa.timestamp("us"))))
        self.db.execute(f"CREATE TABLE {name} AS FROM arriving")
        self.text.append(
            f'CREATE INPUT TABLE {name} (t TIMESTAMP, k BIGINT, x BIGINT, i0 BIGINT) FROM SCRIBE("{name}");'
        )
        self.inputs.append(Relation(name, 1, delay_s))
        return self.inputs[-1]

    def stage(self, kind: str, how: str, views: list[Relation]) -> Stage:
        """The last view, or at first an input, with an input or an earlier view; either may be left."""
        rng = self.rng
        one = views[-1] if views else self.input()
        other = rng.choice(views) if views and rng.random() < 0.15 else self.input()
        left, right = (one, other) if rng.random() < 0.6 else (other, one)
        if kind == THETA and how in ("right", "full"):
            how = {"right": "inner", "full": "left"}[how]
        before = rng.choice([-5, 0, 3, 10, 30])
        pick = rng.choice(PICKS) if kind in (INTERVAL, THETA) and rng.random() < 0.3 else None
        if how in ("semi", "anti") or right.max_delay_s is None:
            pick = None  # rows of a view may have one time, and then the first to arrive is picked
        length = rng.choice([5, 12, 30])
        return Stage(
            kind,
            how,
            left,
            right,
            self.time_of(left),
            self.time_of(right),
            before,
            max(-before, rng.choice([-3, 0, 3, 10, 30])),
            length,
            rng.choice([2, 4, length]) if kind == "hopping" else length,
            pick,
        )

    def time_of(self, one: Relation) -> str:
        return "t" if one.max_delay_s is not None else self.rng.choice(["t", "t", "u"])

    def made(self, name: str, stage: Stage) -> Relation | None:
        """The view of a stage, in DuckDB and in PQL; None: it has too many rows, or none."""
        rng, sides = self.rng, ("l", "r") if stage.how not in ("semi", "anti") else ("l",)
        relations = [relation for relation, side in ((stage.left, "l"), (stage.right, "r")) if side in sides]
        ids = [f"{s}.i{n}" for s, relation in zip(sides, relations, strict=True) for n in range(relation.ids)]
        times = [f"l.{stage.left_time}", *([f"r.{stage.right_time}"] if "r" in sides else [])]
        more = [
            f"{s}.{c}"
            for s, one in zip(sides, relations, strict=True)
            if one.max_delay_s is None
            for c in "tu"
        ]
        choices = [
            *times,
            *more,
            *([f"coalesce({', '.join(times)})"] * 3 if stage.how in ("right", "full") else []),
            f"coalesce({', '.join(reversed(times))})",
            f"{times[0]} + INTERVAL '7 seconds'",
            f"{times[-1]} - INTERVAL '7 seconds'",
            *([f"least({', '.join(times)})", f"greatest({', '.join(times)})"] if len(times) > 1 else []),
        ]
        t, u = rng.choice(choices), rng.choice(choices)
        key = rng.choice([f"coalesce({', '.join(f'{s}.k' for s in sides)})", "l.k", f"{sides[-1]}.k"])
        x = rng.choice(["l.x", f"{sides[-1]}.x", f"l.x + {sides[-1]}.x"])
        items = {"t": t, "u": u, "k": key, "x": x, **{f"i{n}": column for n, column in enumerate(ids)}}
        listed = ", ".join(f"{column} AS {name}" for name, column in items.items())
        where = rng.choice(["", "", "", f"{sides[-1]}.x <> 7"])
        kept = f" AND {where}" if where else ""
        self.db.execute(f"CREATE OR REPLACE TABLE {name} AS {_batch(stage, listed)}{kept}")
        ((count, longest),) = self.db.sql(
            f"SELECT count(*), max(_long) FROM {name}, ({_longest(stage)})"
        ).fetchall()
        if not 0 < count <= MOST_ROWS:
            return None
        self.text.append(_view(name, stage, listed, where, longest, rng))
        return Relation(name, len(ids), None)


def _cut(rng: Random, table: pa.Table) -> list[pa.Table]:
    cuts = sorted(rng.randrange(table.num_rows + 1) for _ in range(rng.choice([0, 10, 60])))
    edges = [0, *cuts, table.num_rows]
    return [table.slice(a, b - a) for a, b in itertools.pairwise(edges) if b > a]


def _view(name: str, stage: Stage, items: str, where: str, longest: int | None, rng: Random) -> str:
    within = ""
    options = {"buckets": "2"}
    if stage.kind in WINDOWS:
        every = f" EVERY '{stage.every} seconds'" if stage.kind == "hopping" else ""
        times = f"l.{stage.left_time}, r.{stage.right_time}"
        within = f" WITHIN {stage.kind.upper()} '{stage.length} seconds'{every} OF {times}"
    if stage.kind == "session":
        options["max_session"] = f"INTERVAL '{max(longest or 0, stage.length)} seconds'"
    elif stage.kind in WINDOWS and stage.how == "inner":
        options["emit"] = rng.choice(['"lazy"', '"eager"'])
    if stage.kind == THETA:
        del options["buckets"]
    if stage.pick:
        options |= {"match": '"one"', "pick": f'"{stage.pick}"'}
    # Whoever has promised rows goes by the promise: a fixed time without a delay would make them late.
    for side, relation in (("left", stage.left), ("right", stage.right)):
        options[f"{side}_max_delay"] = f"INTERVAL '{relation.max_delay_s or 0} seconds'"
    if rng.random() < 0.5:
        options["max_step_rows"] = str(rng.choice([1, 10, 50]))
    given = ", ".join(f"{option} = {value}" for option, value in options.items())
    filtered = f" WHERE {where}" if where else ""
    joined = f"{stage.left.name} AS l {SQL_HOW[stage.how]} JOIN {stage.right.name} AS r"
    on = stage.on.replace("INTERVAL (", "INTERVAL '").replace(") SECOND", "' SECOND")
    return f"CREATE VIEW {name} AS SELECT {items} FROM {joined} ON {on}{within} WITH ({given}){filtered};"


def _batch(stage: Stage, items: str) -> str:
    """The join of two finished tables, up to its WHERE."""
    a, b = stage.left_time, stage.right_time
    left, right, on = stage.left.name, stage.right.name, stage.on
    parts = []
    if stage.kind == "session":
        parts.append(_sessions(stage))
    elif stage.kind in WINDOWS:
        parts.append(f"lw AS ({_windows(left, a, stage)}), rw AS ({_windows(right, b, stage)})")
    if stage.kind in WINDOWS:
        left, right, on = "lw", "rw", "l.k = r.k AND l.w = r.w"
    how = stage.how
    if stage.pick is not None or how in ("semi", "anti"):
        order = PICK_ORDER[stage.pick].format(a=a, b=b) if stage.pick else "r.n"
        parts.append(f"""
            nl AS (SELECT *, row_number() OVER () AS n FROM {left}),
            nr AS (SELECT *, row_number() OVER () AS n FROM {right}),
            picked AS (SELECT l.n AS ln, r.n AS rn FROM nl AS l JOIN nr AS r ON {on}
                       QUALIFY row_number() OVER (PARTITION BY l.n ORDER BY {order}) = 1),
            lp AS (SELECT nl.*, rn FROM nl LEFT JOIN picked ON n = ln)""")
        left, right, on = "lp", "nr", "l.rn = r.n"
    beginning = f"WITH {', '.join(parts)}" if parts else ""
    if how in ("semi", "anti"):  # DuckDB's own SEMI JOIN by a range makes numbers out of nulls
        return (
            f"{beginning} SELECT {items} FROM {left} AS l WHERE rn IS {'NOT ' if how == 'semi' else ''}NULL"
        )
    return f"{beginning} SELECT {items} FROM {left} AS l {how.upper()} JOIN {right} AS r ON {on} WHERE true"


def _windows(name: str, time: str, stage: Stage) -> str:
    """Each row once for every window that has it; once without a window if it has no key or no time."""
    length, every = stage.length * SECOND, stage.every * SECOND
    us = f"epoch_us({time})"
    return f"""
        SELECT *, unnest(range(({us} - {length}) // {every} + 1, {us} // {every} + 1)) AS w FROM {name}
        WHERE {time} IS NOT NULL AND k IS NOT NULL
        UNION ALL SELECT *, NULL FROM {name} WHERE {time} IS NULL OR k IS NULL"""


def _sessions(stage: Stage) -> str:
    gap = stage.length * SECOND
    sides = ((stage.left.name, stage.left_time, "l"), (stage.right.name, stage.right_time, "r"))
    points = " UNION ALL ".join(
        f"SELECT k, epoch_us({time}) AS us FROM {name} WHERE k IS NOT NULL AND {time} IS NOT NULL"
        for name, time, _ in sides
    )
    cut = ", ".join(
        f"{side}w AS (SELECT s.*, v.w FROM {name} s LEFT JOIN visits v ON s.k = v.k AND epoch_us(s.{time}) "
        "BETWEEN v.first AND v.last)"
        for name, time, side in sides
    )
    return f"""
        points AS ({points}),
        begun AS (SELECT *, coalesce(us - lag(us) OVER (PARTITION BY k ORDER BY us) > {gap}, true) AS new
                  FROM points),
        counted AS (SELECT *, sum(new::INT) OVER (PARTITION BY k ORDER BY us) AS n FROM begun),
        visits AS (SELECT k, n, min(us) AS first, max(us) AS last, min(us) AS w FROM counted GROUP BY k, n),
        {cut}"""


def _longest(stage: Stage) -> str:
    """How long the longest session is, in seconds."""
    if stage.kind != "session":
        return "SELECT 0 AS _long"
    return f"WITH {_sessions(stage)} SELECT max((last - first) // {SECOND} + 1) AS _long FROM visits"
