"""What the API and the portal show of a home, as plain values."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import DovetailError, InputError
from dovetail.log.category import Category, list_categories
from dovetail.service.cli.log_output import plain
from dovetail.service.keeping.processes import log_path

TAIL_BYTES = 32 << 10
MINUTE_US = 60_000_000
MOST_COMMITS = 200
JSON_TYPES = ("application/x-ndjson", "application/json", "application/jsonl")
ARROW_TYPE = "application/vnd.apache.arrow.stream"


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = plain(row)
    return made


def versions(home: str, application: str) -> list[dict[str, Any]]:
    """The newest first. A version that cannot be read is there with its error."""
    from dovetail.changes.timeline import counted
    from dovetail.changes.versions import read_version, version_numbers
    from dovetail.changes.words import change_lines, verdict_words
    from dovetail.plan.application_file import read_current

    current = read_current(home, application).version
    found: list[dict[str, Any]] = []
    numbers = version_numbers(home, application)
    ran = counted(home, application, numbers)
    for number in reversed(numbers):
        try:
            version = read_version(home, application, number)
        except DovetailError as error:
            found.append({"number": number, "current": number == current, "words": str(error)})
            continue
        words = "first query" if version.parent is None else verdict_words(version.changes)
        found.append(
            {
                "number": number,
                "current": number == current,
                "parent": version.parent,
                "author": version.author,
                "made_at_us": version.made_at_us,
                "words": f"{words} (never took over)" if ran[number] is False else words,
                "changes": list(change_lines(version.changes, places=False)),
                "took_over": dict(version.took_over),
                "text": version.text,
            }
        )
    return found


def result_rows(home: str, application: str, table: str | None, limit: int) -> dict[str, Any]:
    from dovetail.service.cli.show import result_rows as newest

    return _table(newest(home, application, table, limit))


def why(home: str, application: str, key: list[str], join: str | None, limit: int) -> dict[str, Any]:
    from dovetail.service.cli.why import asked, for_programs

    answer, story = asked(home, application, key, join=join, limit=limit)
    made: dict[str, Any] = plain(for_programs(answer, application, story))
    return made


def log_tail(home: str, application: str) -> str:
    try:
        with log_path(home, application).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def categories(home: str, shown: Callable[[str], bool]) -> list[dict[str, Any]]:
    return [_facts(home, name) for name in list_categories(home) if shown(name)]


def written(home: str, application: str) -> list[str]:
    """The categories that an application's tables go to."""
    from dovetail.plan.application_file import read_application
    from dovetail.plan.physical import ScribeSink

    try:
        stages = read_application(home, application).stages
    except DovetailError:
        return []  # it has not run yet, or its plan cannot be read
    return [stage.output.category for stage in stages if isinstance(stage.output, ScribeSink)]


def category(home: str, name: str, limit: int) -> dict[str, Any]:
    from dovetail.service.cli.log import last_rows

    found = Category.open(home, name)
    batches = last_rows(found, found.next_commit(), limit)
    newest = pa.Table.from_batches(batches, found.schema) if batches else None
    return {**_facts(home, name), **_table(newest)}


def append(
    home: str, name: str, kind: str, body: bytes, producer: str | None, sequence: int | None
) -> dict[str, Any]:
    from dovetail.log.ingest.append import append_file
    from dovetail.log.ingest.source import InputFile

    with tempfile.TemporaryDirectory(prefix="dovetail-ingest-") as folder:
        if kind in JSON_TYPES:
            path, form = Path(folder) / "rows.json", "json"
            path.write_bytes(body)
        elif kind == ARROW_TYPE:
            path, form = Path(folder) / "rows.parquet", "parquet"
            _write_parquet(body, path)
        else:
            raise InputError(
                f"rows of the type {kind or '(none)'} are not taken",
                where="Content-Type",
                expected=f"{JSON_TYPES[0]} or {ARROW_TYPE}",
            )
        file = InputFile(str(path), path.stat().st_size)
        try:
            done = append_file(home, name, file, kind=form, producer=producer, batch=sequence)
        except InputError as error:
            error.where = "the request's body" if error.where == str(path) else error.where
            raise
    return {
        "category": name,
        "commit": done.commit.number if done.commit else None,
        "rows": done.rows,
        "rejected": done.rejected,
        "sample": done.sample,
    }


def rows_aside(home: str, application: str) -> list[dict[str, Any]]:
    """Rows that did not go the usual way: unreadable, without a believable time, or too late."""
    from dovetail.log.limits import role_of

    found = []
    for name in list_categories(home):
        if name.startswith(f"{application}."):
            known = Category.open(home, name)
            if role_of(known) in ("invalid", "rejects"):
                found.append({**category(home, name, 20), "kind": role_of(known)})
    return found


def difference(home: str, application: str, old: int, new: int) -> dict[str, Any]:
    """Two versions of a query, line by line, and what the change did to rows."""
    import difflib

    from dovetail.changes.versions import read_version

    before, after = (read_version(home, application, number).text or "" for number in (old, new))
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"version {old}", f"version {new}", lineterm="", n=3
    )
    return {"old": old, "new": new, "lines": list(lines)}


def rate_per_s(found: Category, now_us: int) -> float:
    """Rows that came within the last minute, per second."""
    rows, stop = 0, found.next_commit()
    for number in range(stop - 1, max(found.first_commit(), stop - MOST_COMMITS) - 1, -1):
        commit = found.commit(number)
        if commit.written_at_us < now_us - MINUTE_US:
            break
        rows += commit.rows
    return rows * 1_000_000 / MINUTE_US


def _write_parquet(body: bytes, path: Path) -> None:
    try:
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
        pq.write_table(table, path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"the body is no Arrow stream: {error}", where="the request's body") from None


def _facts(home: str, name: str) -> dict[str, Any]:
    from dovetail.service.cli.log_limits import retention_words
    from dovetail.service.cli.log_output import category_facts

    try:
        found = Category.open(home, name)
        return {
            **category_facts(found),
            "rows_per_s": rate_per_s(found, time.time_ns() // 1000),
            "kept": retention_words(found),
        }
    except DovetailError as error:
        return {"name": name, **error.to_json()}


def _table(rows: pa.Table | None) -> dict[str, Any]:
    if rows is None:
        return {"columns_shown": [], "rows_shown": []}
    shown = [list(plain(row).values()) for row in rows.to_pylist()]
    return {"columns_shown": rows.schema.names, "rows_shown": shown}
