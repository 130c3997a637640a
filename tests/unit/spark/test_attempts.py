"""A place that is away is asked again, less and less often, and not for ever; other faults end the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from dovetail.connectors.kinds import SINKS
from dovetail.errors import PlaceError, PlanError, Unreachable
from dovetail.plan.physical import OutsideSink
from dovetail.spark.attempts import FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S, Attempts
from dovetail.spark.outside import require_reach


@dataclass
class Query:
    """A query of Spark, as far as it is looked at."""

    isActive: bool = False
    recentProgress: list[Any] = field(default_factory=list)

    def exception(self) -> Exception | None:
        return None if self.isActive else RuntimeError("the text that Spark made of it")

    def stop(self) -> None:
        self.isActive = False


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_place_that_comes_back() -> None:
    clock, query = Clock(), Query()
    attempts = Attempts(clock=clock)
    attempts.failures["t"] = Unreachable("the server is away")
    assert not attempts.ended("t", [query]), "not at once"
    assert attempts.waiting == "t waits: the server is away"
    clock.now_s += FIRST_PAUSE_S
    assert attempts.ended("t", [query]), "now it may be started"
    attempts.cannot_reach("t", Unreachable("the server is still away"))
    assert "still away" in attempts.waiting
    assert not attempts.ended("t", [query])
    clock.now_s += 2 * FIRST_PAUSE_S
    assert attempts.ended("t", [query])
    query.isActive = True
    assert not attempts.ended("t", [query])
    assert attempts.away, "it has not got further yet"
    query.recentProgress.append("a batch")
    assert not attempts.ended("t", [query])
    assert not attempts.away


def test_patience_ends() -> None:
    clock = Clock()
    attempts = Attempts(clock=clock)
    asked = 0
    while clock.now_s <= PATIENCE_S:
        attempts.cannot_reach("t", Unreachable("away"))
        clock.now_s = attempts.away["t"].next_s
        asked += 1
    with pytest.raises(Unreachable, match="away"):
        attempts.cannot_reach("t", Unreachable("away"))
    assert PATIENCE_S <= clock.now_s <= PATIENCE_S + LONGEST_PAUSE_S + 1
    assert PATIENCE_S / LONGEST_PAUSE_S <= asked < 2 * PATIENCE_S / LONGEST_PAUSE_S


def test_what_is_refused_ends_the_run() -> None:
    attempts = Attempts()
    attempts.failures["t"] = PlaceError("no such user")
    with pytest.raises(PlaceError, match="no such user"):
        attempts.ended("t", [Query()])


def test_what_is_for_one_machine_is_refused_on_a_cluster() -> None:
    assert [name for name, kind in SINKS.items() if kind.one_machine] == ["DUCKDB"]
    require_reach(OutsideSink("DUCKDB"), "local[4]", "t")
    require_reach(OutsideSink("DELTA"), "spark://host:7077", "t")
    with pytest.raises(PlanError, match="for one machine"):
        require_reach(OutsideSink("DUCKDB"), "spark://host:7077", "t")
