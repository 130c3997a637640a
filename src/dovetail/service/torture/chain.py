"""A seeded chain of joins: each but the first joins what the one before puts out with another stream. As PQL
that only picks and renames, so that it runs with and without Spark, and as the oracle has it.

No delay is given for what a join reads from another one: its time is inherited.

Drawn from a seed, in this order: how many joins; for each its kind, its mode, which side is the view, whose
time and key go on, its window; then the rows of the streams. A change of this order gives every seed another
meaning.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dovetail.service.torture import oracle, window_oracle
from dovetail.service.torture.modes import MODES, Kind, Mode
from dovetail.service.torture.oracle import Result, Row
from dovetail.service.torture.workload import MAX_DELAY, random_rows

NAME = "torture"
KINDS: tuple[Kind, ...] = ("interval", "interval", "theta", "tumbling", "hopping", "session")
LONGEST = 400
MOST_ROWS = 4_000
"""That a join of a chain puts out: with more, its windows are drawn again."""
Made = tuple[str | None, int | None, tuple[int | None, ...]]
"""A row of a view: its key, its time, and the numbers of the rows that it is made of."""
_JOINS = {"semi": "LEFT SEMI", "anti": "LEFT ANTI"}


@dataclass(frozen=True)
class Link:
    """One join. `view_is_left`: the other side is a stream. `carries_left`: the side whose time and key go
    on. Lengths are in seconds; which of them has a say depends on the kind."""

    mode: Mode
    view_is_left: bool
    carries_left: bool
    before: int
    after: int
    length: int
    every: int


@dataclass(frozen=True)
class ChainWorkload:
    links: tuple[Link, ...]
    streams: tuple[list[Row], ...]

    @classmethod
    def of(cls, seed: int | str, rows: int, joins: Sequence[int] = (2, 2, 3)) -> ChainWorkload:
        rng = random.Random(f"the chain of {seed}")
        count = rng.choice(joins)
        while True:
            links = tuple(_link(rng, first=number == 0) for number in range(count))
            made = cls(links, tuple(random_rows(rng, rows, MAX_DELAY) for _ in range(count + 1)))
            if all(0 < len(view) <= MOST_ROWS for view in made.views()):
                return made

    def __str__(self) -> str:
        return " > ".join(f"{link.mode.kind} {link.mode.how}" for link in self.links)

    def views(self) -> list[list[Made]]:
        """What each join puts out."""
        last: list[Made] = [(key, time, (number,)) for key, time, number in self.streams[0]]
        found = []
        for link, stream in zip(self.links, self.streams[1:], strict=True):
            last = joined(link, last, [(key, time, (number,)) for key, time, number in stream])
            found.append(last)
            if len(last) > MOST_ROWS:
                break
        return found

    def expected(self) -> Counter[Result]:
        return Counter(ids for _, _, ids in self.views()[-1])


def _link(rng: random.Random, *, first: bool) -> Link:
    kind = rng.choice(KINDS)
    mode = rng.choice([mode for mode in MODES[kind] if not mode.pick or kind == "interval"])
    view_is_left = first or mode.pick is not None or rng.random() < 0.6
    # Of a row that comes out alone the other side is null, and so it can match nothing any more.
    carries_left = mode.how != "right" and (not mode.emits_pairs or rng.random() < 0.7)
    before, after = rng.choice((0, 30, 90)), rng.choice((-20, 0, 60))
    length, every = rng.choice((20, 50, 100)), rng.choice((20, 25))
    return Link(mode, view_is_left, carries_left, before, max(-before, after), length, min(length, every))


def joined(link: Link, view: Sequence[Made], stream: Sequence[Made]) -> list[Made]:
    """The oracle's answer, row by row: what comes out of two lists of rows."""
    made = (view, stream) if link.view_is_left else (stream, view)
    left, right = ([(key, time, n) for n, (key, time, _) in enumerate(side)] for side in made)
    how, blank = link.mode.how, [(None,) * len(side[0][2]) if side else (None,) for side in made]
    found: Counter[Result]
    match link.mode.kind:
        case "tumbling":
            groups = window_oracle.fixed_windows(left, right, link.length, link.length)
            found = window_oracle.expected(left, right, groups, how)
        case "hopping":
            groups = window_oracle.fixed_windows(left, right, link.length, link.every)
            found = window_oracle.expected(left, right, groups, how)
        case "session":
            found = window_oracle.expected(
                left, right, window_oracle.sessions(left, right, link.every, LONGEST), how
            )
        case kind:
            fits = oracle.equal if kind == "interval" else oracle.near
            matches = oracle.within(link.before, link.after, fits)
            found = oracle.expected(left, right, matches, how, link.mode.pick)
    out: list[Made] = []
    for one, other, *_ in found.elements():
        sides = [
            None if number is None else rows[number] for number, rows in zip((one, other), made, strict=True)
        ]
        ids = [side[2] if side else empty for side, empty in zip(sides, blank, strict=True)]
        carried = sides[0 if link.carries_left else 1]
        key, time = (carried[0], carried[1]) if carried else (None, None)
        out.append((key, time, ids[0] + ids[1] if link.mode.emits_pairs else ids[0]))
    return out


