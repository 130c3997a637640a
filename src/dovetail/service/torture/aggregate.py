"""A seeded aggregate over time windows of what a join or a chain puts out: as PQL, and as the oracle has it.

Law: the oracle imports nothing of the product. It goes through all windows that there may be and counts the
rows in each, so every row of the joins must be in every window of its time, once.

Drawn from a seed, in this order: the shape, the length, the slide. A change of this order gives every seed
another meaning.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dovetail.service.torture.chain import Made
from dovetail.service.torture.oracle import Result

Shape = Literal["tumbling", "hopping", "session"]
LENGTHS, SLIDES, GAPS = (40, 100), (20, 25), (8, 25)
"""In seconds. Sessions have gaps that some rows keep and others do not."""


@dataclass(frozen=True)
class Aggregate:
    """`every`: of hopping windows. `keyed`: rows are also grouped by their key."""

    shape: Shape
    length: int
    every: int
    keyed: bool

    @classmethod
    def of(cls, seed: int | str, *, keyed_sessions: bool) -> Aggregate:
        """`keyed_sessions`: without, sessions are of all rows together. Spark hashes their keys."""
        rng = random.Random(f"the aggregate of {seed}")
        shape = rng.choice(get_args(Shape))
        length = rng.choice(GAPS if shape == "session" else LENGTHS)
        every = rng.choice(SLIDES) if shape == "hopping" else length
        return cls(shape, length, every, keyed_sessions or shape != "session")

    def __str__(self) -> str:
        return f"counted in {self.shape} windows"

    def select(self, view: str, ids: int) -> str:
        """`ids`: how many numbers of rows the view has."""
        name = "session_window" if self.shape == "session" else "window"
        slide = f", '{self.every} seconds'" if self.shape == "hopping" else ""
        key = "c, " if self.keyed else ""
        columns = f"{name}.start AS s, {name}.end AS e, {key}COUNT(*) AS n, SUM(i0) AS total"
        window = f"{name}(t, '{self.length} seconds'{slide})"
        grouped = f"{window}, c" if self.keyed else window
        return f"SELECT {columns}, MAX(i{ids - 1}) AS most FROM {view} GROUP BY {grouped}"

    def over(self, rows: Sequence[Made]) -> Counter[Result]:
        """The oracle's answer: bounds, key, count, sum of the first numbers, largest of the last ones."""
        found: Counter[Result] = Counter()
        for key in {row[0] for row in rows} if self.keyed else [None]:
            timed = [
                (time, ids) for of, time, ids in rows if time is not None and (of == key or not self.keyed)
            ]
            for start, end, within in self._windows(timed):
                code = (None if key is None else ord(key),) if self.keyed else ()
                found[start, end, *code, len(within), *summed(within)] += 1
        return found

    def _windows(
        self, rows: list[tuple[int, tuple[int | None, ...]]]
    ) -> Iterable[tuple[int, int, list[tuple[int | None, ...]]]]:
        if self.shape == "session":
            rows = sorted(rows, key=lambda row: row[0])
            while rows:
                count = 1
                while count < len(rows) and rows[count][0] < rows[count - 1][0] + self.length:
                    count += 1
                visit, rows = rows[:count], rows[count:]
                yield visit[0][0], visit[-1][0] + self.length, [ids for _, ids in visit]
            return
        latest = max((time for time, _ in rows), default=0)
        for start in range(-self.length // self.every * self.every, latest + 1, self.every):
            within = [ids for time, ids in rows if start <= time < start + self.length]
            if within:
                yield start, start + self.length, within


def summed(rows: Sequence[tuple[int | None, ...]]) -> tuple[int | None, int | None]:
    """As SQL has them: nulls do not count, and of nothing but nulls there is no sum."""
    first = [ids[0] for ids in rows if ids[0] is not None]
    last = [ids[-1] for ids in rows if ids[-1] is not None]
    return sum(first) if first else None, max(last, default=None)
