"""The driver's half of a source whose steps Dovetail plans: those of a join or an aggregate.

Spark calls `latestOffset` on the driver: that plans the next step. Offsets go through Spark's offset log
before a step runs, so a step that is run again (a retried task, a restarted driver) is the same step.

Spark starts a process for the driver's part, and the first step waits for what that process imports. So what
planning needs is imported with the sources, while the slicers still work; the kernels, which it does not
need, only where a task runs.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from dovetail.engine.gates import look_at, rests_at, wait_at
from dovetail.spark.failures import packs_errors
from dovetail.spark.hang_up import QuietReader


class PlannedReader(QuietReader, SupportsTriggerAvailableNow):
    """`offset`: the type of its offsets. A subclass says how the next step is planned where the streams end
    with what is there."""

    offset: ClassVar[Any]

    def __init__(self, config: Any, schema: StructType, planner: Any) -> None:
        self.config = config
        self.schema = schema
        self._planner = planner
        self._ends = False
        self._until: Any = None

    @packs_errors
    def initialOffset(self) -> dict[str, Any]:
        said: dict[str, Any] = self._planner.first().to_json()
        return said

    @packs_errors
    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run will see, or what its slicers find there: they may still be
        working it off."""
        self._planner.there_now()  # what opening a category imports is imported before the wait
        wait_at(self.config.gate)
        self._ends = True

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    @packs_errors
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        look_at(self.config.gate)
        begin = self.offset.from_json(start)
        end = self.of_the_rest(begin) if self._ends else self.next_step(begin)
        return start if end is begin else end.to_json()

    def of_the_rest(self, begin: Any) -> Any:
        raise NotImplementedError

    def next_step(self, begin: Any) -> Any:
        """For streams that never end. If nothing is new, this waits for a moment: Spark needs longer than
        that to come back."""
        self._planner.await_news(begin)
        return begin if rests_at(self.config.gate) else self._planner.plan(begin)

    @packs_errors
    def commit(self, end: dict[str, Any]) -> None:
        self._planner.retain(self.offset.from_json(end))
