"""The application of a case on Spark: feed it, start it, look at it, read its result."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dovetail
from dovetail.crash_points import FILE_VARIABLE
from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Side
from dovetail.service.committed_files import committed_files
from dovetail.service.torture import dataframes
from dovetail.service.torture.oracle import Result, Row, Turn
from dovetail.service.torture.spark_query import NAME, VIEW, QueryEnds, ends_here, query
from dovetail.service.torture.workload import EVERY, LENGTH, Workload, cut

SCHEMA = pa.schema([("eventtime", pa.timestamp("us", "UTC")), ("k", pa.string()), ("id", pa.int64())])
_BEGIN_S = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
assert _BEGIN_S % LENGTH == _BEGIN_S % EVERY == 0, "windows begin where the oracle's do"


class Application:
    """One that runs on Spark. `view`: the join whose steps are counted. `dataframes`: it is a person's own
    program, which joins DataFrames."""

    def __init__(self, folder: Path, sink: str, view: str, *, dataframes: bool = False) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.orders = folder / "crash"  # a crash point written here is one process's last
        self.processes: list[subprocess.Popen[bytes]] = []
        self.dataframes = dataframes
        self.environment: dict[str, str] = {}  # beside that of this process
        self._view = view
        self._index = folder / "index"
        self._into_log = sink == "log"

    def feed_part(self, part: int, parts: int) -> None:
        """Let a part of the rows arrive."""
        raise NotImplementedError

    def result(self) -> list[Result]:
        raise NotImplementedError

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.processes[-1]

    def start(self, *options: str) -> None:
        if self.dataframes:
            command = [sys.executable, "-m", dataframes.__name__, str(self.folder), *options]
        else:
            query_file = str(self.folder / "app.pql")
            command = [sys.executable, "-m", "dovetail.service.cli.main", "run", query_file, *options]
            command += ["--master", "local[2,4]"]  # as on a cluster, a task is tried four times
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([_source(), os.environ.get("PYTHONPATH", "")]),
            "DOVETAIL_HOME": str(self.home),
            "DOVETAIL_INDEX_DIR": str(self._index),
            "DOVETAIL_DRIVER_MEMORY": "1g",
            FILE_VARIABLE: str(self.orders),
            **self.environment,
        }
        with open(self.folder / f"said-{len(self.processes) + 1}.txt", "wb") as said:
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
            )

    def said(self) -> str:
        """The output of the last run so far."""
        return (self.folder / f"said-{len(self.processes)}.txt").read_text(errors="replace")

    def steps_done(self) -> int:
        """Micro-batches of the join that Spark has committed, by the number of the last one: it removes the
        files of old ones."""
        commits = self.home / "apps" / NAME / "checkpoints" / self._view / "commits"
        if self.dataframes:
            commits = dataframes.commits_folder(self.folder)
        names = os.listdir(commits) if commits.is_dir() else []
        return 1 + max((int(name) for name in names if name.isdigit()), default=-1)

    def rows_out(self) -> list[dict[str, Any]]:
        """What is in the sink."""
        if self._into_log:
            category = Category.open(str(self.home), "out")
            commits = category.commits(category.first_commit(), category.next_commit())
            tables = [pa.table(category.open_segment(info).batch) for one in commits for info in one.segments]
        else:
            tables = [pq.ParquetFile(file).read() for file in committed_files(self.folder / "out")]
        return [row for table in tables for row in table.to_pylist()]

    def lose_index(self) -> None:
        """As if another machine took over."""
        shutil.rmtree(self._index, ignore_errors=True)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)


class SparkApplication(Application):
    """One join."""

    def __init__(self, folder: Path, workload: Workload, sink: str) -> None:
        super().__init__(folder, sink, VIEW, dataframes=workload.mode.dataframes)
        self._mode = workload.mode
        self._workload = workload
        (folder / "r").mkdir(parents=True)
        if self._mode.dataframes:
            (folder / "l").mkdir()
            dataframes.write_mode(folder, self._mode)
        else:
            (folder / "app.pql").write_text(query(self._mode, self.ends()))

    def ends(self) -> QueryEnds:
        return ends_here(self.folder, self._into_log)

    def feed_part(self, part: int, parts: int) -> None:
        self.feed(cut(self._workload.left, part, parts), cut(self._workload.right, part, parts), part)

    def feed(self, left: list[Row], right: list[Row], part: int) -> None:
        """Right rows arrive as a file, and so do left rows of a DataFrame; those of a query through the
        log."""
        self._show(right, "r", part)
        if self._mode.dataframes:
            self._show(left, "l", part)
            return
        waiting = self.folder / f"l-{part:03d}.parquet"
        pq.write_table(_table(left), waiting)
        append_file(str(self.home), "l", find_files([str(waiting)])[0])

    def _show(self, rows: list[Row], name: str, part: int) -> None:
        """Spark skips names that begin with a dot: the file appears whole."""
        hidden = self.folder / name / f".{part:03d}.parquet"
        pq.write_table(_table(rows), hidden)
        hidden.rename(hidden.with_name(hidden.name[1:]))

    def result(self) -> list[Result]:
        bounds = [name for name in ("s", "e") if self._mode.windowed]
        rows = self.rows_out()
        return [(row["l"], row.get("r"), *(_time(row[name]) for name in bounds)) for row in rows]

    def turns(self) -> list[Turn]:
        """The order in which rows entered a join whose window counts them, from Spark's offset log and the
        log. Sides are those of the query: the planner exchanges them in a RIGHT join."""
        offsets = self.home / "apps" / NAME / "checkpoints" / VIEW / "offsets"
        steps = sorted(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
        at = {"left": 0, "right": 0}
        of_query: dict[Side, Side] = {"left": "left", "right": "right"}
        if self._mode.how == "right":
            of_query = {"left": "right", "right": "left"}
        found: list[Turn] = []
        for step in steps:
            said = json.loads((offsets / str(step)).read_text().splitlines()[-1])
            for side, commits in JoinOffset.from_json(said).turns_of():
                found.append((of_query[side], self._rows(side, at[side], at[side] + commits)))
                at[side] += commits
        return found

    def _rows(self, side: Side, start: int, stop: int) -> list[Row]:
        """The rows of commits of one side of the join, in log order: the letter from its operand, and the
        number if the log has it."""
        category = Category.open(str(self.home), f"{NAME}.{VIEW}.{side}")
        name = "_r_id" if side == "right" else "r" if self._mode.how == "right" else "l"
        rows: list[Row] = []
        for commit in category.commits(start, stop):
            for info in commit.segments:
                table = category.open_segment(info).batch
                letters = table.column("_on_0").to_pylist()
                numbers: list[int] = list(range(info.first_row, info.first_row + info.rows))
                if name in table.schema.names:
                    numbers = table.column(name).to_pylist()
                rows += [(code and chr(code), None, n) for code, n in zip(letters, numbers, strict=True)]
        return rows


def _time(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp()) - _BEGIN_S


def micros(time: int | None) -> int | None:
    """The event time of a row, in microseconds since 1970."""
    return None if time is None else (_BEGIN_S + time) * 1_000_000


def _table(rows: list[Row]) -> pa.Table:
    columns = [
        [micros(time) for _, time, _ in rows],
        [key for key, _, _ in rows],
        [number for _, _, number in rows],
    ]
    return pa.table(
        [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def _source() -> str:
    return str(Path(dovetail.__file__).resolve().parent.parent)
