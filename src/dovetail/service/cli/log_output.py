"""How rows and categories are printed: as a table, as JSON lines, as CSV."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import enum
import json
import math
import sys
from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.log.category import Category
from dovetail.model.sketch import merge_sketches
from dovetail.service import units
from dovetail.service.cli.log_limits import retention_facts


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


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def category_facts(category: Category) -> dict[str, Any]:
    """The facts that `ls` prints about a category."""
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
        **retention_facts(category),
        "buckets": category.buckets,
        "time_column": category.time_column,
        "first_event_time": iso_time(times.min_us) if times.count else None,
        "last_event_time": iso_time(times.max_us) if times.count else None,
        "generation": category.generation,
        "columns": {field.name: str(field.type) for field in category.schema},
    }


def print_categories(facts: list[dict[str, Any]], console: Console) -> None:
    """A block for each category. Long lines wrap with their indent, for 80 columns."""
    for fact in facts:
        console.print(Text(fact["name"], style="bold"))
        for line in _category_lines(fact):
            console.print(Padding(Text(line), (0, 0, 0, 2)))


def _category_lines(fact: dict[str, Any]) -> Iterator[str]:
    rejected = f" ({fact['rejected']:,} rejected)" if fact["rejected"] else ""
    ratio = "" if fact["ratio"] is None else f", compressed {fact['ratio']:.1f} to 1"
    rows, commits = many(fact["rows"], "row"), many(fact["commits"], "commit")
    yield f"{rows}{rejected} in {commits}, {units.size(fact['bytes'])}{ratio}"
    if fact["first_event_time"] is not None:
        yield f"event times {fact['first_event_time']} to {fact['last_event_time']}"
    yield ", ".join(f"{name} {kind}" for name, kind in fact["columns"].items())
    for mark in fact["readers"]:
        if mark["gone"] is not None:
            yield f"reader {mark['reader']} no longer holds anything back: {mark['gone']}"


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
    """Collects the rows first: column widths depend on all of them."""

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
    """The value in JSON's types: times as ISO 8601, decimals as text, bytes in base64, NaN as null."""
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