def chain_query(
    chain: ChainWorkload, storage: str, step_rows: int, last: Callable[[str, int], str] | None = None
) -> str:
    """`k`: the key as text; `c`: the same as a number, for joins without an equality. `last`: the query over
    the last view, of its name and the count of its numbers; if not given, it lists the numbers."""
    text = [f"CREATE APPLICATION {NAME};"]
    text += [
        f'CREATE INPUT TABLE s{n} (t TIMESTAMP, k STRING, c BIGINT, i0 BIGINT) FROM SCRIBE("s{n}");'
        for n in range(len(chain.streams))
    ]
    view, ids = "s0", 1
    for number, link in enumerate(chain.links):
        sides = [(view, ids), (f"s{number + 1}", 1)]
        if not link.view_is_left:
            sides.reverse()
        kept = list(zip("lr" if link.mode.emits_pairs else "l", sides, strict=False))
        columns = [f"{side}.i{n}" for side, (_, count) in kept for n in range(count)]
        carried = "l" if link.carries_left else "r"
        items = [f"{carried}.{name} AS {name}" for name in "tkc"]
        items += [f"{column} AS i{n}" for n, column in enumerate(columns)]
        join = (
            f"{sides[0][0]} AS l {_JOINS.get(link.mode.how, link.mode.how.upper())} JOIN {sides[1][0]} AS r"
        )
        options = [
            f"{side}_max_delay = INTERVAL '{MAX_DELAY if name.startswith('s') else 0} seconds'"
            for side, (name, _) in zip(("left", "right"), sides, strict=True)
        ]
        options += [f"max_step_rows = {step_rows}", "tasks = 2", "history = INTERVAL '0 seconds'"]
        view, ids = f"v{number}", len(columns)
        text.append(
            f"CREATE VIEW {view} AS SELECT {', '.join(items)} FROM {join} ON {_on(link)}\n"
            f"  WITH ({', '.join([*options, *_options(link)])});"
        )
    listed = ", ".join(f"i{n}" for n in range(ids))
    select = f"SELECT {listed} FROM {view}" if last is None else last(view, ids)
    text.append(f"CREATE TABLE result AS {select} STORAGE {storage};")
    return "\n".join(text) + "\n"


def _on(link: Link) -> str:
    between = f"r.t BETWEEN l.t - INTERVAL '{link.before} seconds' AND " + (
        f"l.t + INTERVAL '{link.after} seconds'"
        if link.after >= 0
        else f"l.t - INTERVAL '{-link.after} seconds'"
    )
    match link.mode.kind:
        case "interval":
            return f"l.k = r.k AND {between}"
        case "theta":
            return f"abs(l.c - r.c) <= 1 AND {between}"
        case "tumbling":
            within = f"TUMBLING '{link.length} seconds'"
        case "hopping":
            within = f"HOPPING '{link.length} seconds' EVERY '{link.every} seconds'"
        case _:
            within = f"SESSION '{link.every} seconds'"
    return f"l.k = r.k WITHIN {within} OF l.t, r.t"


def _options(link: Link) -> list[str]:
    options = ['match = "one"', f'pick = "{link.mode.pick}"'] if link.mode.pick else []
    if link.mode.kind == "session":
        options.append(f"max_session = INTERVAL '{LONGEST} seconds'")
    elif link.mode.windowed:
        options.append(f'emit = "{"eager" if link.mode.eager else "lazy"}"')
    return options if link.mode.theta else [*options, "buckets = 4"]
