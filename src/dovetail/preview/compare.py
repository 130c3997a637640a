"""The rows of a table by two versions, side by side.

Law: `equal + lost + changed` are the rows of the old version and `equal + gained + changed` those of the new
one, counted with how often they occur. Rows are equal by value, in the columns that both versions have. What
is left over of the same left row (`identity.py`) is changed, pair by pair; the rest is gained or lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.preview.identity import TIME_OF, columns, identity

SAMPLES = 3
PASS_BYTES = 256 << 20
"""Rows are compared in passes over ranges of event time, of about this size each."""
_OLD, _NEW = "_old", "_new"


@dataclass(frozen=True)
class Difference:
    """`changed_samples` are pairs of an old row and a new one."""

    equal: int = 0
    gained: int = 0
    lost: int = 0
    changed: int = 0
    gained_samples: tuple[dict[str, Any], ...] = ()
    lost_samples: tuple[dict[str, Any], ...] = ()
    changed_samples: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = ()

    def plus(self, other: Difference, samples: int = SAMPLES) -> Difference:
        return Difference(
            self.equal + other.equal,
            self.gained + other.gained,
            self.lost + other.lost,
            self.changed + other.changed,
            (*self.gained_samples, *other.gained_samples)[:samples],
            (*self.lost_samples, *other.lost_samples)[:samples],
            (*self.changed_samples, *other.changed_samples)[:samples],
        )


@dataclass(frozen=True)
class ComparedColumns:
    """The columns by which two tables are compared, and those that are not."""

    columns: tuple[str, ...]
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unlike: tuple[str, ...] = field(default=())
    """In types that cannot be compared: lists, maps, or two that have nothing in common."""


def compared_columns(old: pa.Schema, new: pa.Schema) -> ComparedColumns:
    both = [name for name in columns(old) if name in new.names]
    unlike = [name for name in both if _common(old.field(name).type, new.field(name).type) is None]
    return ComparedColumns(
        tuple(name for name in both if name not in unlike),
        tuple(name for name in columns(new) if name not in old.names),
        tuple(name for name in columns(old) if name not in new.names),
        tuple(unlike),
    )


def compare(old: pa.Table, new: pa.Table, samples: int = SAMPLES) -> Difference:
    """For two tables with identity."""
    found = Difference()
    for one, other in _passes(old, new):
        found = found.plus(_compare(one, other, samples), samples)
    return found


def _compare(old: pa.Table, new: pa.Table, samples: int) -> Difference:
    by = list(compared_columns(old.schema, new.schema).columns)
    whose = [name for name in identity(old.schema) if name in new.schema.names]
    whose = [name for name in whose if old.schema.field(name).type == new.schema.field(name).type]
    names, rows = [f"c{n}" for n in range(len(by))], []  # a column of the query may have any name
    for table, other, mark in ((old, new, _OLD), (new, old, _NEW)):
        columns_ = {name: table.column(name) for name in whose}
        for short, name in zip(names, by, strict=True):
            kind = _common(table.schema.field(name).type, other.schema.field(name).type)
            columns_[short] = table.column(name).cast(kind)
        count = pa.array(np.ones(table.num_rows, np.int64))
        none = pa.array(np.zeros(table.num_rows, np.int64))
        columns_ |= {_OLD: count if mark == _OLD else none, _NEW: count if mark == _NEW else none}
        rows.append(pa.table(columns_))
    sums = [(_OLD, "sum"), (_NEW, "sum")]
    each = pa.concat_tables(rows).group_by([*whose, *names], use_threads=False).aggregate(sums)
    olds, news = (each.column(f"{name}_sum").to_numpy() for name in (_OLD, _NEW))
    same = np.minimum(olds, news)
    each = each.append_column(_OLD, pa.array(olds - same)).append_column(_NEW, pa.array(news - same))
    rest = each.filter(pc.greater(pc.add(each.column(_OLD), each.column(_NEW)), 0))
    of_row = rest.group_by(whose, use_threads=False).aggregate(sums)
    left, more = (of_row.column(f"{name}_sum").to_numpy() for name in (_OLD, _NEW))
    changed = np.minimum(left, more)
    only_new = of_row.filter(pa.array(left == 0)), of_row.filter(pa.array(more == 0))
    both = of_row.filter(pa.array(changed > 0)).slice(0, samples)
    shown = dict(zip(names, by, strict=True))
    pairs = [
        (
            _rows(rest, whose, both.slice(n, 1), _OLD, shown, 1)[0],
            _rows(rest, whose, both.slice(n, 1), _NEW, shown, 1)[0],
        )
        for n in range(both.num_rows)
    ]
    return Difference(
        int(same.sum()),
        int((more - changed).sum()),
        int((left - changed).sum()),
        int(changed.sum()),
        tuple(_rows(rest, whose, only_new[0].slice(0, samples), _NEW, shown, samples)),
        tuple(_rows(rest, whose, only_new[1].slice(0, samples), _OLD, shown, samples)),
        tuple(pairs),
    )


def _rows(
    rest: pa.Table, whose: Sequence[str], wanted: pa.Table, side: str, shown: dict[str, str], most: int
) -> list[dict[str, Any]]:
    """Left-over rows of some identities, as the query calls their columns."""
    found: list[dict[str, Any]] = []
    for row in wanted.select(whose).to_pylist():  # a few samples
        mask = pc.greater(rest.column(side), 0)
        for name, value in row.items():
            here = rest.column(name)
            mask = pc.and_(
                mask, here.is_null() if value is None else pc.equal(here, pa.scalar(value, here.type))
            )
        for one in rest.filter(mask).slice(0, most - len(found)).select(list(shown)).to_pylist():
            found.append({shown[name]: value for name, value in one.items()})
        if len(found) >= most:
            break
    return found


def _passes(old: pa.Table, new: pa.Table) -> Iterator[tuple[pa.Table, pa.Table]]:
    passes = -(-(old.nbytes + new.nbytes) // PASS_BYTES)
    if passes <= 1:
        yield old, new
        return
    times = np.concatenate([table.column(TIME_OF).to_numpy() for table in (old, new)])
    at = np.linspace(0, len(times) - 1, passes + 1)[1:-1].astype(np.int64)
    bounds = [None, *np.unique(np.partition(times, at)[at]).tolist(), None]
    for low, high in pairwise(bounds):
        yield between(old, low, high), between(new, low, high)


def between(rows: pa.Table, low: int | None, high: int | None) -> pa.Table:
    """Those that belong to a row with an event time from `low` on, before `high`."""
    times = rows.column(TIME_OF)
    if low is not None:
        rows = rows.filter(pc.greater_equal(times, low))
    return rows if high is None else rows.filter(pc.less(rows.column(TIME_OF), high))


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that has the values of both; None: there is none, or values cannot be grouped."""
    if pa.types.is_nested(one) or pa.types.is_nested(other):
        return None
    if one.equals(other):
        return one
    try:
        return (
            pa.unify_schemas(
                [pa.schema([("x", one)]), pa.schema([("x", other)])], promote_options="permissive"
            )
            .field("x")
            .type
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
