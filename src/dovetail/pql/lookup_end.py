"""`CREATE LOOKUP TABLE name (columns) FROM kind(options)`: a table that streams are looked up in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.connectors.column_types import PLAIN, arrow_type
from dovetail.connectors.lookup_kinds import LOOKUPS
from dovetail.connectors.lookup_table import VALID_FROM, VALID_TO
from dovetail.connectors.options import with_defaults
from dovetail.errors import PlanError
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import TableSource
from dovetail.plan.source import Span
from dovetail.plan.statements import ColumnDef
from dovetail.plan.types import TIMES, head
from dovetail.pql.option_values import arguments, values
from dovetail.pql.tokens import Cursor


def parse_table(cursor: Cursor, columns: Sequence[ColumnDef]) -> TableSource:
    """What follows FROM. The first argument may be the path, or without one the table, without its name."""
    kind, place = cursor.name(" | ".join(LOOKUPS))
    kind = kind.upper()
    if kind not in LOOKUPS:
        raise cursor.error_at(
            place,
            f"unknown lookup table `{kind[:40]}`",
            expected=" | ".join(LOOKUPS),
            hint=did_you_mean(kind[:40], LOOKUPS, listed=True),
        )
    options = LOOKUPS[kind].options
    named = {one.name for one in options}
    first = "path" if "path" in named else "table"
    given = arguments(cursor, kind, options, first)
    made: Any = values(cursor, kind, options, given, place)
    try:
        LOOKUPS[kind].validate(with_defaults(options, made))
    except PlanError as error:
        error.where = cursor.source.show(place)
        raise
    for column in columns:
        _require_plain(cursor, column)
    kept = [
        (name, (_validity(cursor, name, value, columns, place),))
        if name in (VALID_FROM.name, VALID_TO.name)
        else (name, value)
        for name, value in made
    ]
    source = TableSource(kind, tuple(kept))
    if source.get(VALID_TO.name) and not source.get(VALID_FROM.name):
        raise cursor.error_at(place, "valid_to says when a version ends", expected="valid_from, too")
    return source


def _require_plain(cursor: Cursor, column: ColumnDef) -> None:
    what = f"column `{column.name}` of a lookup table "
    where = column.span or Span(cursor.end, cursor.end + 1)
    if column.type is None:
        raise cursor.error_at(where, f"{what}has no type", expected=f"{column.name} and one of {PLAIN}")
    try:
        arrow_type(column.type)
    except PlanError:
        raise cursor.error_at(where, f"{what}is {column.type}", expected=PLAIN) from None


def _validity(
    cursor: Cursor, option: str, given: tuple[str, ...], columns: Sequence[ColumnDef], place: Span
) -> str:
    known = {column.name.lower(): column for column in columns}
    column = known.get(given[0].lower()) if len(given) == 1 else None
    if column is None:
        raise cursor.error_at(
            place,
            f"{option} names {', '.join(given)}",
            expected="one column of the table",
            hint=did_you_mean(given[0], [one.name for one in columns], listed=True),
        )
    if head(column.type or "") not in TIMES:
        raise cursor.error_at(
            place, f"{option} names {column.name}, which is {column.type}", expected="a TIMESTAMP or a DATE"
        )
    return column.name
