"""A window join over a real log and a real state store, to which accidents happen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa

import windows_oracle as oracle
from dovetail.engine.driver import JoinDriver
from dovetail.model.interval import Pick
from dovetail.model.join_config import OutputColumn
from dovetail.model.join_kind import WindowedJoin
from dovetail.model.offset import JoinOffset
from dovetail.model.window_join import WindowJoin
from laws.algorithms import Hashing
from laws.recovering import RecoveringJoin
from streams import Mode, Window

STAMP = pa.timestamp("us", "UTC")
OUTPUT = pa.schema(
    [("left_id", pa.int64()), ("right_id", pa.int64()), ("window_start", STAMP), ("window_end", STAMP)]
)


def windowed(how: str, window: WindowJoin, pick: Pick | None) -> WindowedJoin:
    """`pick` None: with all partners."""
    return WindowedJoin(how, window) if pick is None else WindowedJoin(how, window, "one", pick)


class RecoveringWindows(RecoveringJoin):
    def __init__(
        self, home: Path, window: WindowJoin, how: str, hashing: Hashing, pick: Pick | None = None
    ) -> None:
        super().__init__(home, Window(0, 0), Mode("inner", "all", "first"), hashing)
        bounds = (
            OutputColumn("window_start", "window", "start"),
            OutputColumn("window_end", "window", "end"),
        )
        self.config = replace(
            self.config,
            join_kind=windowed(how, window, pick),
            columns=(*self.config.columns, *bounds),
        )
        self.driver = JoinDriver(self.config)

    def step(self, *given: object, **more: object) -> list:
        return oracle.in_order(super().step(*given, **more))

    def _run(self, start: JoinOffset, end: JoinOffset) -> list:
        rows = []
        for batch in self.driver.run(start, end):
            rows += zip(*(column.cast(pa.int64()).to_pylist() for column in batch.columns), strict=True)
        return rows
