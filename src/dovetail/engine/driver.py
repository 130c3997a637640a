"""One join over a home, driven in this process: plan, record, run, retain. No Spark, and the clock passed in.

Spark drives a join with the same parts: its source plans and retains with a `JoinPlanner`, and its tasks call
`run_step`. Here one object does both, for `dovetail.local`, the fault suite, benchmarks and tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from dovetail.engine.join_step import run_step
from dovetail.engine.planner import HOST_CLOCK, HostClock, JoinPlanner
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset


class JoinDriver(JoinPlanner):
    def __init__(self, config: JoinConfig, clock: HostClock = HOST_CLOCK) -> None:
        super().__init__(config, clock)
        self.schema = output_schema(config)

    def run(self, start: JoinOffset, end: JoinOffset) -> Iterator[pa.RecordBatch]:
        """The rows of one step, task by task."""
        for task in range(end.tasks):
            yield from run_step(self.config, task, start, end, self.schema)

    def drain(self, start: JoinOffset | None = None) -> Iterator[pa.RecordBatch]:
        """Join all there is from `start` on, and close every window."""
        at, until = start or self.first(), self.there_now()
        while (end := self.plan(at, until=until, final=True)) is not at:
            yield from self.run(at, end)
            self.retain(end)
            at = end


def output_schema(config: JoinConfig) -> pa.Schema:
    """The columns of joined rows, with the types they have in the log."""
    left, right = (Category.open(config.home, name) for name in (config.left, config.right))
    return joined_schema(config, left, right)


def joined_schema(config: JoinConfig, left: Category, right: Category) -> pa.Schema:
    types = {
        "left": left.with_dropped().schema,
        "right": right.with_dropped().schema,
        "window": pa.schema([("start", _BOUND), ("end", _BOUND)]),
    }
    return pa.schema(
        [(column.name, types[column.side].field(column.source).type) for column in config.columns]
    )


_BOUND = pa.timestamp("us", "UTC")
