"""`dovetail log`: list categories, print and follow their rows, append files, trim."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from time import sleep
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from dovetail.errors import DovetailError, InputError
from dovetail.log.category import Category, list_categories
from dovetail.log.ingest.append import Appended, append_file
from dovetail.log.ingest.files import find_files
from dovetail.log.ingest.standard_input import piped_files
from dovetail.log.limits import Limits, set_limits
from dovetail.service.cli.arguments import AsJson, CategoryName, Home, home_at
from dovetail.service.cli.log_limits import (
    age_us,
    reader_lines,
    retention_facts,
    retention_words,
    size_bytes,
)
from dovetail.service.cli.log_output import (
    RowFormat,
    category_facts,
    many,
    print_categories,
    print_json,
    row_printer,
)

app = typer.Typer(
    help="List, read, append to and follow categories of the log.", no_args_is_help=True, add_completion=False
)

Rows = Annotated[RowFormat, typer.Option("--format", help="How rows are printed.")]


@app.command()
def ls(home: Home = None, as_json: AsJson = False) -> None:
    """List the categories of a home."""
    place = home_at(home)
    facts = [category_facts(Category.open(place, name)) for name in list_categories(place)]
    if as_json:
        print_json({"home": place, "categories": facts})
    elif facts:
        print_categories(facts, Console(highlight=False))
    else:
        typer.echo(f"{place} has no categories yet; `dovetail log append CATEGORY FILE` creates one")


@app.command()
def cat(
    name: CategoryName,
    *,
    home: Home = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Print at most N rows. A table shows 20 unless you set it.")
    ] = None,
    form: Rows = RowFormat.table,
    start: Annotated[int | None, typer.Option("--from", min=0, help="First commit to print.")] = None,
    stop: Annotated[int | None, typer.Option("--to", min=0, help="Commit to stop before.")] = None,
) -> None:
    """Print the rows of a category, from its first commit on."""
    category = Category.open(home_at(home), name)
    end = category.next_commit()
    if stop is not None and stop > end:
        raise InputError(f"--to {stop} is past the end", where=category.where, expected=f"at most {end}")
    found = batches(
        category, category.first_commit() if start is None else start, end if stop is None else stop
    )
    if limit is None and form is RowFormat.table:
        limit = 20
    printer = row_printer(form, category.schema)
    for batch in found if limit is None else _first(found, limit):
        printer.rows(batch)
    printer.end()


@app.command()
def append(
    name: CategoryName,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files, or folders of files; - is standard input.")
    ],
    *,
    home: Home = None,
    form: Annotated[
        str, typer.Option("--format", help="Format of the files: auto, parquet, json (lines) or csv.")
    ] = "auto",
    buckets: Annotated[
        int | None, typer.Option(help="Number of buckets of a new category; default 1.")
    ] = None,
    time_column: Annotated[str | None, typer.Option("--time", help="Column with the event time.")] = None,
    compression: Annotated[
        str | None, typer.Option(help="Compression of a new category: auto, zstd or none; default auto.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Append files to a category. The first file creates it and sets its schema. A file is appended as a
    whole or not at all. Standard input is appended as it arrives, as JSON lines unless --format says
    otherwise."""
    done: list[Appended] = []
    if files == ["-"]:
        for piped in piped_files("json" if form == "auto" else form):
            made = {"buckets": buckets, "time_column": time_column, "compression": compression}
            done.append(append_file(home_at(home), name, piped, kind=form, **made))  # type: ignore[arg-type]
        _report(name, done, as_json)
        return
    inputs = find_files(files)
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:
        task = bars.add_task(name, total=sum(file.bytes for file in inputs))
        before = 0
        for file in inputs:
            try:
                result = append_file(
                    home_at(home),
                    name,
                    file,
                    kind=form,
                    buckets=buckets,
                    time_column=time_column,
                    compression=compression,
                    progress=functools.partial(_advance, bars, task, before),
                )
            except DovetailError as error:
                if done:
                    error.hint = f"{error.hint or ''}; the {len(done)} files before it are in the log".lstrip(
                        "; "
                    )
                raise
            done.append(result)
            before += file.bytes
            bars.update(task, completed=before)
    _report(name, done, as_json)


def _advance(bars: Progress, task: TaskID, before_bytes: int, position_bytes: int) -> None:
    bars.update(task, completed=before_bytes + position_bytes)


