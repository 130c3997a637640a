"""A preview for people: tables, joins, and what is not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dovetail.model.offset import NEVER
from dovetail.preview.compare import Difference
from dovetail.preview.preview import Preview, TablePreview, VersionJoinFigures
from dovetail.service.units import count, instant, share, size

_WIDTH = 14


def preview_lines(found: Preview) -> Iterator[str]:
    since = "all rows" if found.since_us == NEVER else f"rows from {instant(found.since_us)}"
    yield f"{since} to {instant(found.until_us)}, in {found.steps} recorded steps"
    if found.short:
        yield (
            f"the log does not reach back to {instant(found.asked_us)}: exact, and counted, "
            f"from {instant(found.since_us)} on"
        )
    for table in found.tables:
        yield from _table_lines(table)
    old, new = found.old.joins, found.new.joins
    for join in dict.fromkeys([*old, *new]):
        yield from _join_lines(join, old.get(join), new.get(join))
    yield _pair("CPU time", f"{found.old.cpu_s:.2f} s", f"{found.new.cpu_s:.2f} s").strip()
    if found.notes:
        yield "not compared, or not as it comes out"
        yield from (f"  {note}" for note in found.notes)


def _table_lines(table: TablePreview) -> Iterator[str]:
    yield f"table {table.name}"
    yield _pair("rows", count(table.old_rows), count(table.new_rows))
    yield from difference_lines(table.difference)
    for what, names in (
        ("new columns", table.columns.added),
        ("gone columns", table.columns.dropped),
        ("not compared", table.columns.unlike),
    ):
        if names:
            yield f"  {what:<{_WIDTH}} {', '.join(names)}"


def difference_lines(found: Difference) -> Iterator[str]:
    yield f"  {'equal':<{_WIDTH}} {count(found.equal)}"
    for what, number, samples in (
        ("gained", found.gained, found.gained_samples),
        ("lost", found.lost, found.lost_samples),
    ):
        yield f"  {what:<{_WIDTH}} {count(number)}"
        yield from (f"    {_row(row)}" for row in samples)
    yield f"  {'changed':<{_WIDTH}} {count(found.changed)}"
    for was, now in found.changed_samples:
        yield f"    was {_row(was)}"
        yield f"    now {_row(now)}"


def _join_lines(name: str, old: VersionJoinFigures | None, new: VersionJoinFigures | None) -> Iterator[str]:
    yield f"join {name}"
    yield _pair("match rate", *(share(one.match_rate) if one else "—" for one in (old, new)))
    yield _pair("state at most", *(size(one.state_bytes) if one else "—" for one in (old, new)))


def _pair(what: str, old: str, new: str) -> str:
    return f"  {what:<{_WIDTH}} {old} -> {new}"


def _row(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {'null' if value is None else value}" for name, value in row.items())
