"""Asking a join about a row, while it runs or after: from its log and its records, without its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from dovetail.engine.step_log import read_records
from dovetail.errors import InputError
from dovetail.joins.rows.key_rows import KeyRow, KeyRows, key_rows, row_numbers, rows_at, similar_keys
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.step_record import StepRecord
from dovetail.model.theta import Operand
from dovetail.why.fate import Fate, Known, fates
from dovetail.why.literals import value_of
from dovetail.why.near_rows import rows_near
from dovetail.why.theta_fate import ThetaFate, theta_fates
from dovetail.why.window_fate import WindowFate, window_fates

NEAR_US = 1_000_000
SIMILAR = 5
AnyFate = Fate | WindowFate | ThetaFate


@dataclass(frozen=True)
class Answer:
    """`fates` are of the `asked` left rows, or the newest of them. `similar`: keys that left rows have,
    where none has this one."""

    join: str
    key: tuple[Any, ...]
    known: Known
    asked: int
    fates: tuple[AnyFate, ...]
    similar: tuple[tuple[Any, ...], ...]


def why(
    config: JoinConfig,
    key: Sequence[str] = (),
    time_us: int | None = None,
    limit: int | None = None,
    row: int | None = None,
    names: Mapping[Operand, str] = MappingProxyType({}),
) -> Answer:
    """What became of the left rows with a key, or of the one with a number; with a time, of those within a
    second of it, or nearest to it. At most `limit` of them are told, the last in the log.
    `names`: what the operands of a theta join were in the query."""
    left, right = Category.open(config.home, config.left), Category.open(config.home, config.right)
    if config.theta is not None:
        _refuse_keys(config, left, key, time_us, row)
        records = _unbroken(read_records(config))
        numbers = [numbered(left, row).row] if row is not None else rows_near(left, time_us or 0, NEAR_US)
        some = rows_at(left, numbers if limit is None else numbers[max(0, len(numbers) - limit) :])
        known = Known(config.spec, records, _all(left, some), _all(right, ()))
        found = theta_fates(known, config.theta, left, right, some, names)
        return Answer(config.join, (), known, len(numbers), tuple(found), ())
    values = _typed(config, left, key) if row is None else _key_of(config, left, key, row)
    # Records first, then left: a row that is known has the steps that took it; right rows come last, so
    # that no partner is missing.
    records = _unbroken(read_records(config))
    rows = key_rows(left, config.keys, values), key_rows(right, config.keys, values)
    known = Known(config.spec, records, *rows, config.window)
    asked = _near([one for one in rows[0].rows if row in (None, one.row)], time_us)
    wanted = asked if limit is None else asked[max(0, len(asked) - limit) :]
    told: Sequence[AnyFate] = fates(known, wanted) if config.window is None else window_fates(known, wanted)
    similar = () if rows[0].rows else tuple(similar_keys(left, config.keys, values, SIMILAR))
    typed = tuple(value[0].as_py() for value in values)
    return Answer(config.join, typed, known, len(asked), tuple(told), similar)


def _refuse_keys(
    config: JoinConfig, left: Category, key: Sequence[str], time_us: int | None, row: int | None
) -> None:
    """Of a theta join a left row is asked for by its number or its time."""
    if key or (row is None and time_us is None):
        first, stop = row_numbers(left)
        raise InputError(
            "a join without an equality has no keys to ask for",
            where=f"join {config.join}",
            expected="--row with the number of a left row, or --time with its event time",
            hint=f"rows {first} to {stop - 1} of category {config.left} are there"
            if stop > first
            else f"category {config.left} has no rows yet",
        )


def _all(category: Category, rows: Sequence[KeyRow]) -> KeyRows:
    """Some rows of a category, and from where on it has any."""
    first, stop = category.first_commit(), category.next_commit()
    return KeyRows(tuple(rows), first, category.commit(first).written_at_us if first < stop else None)


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


def _unbroken(records: Sequence[StepRecord]) -> list[StepRecord]:
    """The newest records without a gap in their numbers."""
    start = len(records) - 1
    while start > 0 and records[start - 1].step == records[start].step - 1:
        start -= 1
    return list(records[max(0, start) :])


def _near(rows: Sequence[KeyRow], time_us: int | None) -> list[KeyRow]:
    if time_us is None:
        return list(rows)
    away = [abs(row.time_us - time_us) for row in rows]
    within = max(NEAR_US, min(away, default=0))
    return [row for row, far in zip(rows, away, strict=True) if far <= within]