def _report(name: str, done: list[Appended], as_json: bool) -> None:
    commits = [result.commit.number for result in done if result.commit]
    rows, rejected = sum(result.rows for result in done), sum(result.rejected for result in done)
    if as_json:
        print_json({"category": name, "commits": commits, "rows": rows, "rejected": rejected})
        return
    typer.echo(f"{name}: {many(rows, 'row')} of {many(len(done), 'file')} in {many(len(commits), 'commit')}")
    if rejected:
        sample = next(result.sample for result in done if result.sample)
        typer.echo(f"set aside as unreadable: {many(rejected, 'row')}; the first: {sample}", err=True)


@app.command()
def tail(
    name: CategoryName,
    *,
    home: Home = None,
    limit: Annotated[int, typer.Option(min=0, help="Start with the last N rows.")] = 10,
    form: Rows = RowFormat.json,
    follow: Annotated[bool, typer.Option(help="Keep printing new rows until interrupted.")] = True,
    poll_s: Annotated[float, typer.Option("--poll", min=0.01, help="Seconds between two polls.")] = 0.5,
) -> None:
    """Print the last rows of a category, then new rows as they are committed."""
    category = Category.open(home_at(home), name)
    printer = row_printer(form, category.schema)
    position = category.next_commit()
    for batch in last_rows(category, position, limit):
        printer.rows(batch)
    try:
        while follow:
            sys.stdout.flush()
            sleep(poll_s)
            end = category.next_commit(position)
            if end > position and (newest := Category.open(category.home, name)).schema != category.schema:
                category, printer = newest, row_printer(form, newest.schema)
            for batch in batches(category, position, end):
                printer.rows(batch)
            position = end
    except KeyboardInterrupt:
        pass
    printer.end()


@app.command()
def retain(
    name: CategoryName,
    *,
    home: Home = None,
    age: Annotated[
        str | None, typer.Option(help="Delete commits older than this, e.g. '7 days'; 'none' for no limit.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Delete the oldest commits beyond this, e.g. 10GB; 'none' for no limit."),
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="Go back to the defaults.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how long a category keeps rows, or set it. What a live reader needs stays in any case."""
    category = Category.open(home_at(home), name)
    if default and (age is not None or size is not None):
        raise InputError("--default sets both limits", expected="--default alone, or --age and --size")
    if default:
        set_limits(category, None)
    elif age is not None or size is not None:
        now = category.limits()
        set_limits(
            category,
            Limits(
                now.age_us if age is None else age_us(age),
                now.size_bytes if size is None else size_bytes(size),
            ),
        )
    facts = retention_facts(category)
    if as_json:
        print_json({"category": name, **facts})
        return
    typer.echo(f"{name}: {retention_words(category)}")
    for line in reader_lines(category):
        typer.echo(line)


@app.command()
def trim(name: CategoryName, home: Home = None, as_json: AsJson = False) -> None:
    """Delete commits that every reader has read, and files that belong to no commit."""
    category = Category.open(home_at(home), name)
    commits = category.retain()
    while category.compact():
        pass
    orphans = category.remove_orphans()
    readers = category.readers()
    if as_json:
        first = category.first_commit()
        print_json(
            {
                "category": name,
                "commits": commits,
                "orphans": orphans,
                "first_commit": first,
                "readers": readers,
            }
        )
        return
    typer.echo(f"{name}: {many(commits, 'commit')} and {many(orphans, 'orphaned file')} deleted")
    if not readers:
        typer.echo(f"no reader holds anything back, so the limits decide: {retention_words(category)}")
    for line in reader_lines(category, only_gone=True):
        typer.echo(line)


def batches(category: Category, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    for number in range(start, stop):
        for segment in category.commit(number).segments:
            yield category.open_segment(segment).batch


def _first(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    while limit > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, limit)
        limit -= batch.num_rows


def last_rows(category: Category, stop: int, limit: int) -> list[pa.RecordBatch]:
    """The last rows below commit `stop`, in order."""
    found: list[pa.RecordBatch] = []
    for number in range(stop - 1, category.first_commit() - 1, -1):
        for segment in reversed(category.commit(number).segments):
            if limit <= 0:
                return found[::-1]
            batch = category.open_segment(segment).batch
            found.append(batch.slice(max(0, batch.num_rows - limit)))
            limit -= batch.num_rows
    return found[::-1]
