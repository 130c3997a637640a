"""`dovetail show APP`: result rows of an application, read from where its tables are stored. It needs no
Spark, and the application may be running."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer

from dovetail.connectors.data_files import NO_VALUE
from dovetail.errors import InputError
from dovetail.service.cli.arguments import Application, Home, home_at
from dovetail.service.cli.log_output import RowFormat

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.plan.physical import FileSink, Plan, ScribeSink, Sink


def show(
    application: Application,
    *,
    table: Annotated[
        str | None, typer.Option("--table", help="Which table, if the application has several.")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=0, help="Print the newest N rows.")] = 10,
    form: Annotated[RowFormat, typer.Option("--format", help="How rows are printed.")] = RowFormat.table,
    home: Home = None,
) -> None:
    """Print the newest result rows of an application."""
    from dovetail.service.cli.log_output import row_printer

    rows = result_rows(home_at(home), application, table, limit)
    if rows is None:
        typer.echo("no result rows yet", err=True)
        return
    printer = row_printer(form, rows.schema)
    for batch in rows.to_batches():
        printer.rows(batch)
    printer.end()


def result_rows(home: str, application: str, table: str | None, limit: int) -> pa.Table | None:
    """The newest rows of a table; None: there are none yet."""
    from dovetail.plan.application_file import read_application
    from dovetail.plan.physical import FileSink

    sink = _stored(read_application(home, application), table)
    if isinstance(sink, FileSink):
        return newest_file_rows(sink, limit)
    return _category_rows(sink, home, limit)


def _stored(plan: Plan, name: str | None) -> FileSink | ScribeSink:
    """The table that was asked for, by the name of its stage, its folder or its category."""
    from dovetail.plan.physical import CategoryOutput, FileSink, OutsideSink, ScribeSink

    tables = {
        stage.name: stage.output for stage in plan.stages if not isinstance(stage.output, CategoryOutput)
    }
    found = [sink for own, sink in tables.items() if name in (None, own, *_other_names(sink))]
    if len(found) != 1:
        raise InputError(
            f"there is no table {name}" if name else f"application {plan.application} has several tables",
            expected=f"--table with one of: {', '.join(tables)}",
        )
    if not isinstance(found[0], FileSink | ScribeSink):
        outside = isinstance(found[0], OutsideSink)
        raise InputError(
            f"the rows of this table are in {found[0].place}" if outside else "this table keeps no rows",
            where=f"application {plan.application}",
            expected="a table with STORAGE PARQUET, JSON, CSV or SCRIBE",
            hint="query them there" if outside else None,
        )
    return found[0]


def _other_names(sink: Sink) -> tuple[str, ...]:
    from dovetail.plan.physical import FileSink, ScribeSink

    if isinstance(sink, FileSink):
        return (Path(sink.path).name,)
    return (sink.category,) if isinstance(sink, ScribeSink) else ()


def _category_rows(sink: ScribeSink, home: str, limit: int) -> pa.Table | None:
    import pyarrow as pa

    from dovetail.log.category import Category, list_categories
    from dovetail.service.cli.log import last_rows

    if sink.category not in list_categories(home):
        return None
    category = Category.open(home, sink.category)
    found = last_rows(category, category.next_commit(), limit)
    return pa.Table.from_batches(found, category.schema) if found else None


def newest_file_rows(sink: FileSink, limit: int) -> pa.Table | None:
    """The last rows of the newest committed files: only as many files are read as are needed."""
    import pyarrow as pa

    from dovetail.service.committed_files import committed_files

    if "://" in sink.path:
        raise InputError(
            "result files on another filesystem cannot be shown",
            where=sink.path,
            expected="a local folder",
            hint="read them with Spark or pyarrow",
        )
    if not Path(sink.path).is_dir():
        raise InputError(
            "the folder of this table does not exist",
            where=str(Path(sink.path).absolute()),
            expected="the folder that STORAGE names, in the directory where the application was started",
            hint="start it first, or call `dovetail show` from that directory",
        )
    found: list[pa.Table] = []
    for file in reversed(committed_files(sink.path)):
        if limit <= 0:
            break
        found.insert(0, _with_parts(_last_of(file, sink, limit), file, sink))
        limit -= found[0].num_rows
    return pa.concat_tables(found, promote_options="permissive") if found else None


def _last_of(file: str, sink: FileSink, limit: int) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    if sink.format == "parquet":
        rows = pq.ParquetFile(file).read()  # by itself: the folders that it is in say nothing to Arrow
        return rows.slice(max(0, rows.num_rows - limit))
    if sink.format == "csv":
        named = dict(sink.options).get("header") == "true"
        rows = csv.read_csv(file, csv.ReadOptions(autogenerate_column_names=not named))
        return rows.slice(max(0, rows.num_rows - limit))
    # Spark leaves null fields out of JSON lines, so every row may have other columns.
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()[-limit:]]
    names = dict.fromkeys(name for line in lines for name in line)
    return pa.table({name: pa.array([line.get(name) for line in lines]) for name in names})


def _with_parts(rows: pa.Table, file: str, sink: FileSink) -> pa.Table:
    """With the columns that only the names of the folders have."""
    import pyarrow as pa

    folders = dict(folder.split("=", 1) for folder in Path(file).parts[:-1] if "=" in folder)
    for name in sink.partitioned:
        value = unquote(folders.get(name, NO_VALUE))
        known = None if value == NO_VALUE else value
        rows = rows.append_column(name, pa.array([known] * rows.num_rows, pa.string()))
    return rows
