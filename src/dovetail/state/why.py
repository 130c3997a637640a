"""Asking a join about a key, while it runs or after: from its log and its records, without its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.errors import InputError
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.step_record import StepRecord
from dovetail.state.fate import Fate, Known, fates
from dovetail.state.key_rows import KeyRow, key_rows, similar_keys
from dovetail.state.literals import value_of
from dovetail.state.step_log import read_records

NEAR_US = 1_000_000
SIMILAR = 5


@dataclass(frozen=True)
class Answer:
    """`fates` are of the `asked` left rows, or the newest of them. `similar`: keys that left rows have,
    where none has this one."""

    join: str
    key: tuple[Any, ...]
    known: Known
    asked: int
    fates: tuple[Fate, ...]
    similar: tuple[tuple[Any, ...], ...]


def why(
    config: JoinConfig, key: Sequence[str], time_us: int | None = None, limit: int | None = None
) -> Answer:
    """What became of the left rows with a key; with a time, of those within a second of it, or nearest to it.
    At most `limit` of them are told, the newest."""
    if config.theta is not None:
        raise InputError(
            "a join without an equality has no keys to ask for",
            where=f"join {config.join}",
            expected="a join with an equality",
            hint="look for the row's pairs in what the application puts out",
        )
    if config.window is not None:
        raise InputError(
            "why a row matched or did not can be told of joins by interval, not of joins within windows",
            where=f"join {config.join}",
            expected="a join whose ON bounds the times",
            hint="rows that came too late are counted: see `dovetail status`",
        )
    left, right = Category.open(config.home, config.left), Category.open(config.home, config.right)
    kinds = [left.schema.field(name).type for name in config.keys]
    if len(key) != len(kinds):
        raise InputError(
            f"{len(key)} key value{'' if len(key) == 1 else 's'} for a key of {len(kinds)} columns",
            where=f"join {config.join}",
            expected=f"--key for each of them, in the order of the ON clause: {', '.join(map(str, kinds))}",
        )
    values = [value_of(text, kind, f"--key {text}") for text, kind in zip(key, kinds, strict=True)]
    # Records first, then left: a row that is known has the steps that took it; right rows come last, so
    # that no partner is missing.
    records = _unbroken(read_records(config))
    rows = key_rows(left, config.keys, values), key_rows(right, config.keys, values)
    known = Known(config.spec, records, *rows)
    asked = _near(rows[0].rows, time_us)
    told = fates(known, asked if limit is None else asked[max(0, len(asked) - limit) :])
    similar = () if rows[0].rows else tuple(similar_keys(left, config.keys, values, SIMILAR))
    typed = tuple(value[0].as_py() for value in values)
    return Answer(config.join, typed, known, len(asked), tuple(told), similar)


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
