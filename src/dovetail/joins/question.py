"""A question about left rows, and its answer: the part that every kind shares, and how rows are found by
key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dovetail.errors import InputError
from dovetail.joins.known import Known, VersionAt
from dovetail.joins.picking import Picking, PickingOf, picking_of
from dovetail.joins.rows.key_rows import KeyRow, key_rows, row_numbers, rows_at, similar_keys
from dovetail.joins.rows.literals import value_of
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import JoinKind
from dovetail.model.step_record import StepRecord
from dovetail.model.theta import Operand

NEAR_US = 1_000_000
SIMILAR = 5


@dataclass(frozen=True)
class Question:
    """Which left rows are asked about: those with a key, or the one with a number. With a time, only those
    within a second of it, or the nearest. At most `limit` rows, the last in the log.

    `records`: the join's recorded steps. They are read before the rows, so every row that they took is found,
    if retention has not removed it. `names`: the operands of a theta join, as in the query. `kinds`: what the
    join was in the recorded steps, by the numbers of its queries. `version_at`: see `Known`."""

    config: JoinConfig
    records: Sequence[StepRecord]
    key: Sequence[str] = ()
    time_us: int | None = None
    limit: int | None = None
    row: int | None = None
    names: Mapping[Operand, str] = field(default_factory=dict)
    kinds: Mapping[int, JoinKind] = field(default_factory=dict)
    version_at: VersionAt = lambda step, planned_at_us: None

    @property
    def categories(self) -> tuple[Category, Category]:
        home = self.config.home
        return Category.open(home, self.config.left), Category.open(home, self.config.right)

    def last(self, rows: Sequence[Any]) -> Sequence[Any]:
        return rows if self.limit is None else rows[max(0, len(rows) - self.limit) :]


@dataclass(frozen=True)
class Answer:
    """`fates`: of the `asked` left rows, or of the newest of them. `similar`: if no left row has the key,
    keys that look like it."""

    join: str
    key: tuple[Any, ...]
    known: Known
    asked: int
    fates: tuple[Any, ...]
    similar: tuple[tuple[Any, ...], ...]


Fates = Callable[[Known, Sequence[KeyRow], PickingOf], Sequence[Any]]


def answer_by_key(question: Question, fates: Fates) -> Answer:
    """What happened to the left rows with a key."""
    config, (left, right) = question.config, question.categories
    key, row = question.key, question.row
    values = _typed(config, left, key) if row is None else _key_of(config, left, key, row)
    # Left rows before right ones: then a partner that comes in the meantime is found.
    rows = key_rows(left, config.keys, values), key_rows(right, config.keys, values)
    known = Known(
        config.join_kind, question.records, *rows, question.kinds, question.version_at, *config.began
    )
    asked = _near([one for one in rows[0].rows if row in (None, one.row)], question.time_us)
    similar = () if rows[0].rows else tuple(similar_keys(left, config.keys, values, SIMILAR))
    typed = tuple(value[0].as_py() for value in values)

    def picking(spec: IntervalSpec) -> Picking | None:
        return picking_of(spec, left.schema, right.schema, question.names)

    found = tuple(fates(known, question.last(asked), picking))
    return Answer(config.join, typed, known, len(asked), found, similar)


def _typed(config: JoinConfig, left: Category, key: Sequence[str]) -> list[pa.Array]:
    """The values of a key, as people write them."""
    kinds = [left.schema.field(name).type for name in config.keys]
    if len(key) != len(kinds):
        raise InputError(
            f"{len(key)} key value{'' if len(key) == 1 else 's'} for a key of {len(kinds)} columns",
            where=f"join {config.join}",
            expected=f"--key for each of them, in the order of the ON clause: {', '.join(map(str, kinds))}",
            hint=None if key else "--row asks for one left row by its number instead",
        )
    return [value_of(text, kind, f"--key {text}") for text, kind in zip(key, kinds, strict=True)]


def _key_of(config: JoinConfig, left: Category, key: Sequence[str], number: int) -> list[pa.Array]:
    """The key of a left row."""
    if key:
        raise InputError(
            "a row and a key are asked for at once",
            where=f"join {config.join}",
            expected="--key for all left rows with a key, or --row for one of them",
        )
    row = numbered(left, number)
    return [pa.array([row.values[name]], left.schema.field(name).type) for name in config.keys]


def numbered(left: Category, number: int) -> KeyRow:
    """The left row with a number."""
    found = rows_at(left, [number])
    if not found:
        first, stop = row_numbers(left)
        raise InputError(
            f"there is no left row {number} in the log",
            where=left.where,
            expected=f"a number from {first} to {stop - 1}" if stop > first else "a log with rows in it",
            hint="retention has removed what was before" if number < first else None,
        )
    return found[0]


def _near(rows: Sequence[KeyRow], time_us: int | None) -> list[KeyRow]:
    if time_us is None:
        return list(rows)
    away = [abs(row.time_us - time_us) for row in rows]
    within = max(NEAR_US, min(away, default=0))
    return [row for row, far in zip(rows, away, strict=True) if far <= within]
