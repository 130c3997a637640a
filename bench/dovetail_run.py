"""Dovetail end to end over the workload's files: both slicers, log, join, post-join slicer, no-op sink.

It runs through the same call as `dovetail run --drain`, in a session made by the product itself, with the
same columns in the result and the same delay as Spark's own join. The end rows come out too, once the windows
close: they are counted out here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from bench.measure import Figures
from bench.workload import END_ROWS, SCHEMAS, Dataset, Side
from dovetail.errors import RunError
from dovetail.service.cli.run import run_application
from dovetail.service.figures import RunFigures
from dovetail.spark.session import open_session

_QUERY = """\
CREATE APPLICATION bench_interval;

CREATE INPUT TABLE left_rows (
  eventtime TIMESTAMP, key BIGINT, units BIGINT, amount DOUBLE, label STRING
) FROM FILES("{left}", format = "{form}");

CREATE INPUT TABLE right_rows (
  eventtime TIMESTAMP, key BIGINT, quantity BIGINT, score DOUBLE, tag STRING
) FROM FILES("{right}", format = "{form}");

CREATE VIEW joined AS
SELECT
  {columns}
FROM left_rows AS l LEFT OUTER JOIN right_rows AS r
  ON (l.key = r.key) {window}
  WITH (max_delay = INTERVAL '{delay_s} seconds');

CREATE TABLE results AS
SELECT {names}
FROM joined
STORAGE NOOP;
"""

_WINDOWS = {
    "interval": """AND
     (r.eventtime BETWEEN
        l.eventtime - INTERVAL '{seconds} seconds' AND
        l.eventtime + INTERVAL '{seconds} seconds')""",
    "tumbling": "WITHIN TUMBLING '{seconds} seconds'",
}


def query(dataset: Dataset, window_us: int, join: str = "interval") -> str:
    """The workload's join as PQL, with every column of both sides in the result."""
    names = {(alias, name): f"{side}_{name}" for alias, side, name in _columns()}
    return _QUERY.format(
        left=dataset.inputs("left"),
        right=dataset.inputs("right"),
        form=dataset.form,
        columns=",\n  ".join(f"{alias}.{name} AS {out}" for (alias, name), out in names.items()),
        names=", ".join(names.values()),
        window=_WINDOWS[join].format(seconds=_seconds(window_us)),
        delay_s=_seconds(dataset.max_delay_us),
    )


def _columns() -> list[tuple[str, Side, str]]:
    return [("l", "left", name) for name in SCHEMAS["left"].names] + [
        ("r", "right", name) for name in SCHEMAS["right"].names
    ]


def _seconds(us: int) -> str:
    return f"{us // 1_000_000}" if us % 1_000_000 == 0 else f"{us / 1e6:.6f}"


class Engine:
    """A session that runs the query over one dataset after another."""

    def __init__(self, cores: int, driver_memory: str) -> None:
        self._master = f"local[{cores}]"
        self._spark = open_session("bench_interval", self._master, driver_memory, {})

    def run(
        self,
        dataset: Dataset,
        window_us: int,
        work: Path,
        tell: Callable[[str], None],
        join: str = "interval",
    ) -> Figures:
        """Work the files off and say what it took. `tell` hears now and then how far it is."""
        work.mkdir(parents=True)
        pql = work / "bench_interval.pql"
        pql.write_text(query(dataset, window_us, join))
        told_s = 0.0

        def on_figures(now: RunFigures) -> None:
            nonlocal told_s
            if now.elapsed_s - told_s >= 2:
                told_s = now.elapsed_s
                tell(f"{now.phase}: {now.elapsed_s:.1f} s")

        began_at, began = time.time(), time.perf_counter()
        summary = run_application(
            pql,
            home=str(work / "home"),
            master=self._master,
            mode="drain",
            settings={},
            on_figures=on_figures,
            spark=self._spark,
        )
        elapsed_s = time.perf_counter() - began
        (ran,) = summary.joins
        expected_rows = dataset.workload.rows + END_ROWS
        if (ran.left_rows, ran.right_rows) != (expected_rows, expected_rows):
            raise RunError(
                f"the join took {ran.left_rows} left and {ran.right_rows} right rows",
                expected=f"{expected_rows} of each",
            )
        return Figures(
            elapsed_s=elapsed_s,
            input_rows=dataset.input_rows,
            matched=ran.matches,
            unmatched=ran.left_alone - END_ROWS,
            first_result_at=None if summary.first_result_s is None else began_at + summary.first_result_s,
            state_rows=ran.buffered_rows_peak,
            state_bytes=ran.index_bytes_peak,
            details=summary.to_json(),
        )
