"""Law: a temporary fault costs a restart from the checkpoint; any other ends the run with its error.

An external system that cannot be reached is tried again, for some minutes. Meanwhile the stage that needs it
is down, all others continue, and nothing is lost: its next batch is the one that could not be written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql.streaming.query import StreamingQuery

from dovetail.errors import DovetailError, Unreachable
from dovetail.spark.failures import failure_of, is_transient
from dovetail.spark.starting import Failures

STARTS = 10
"""How often a stage is started without getting any further: a machine may be too busy for some minutes."""
PATIENCE_S = 600.0
"""How long an external system may be unavailable."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0


@dataclass
class Away:
    """A place that a stage waits for: what it said last, since when, and when it is asked again."""

    error: Unreachable
    since_s: float
    next_s: float
    pause_s: float = FIRST_PAUSE_S


@dataclass
class Attempts:
    """The starts of each stage since it last got further. `failures`: see `starting.py`."""

    failures: Failures = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    away: dict[str, Away] = field(default_factory=dict)
    _starts: dict[str, int] = field(default_factory=dict)

    @property
    def waiting(self) -> str:
        """What is waited for, in words."""
        return "; ".join(f"{stage} waits: {one.error.what}" for stage, one in self.away.items())

    def ended(self, stage: str, queries: Sequence[StreamingQuery]) -> bool:
        """Whether an error has ended a query of the stage, and the stage may be started again now. Raises the
        error if it may not."""
        ended = [(query, error) for query in queries if not query.isActive and (error := query.exception())]
        if not ended:
            if stage in self.away and all(query.recentProgress for query in queries):
                del self.away[stage]
            return False
        kept: DovetailError | None = self.failures.pop(stage, None)  # says more than what Spark made of it
        if isinstance(kept, Unreachable):
            self.cannot_reach(stage, kept)
        if stage in self.away:
            return self._may_ask_again(stage)
        further = all(query.recentProgress for query, _ in ended)
        self._starts[stage] = 2 if further else self._starts.get(stage, 1) + 1
        if self._starts[stage] > STARTS or not all(is_transient(kept or error) for _, error in ended):
            raise kept or failure_of(ended[0][1], stage)
        for query in queries:
            query.stop()
        return True

    def cannot_reach(self, stage: str, error: Unreachable) -> None:
        """Wait before the stage is started again, longer each time. Raises the error after `PATIENCE_S`."""
        now_s, known = self.clock(), self.away.get(stage)
        if known is None:
            self.away[stage] = Away(error, now_s, now_s + FIRST_PAUSE_S)
            return
        if now_s - known.since_s > PATIENCE_S:
            raise error
        pause_s = min(2 * known.pause_s, LONGEST_PAUSE_S)
        self.away[stage] = Away(error, known.since_s, now_s + pause_s, pause_s)

    def _may_ask_again(self, stage: str) -> bool:
        away = self.away[stage]
        if self.clock() < away.next_s:
            return False
        away.next_s = self.clock() + away.pause_s  # if the start fails without a word
        return True
