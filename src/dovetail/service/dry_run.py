"""Tries a query on real rows before it is deployed, in its own process: `python -m dovetail.service.dry_run`.

An application that has run is compared with itself, over the recorded steps of the last minutes. A new one
joins the newest rows of its inputs, copied into a home that is thrown away. Nothing else is touched.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from typing import Any

from dovetail.errors import DovetailError, InputError, PlanError, PreviewError

LAST_US = 15 * 60 * 1_000_000
MOST_ROWS = 20_000
MOST_FILE_BYTES = 64 << 20
SHOWN = 20
PATIENCE_S = 120


@dataclass(frozen=True)
class DryRun:
    """`lines`: what would differ, in words. `rows`: by table, some of what comes out."""

    lines: list[str] = field(default_factory=list)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)


def dry_run(home: str, text: str) -> DryRun:
    """In a child: it may need much memory, and must not take the service with it."""
    command = [sys.executable, "-m", "dovetail.service.dry_run", home]
    try:
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise PreviewError(
            f"the dry run took more than {PATIENCE_S} seconds", hint="`dovetail preview` has no such limit"
        ) from None
    try:
        said = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise PreviewError("the dry run failed", where=" ".join(last)[:300] or None) from None
    if "error" in said:
        raise DovetailError.from_json(said)
    return DryRun(**said)


def tried(home: str, text: str) -> DryRun:
    """The same in this process."""
    from dovetail.plan.application_file import list_applications
    from dovetail.pql.parser import parse

    if parse(text, name="query").application in list_applications(home):
        return _compared(home, text)
    return _joined(home, text)


def _compared(home: str, text: str) -> DryRun:
    from dovetail.preview.preview import preview
    from dovetail.service.proposal import proposal
    from dovetail.service.words.preview_words import preview_lines

    proposed = proposal(home, text, "query")
    return DryRun(list(preview_lines(preview(home, proposed.current.plan, proposed.plan, LAST_US))))


def _joined(home: str, text: str) -> DryRun:
    import dovetail.local
    from dovetail.service.cli.log_output import plain

    with tempfile.TemporaryDirectory(prefix="dovetail-dry-run-") as folder:
        lines = _copy_inputs(home, text, folder)
        try:
            made = dovetail.local.run(text, home=folder)
        except PlanError:  # an expression that only Spark evaluates, and starting Spark would take too long
            made = dovetail.local.run(text, home=folder, raw=True)
            lines.append("some expressions need Spark: rows are shown as they leave the join")
    tables = {}
    for name, table in made.items():
        rows = [list(plain(row).values()) for row in table.slice(0, SHOWN).to_pylist()]
        tables[name] = {
            "rows": table.num_rows,
            "columns_shown": table.schema.names,
            "rows_shown": rows,
        }
    return DryRun(lines, tables)


def _copy_inputs(home: str, text: str, folder: str) -> list[str]:
    from pathlib import Path

    from dovetail.log.category import Category
    from dovetail.plan.physical import FilesSource, ScribeSource
    from dovetail.plan.statements import CreateInput
    from dovetail.pql.parser import parse
    from dovetail.service.cli.log import last_rows
    from dovetail.slicing.input_files import input_files

    lines = []
    for statement in parse(text, name="query"):
        match statement:
            case CreateInput(origin=ScribeSource(name)):
                known = Category.open(home, name)
                batches = last_rows(known, known.next_commit(), MOST_ROWS)
                lines.append(f"{name}: the newest {sum(batch.num_rows for batch in batches):,} rows")
                _copy(known, folder, batches)
            case CreateInput(origin=FilesSource(place, form)):
                size = sum(Path(file).stat().st_size for file in input_files(place, form))
                if size > MOST_FILE_BYTES:
                    raise InputError(
                        f"{place} has more than {MOST_FILE_BYTES >> 20} MiB",
                        expected="a smaller input for a dry run",
                        hint="deploy it stopped, or try it with `dovetail.local.run`",
                    )
                lines.append(f"{place}: all rows")
            case CreateInput(name=name):
                raise InputError(f"a dry run reads no {type(statement.origin).__name__}", where=name)
    return lines


def _copy(known: Any, folder: str, batches: list[Any]) -> None:
    import numpy as np
    import pyarrow as pa

    from dovetail.log.category import Category

    made = Category.create(
        folder, known.name, known.schema, buckets=1, time_column=known.time_column, role="input"
    )
    if not batches:
        return
    column = known.time_column

    def times(rows: pa.RecordBatch) -> Any:
        if column is None:
            return np.zeros(rows.num_rows, np.int64)
        return rows.column(column).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).fill_null(0).to_numpy()

    made.append(made.write_segments(batches, lambda rows: np.zeros(rows.num_rows, np.int64), times))


def main() -> None:
    try:
        said: dict[str, Any] = asdict(tried(sys.argv[1], sys.stdin.read()))
    except DovetailError as error:
        said = error.to_json()
    json.dump(said, sys.stdout, default=str)


if __name__ == "__main__":
    main()
