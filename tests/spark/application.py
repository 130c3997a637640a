"""An application under test: its folder, its query, and what it wrote."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.service.cli.run import run_application
from dovetail.service.committed_files import committed_files
from dovetail.service.figures import RunFigures, RunSummary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Mode = Literal["stream", "available-now", "drain"]
PATIENCE_S = 300


@dataclass
class Application:
    folder: Path
    spark: SparkSession

    @property
    def home(self) -> str:
        return str(self.folder / "home")

    @property
    def index(self) -> Path:
        return self.folder / "index"

    def run(
        self,
        pql: str,
        mode: Mode = "drain",
        *,
        stop: threading.Event | None = None,
        on_figures: Callable[[RunFigures], None] | None = None,
        begins: Sequence[str] = (),
        reslice: bool = False,
    ) -> RunSummary:
        """Run a query text; `{here}` in it is the application's folder. `begins`: as `--from` says it."""
        path = self.folder / "app.pql"
        path.write_text(pql.replace("{here}", str(self.folder)))
        return run_application(
            path,
            home=self.home,
            master="local[2]",
            mode=mode,
            settings={},
            on_figures=on_figures,
            stop=stop,
            spark=self.spark,
            begins=begins,
            reslice=reslice,
        )

    def stream(self, pql: str, script: Iterator[Callable[[RunFigures], bool]]) -> RunFigures:
        """Run a query text until the script ends. It yields what it waits for, and goes on when figures
        of the run say so. Gives the last figures."""
        stop = threading.Event()
        ready = next(script, None)
        last, deadline_s = RunFigures("", 0.0, ""), time.monotonic() + PATIENCE_S

        def look(now: RunFigures) -> None:
            nonlocal ready, last, deadline_s
            last = now
            if ready is None:
                stop.set()
            elif ready(now):
                ready, deadline_s = next(script, None), time.monotonic() + PATIENCE_S
            assert time.monotonic() < deadline_s, f"waited in vain: {now}"

        self.run(pql, "stream", stop=stop, on_figures=look)
        return last

    def files(self, name: str) -> list[str]:
        """The committed files of a file output, by Spark's own account of them."""
        return committed_files(self.folder / name)

    def category(self, name: str) -> pa.Table:
        return category_rows(self.home, name)


def category_rows(home: str, name: str) -> pa.Table:
    category = Category.open(home, name)
    commits = category.commits(category.first_commit(), category.next_commit())
    batches = [category.open_segment(info).batch for commit in commits for info in commit.segments]
    return pa.Table.from_batches(batches, category.schema)
