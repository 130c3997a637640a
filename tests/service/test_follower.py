"""What follows a run: when it looks, and when it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from dovetail.service.figures import MemoryUse, RunFigures
from dovetail.service.follower import Follower


@dataclass
class Ran:
    """A run without joins, in one phase after another."""

    phase: str
    plan: Any = field(default_factory=lambda: SimpleNamespace(application="searches"))
    stages: tuple[()] = ()
    waiting: str = ""


def test_a_run_that_has_stopped_shows_the_memory_it_took_last() -> None:
    """Counting pages takes a tenth of a second, and whoever waits for the end would wait for it."""
    clock, seen, counted = [0.0], list[RunFigures](), list[float]()

    def count() -> MemoryUse:
        counted.append(clock[0])
        return MemoryUse(1_000 + len(counted))

    follower = Follower(seen.append, clock=lambda: clock[0], read_memory=count)
    for clock[0], phase in [(1.0, "slicing"), (3.0, "joining"), (9.0, "joining"), (9.1, "stopped")]:
        follower.take(Ran(phase), None)  # type: ignore[arg-type]
    assert [figures.memory.bytes for figures in seen] == [0, 1_001, 1_002, 1_002]
    assert counted == [3.0, 9.0]
