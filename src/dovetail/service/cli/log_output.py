"""How the log's rows and categories are shown: as a table, as JSON lines, as CSV."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import enum
import json
import math
import sys
from typing import Any, Protocol

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dovetail.log.category import Category
from dovetail.model.sketch import merge_sketches


class RowFormat(enum.StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


class RowPrinter(Protocol):
    def rows(self, batch: pa.RecordBatch) -> None: ...

    def end(self) -> None: ...


def row_printer(form: RowFormat, schema: pa.Schema) -> RowPrinter:
    if form is RowFormat.json:
        return _JsonLines()
    return _Csv(schema) if form is RowFormat.csv else _Table(schema)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def category_facts(category: Category) -> dict[str, Any]:
    """What `ls` tells of a category."""
    commits = category.commits(category.first_commit(), category.next_commit())
    times = merge_sketches(commit.sketch for commit in commits)
    packings = [info.packing for commit in commits for info in commit.segments if info.packing]
    raw, stored = sum(p.raw_bytes for p in packings), sum(p.stored_bytes for p in packings)
    return {
        "name": category.name,
        "rows": sum(commit.rows for commit in commits),
        "rejected": sum(commit.rejected_rows for commit in commits),
        "commits": len(commits),
        "bytes": sum(commit.bytes for commit in commits),
        "compression": category.definition.compression,
        "compressed_from_bytes": raw,
        "compressed_to_bytes": stored,
        "ratio": round(raw / stored, 2) if stored else None,
        "buckets": category.buckets,
        "time_column": category.time_column,
        "first_event_time": iso_time(times.min_us) if times.count else None,
        "last_event_time": iso_time(times.max_us) if times.count else None,
        "columns": {field.name: str(field.type) for field in category.schema},
    }


def categories_table(facts: list[dict[str, Any]]) -> Table:
    table = Table()
    for heading in ("category", "rows", "rejected", "commits", "size", "ratio", "event times", "columns"):
        number = heading in ("rows", "rejected", "commits", "size", "ratio")
        table.add_column(heading, justify="right" if number else "left", overflow="fold")
    for fact in facts:
        timed = fact["first_event_time"] is not None
        table.add_row(
            Text(fact["name"]),
            f"{fact['rows']:,}",
            f"{fact['rejected']:,}",
            f"{fact['commits']:,}",
            _size(fact["bytes"]),
            "-" if fact["ratio"] is None else f"{fact['ratio']:.1f}",
            f"{fact['first_event_time']}\n{fact['last_event_time']}" if timed else "-",
            Text(", ".join(f"{name} {kind}" for name, kind in fact["columns"].items())),
        )
    return table


class _JsonLines:
    def rows(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            sys.stdout.write(json.dumps(plain(row), ensure_ascii=False) + "\n")

    def end(self) -> None:
        sys.stdout.flush()


class _Csv:
    def __init__(self, schema: pa.Schema) -> None:
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._writer.writerow(schema.names)

    def rows(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            self._writer.writerow(cell(value) for value in row.values())

    def end(self) -> None:
        sys.stdout.flush()


class _Table:
    """Rows are gathered, for the widths of the columns depend on all of them."""

    def __init__(self, schema: pa.Schema) -> None:
        self._table = Table()
        for name in schema.names:
            self._table.add_column(Text(name), overflow="fold")

    def rows(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            self._table.add_row(*(Text(cell(value)) for value in row.values()))

    def end(self) -> None:
        Console().print(self._table)


def cell(value: Any) -> str:
    shown = plain(value)
    if shown is None:
        return ""
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)


def plain(value: Any) -> Any:
    """The value in JSON's types: times as ISO 8601, decimals as text, bytes in base64, no number as null."""
    match value:
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case datetime.datetime():
            text = value.astimezone(datetime.UTC).isoformat() if value.tzinfo else value.isoformat()
            return text.replace("+00:00", "Z")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case decimal.Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return None
    return value


def iso_time(time_us: int) -> str:
    """ISO 8601, or the bare number of microseconds where the calendar does not reach."""
    try:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=time_us)
    except OverflowError:
        return f"{time_us} µs"
    return moment.isoformat().replace("+00:00", "Z")


def _size(size_bytes: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} TiB"
