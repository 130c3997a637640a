"""Law: a fault of the moment costs a restart from the checkpoint; any other ends the run with what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql.streaming.query import StreamingQuery

from dovetail.spark.failures import failure_of, is_transient
from dovetail.spark.starting import Failures

STARTS = 10
"""How often a stage is started without getting any further: a machine may be too busy for some minutes."""


@dataclass
class Attempts:
    """The starts of each stage since it last got further. `failures`: see `starting.py`."""

    failures: Failures = field(default_factory=dict)
    _starts: dict[str, int] = field(default_factory=dict)

    def ended(self, stage: str, queries: Sequence[StreamingQuery]) -> bool:
        """Whether an error has ended a query of the stage, and the stage may be started again. Raises the
        error if it may not."""
        ended = [(query, error) for query in queries if not query.isActive and (error := query.exception())]
        if not ended:
            return False
        kept = self.failures.pop(stage, None)  # says more than what Spark made of it
        further = all(query.recentProgress for query, _ in ended)
        self._starts[stage] = 2 if further else self._starts.get(stage, 1) + 1
        if self._starts[stage] > STARTS or not all(is_transient(kept or error) for _, error in ended):
            raise kept or failure_of(ended[0][1], stage)
        for query in queries:
            query.stop()
        return True
