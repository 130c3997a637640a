"""When a stream counts as idle: by the last commit that had an event time, and a clock that does not jump."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.engine.planner import HostClock, JoinPlanner
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import NEVER, JoinOffset
from unit.engine.stepping import Driven

TIMEOUT_US = 200_000


@dataclass
class Hands:
    """A clock that is set by hand."""

    us: int = 0

    def clock(self) -> HostClock:
        return HostClock(lambda: 0, lambda: self.us)


def watched(join: Driven, hands: Hands, timeout_us: int | None = TIMEOUT_US) -> JoinPlanner:
    settings = replace(join.config.settings, idle_timeout_us=timeout_us)
    return JoinPlanner(replace(join.config, settings=settings), hands.clock())


def test_rows_without_a_time_do_not_keep_a_stream_awake(tmp_path: Path) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    join.append("right", ("a", 5))
    join.append("left", ("a", 100))
    planner = watched(join, hands)
    at = planner.plan(JoinOffset())
    assert at.times == (100, 5), "a stream that was just heard is awake"
    hands.us += TIMEOUT_US + 1
    join.append("right", ("a", None), (None, 7))
    at = planner.plan(at)
    assert at.times == (100, 100), "its time is carried to where it holds up nobody"
    join.append("right", ("a", 101))
    join.append("left", ("a", 300))
    assert planner.plan(at).times == (300, 101), "awake again"


def test_a_stream_without_a_commit_is_idle_some_time_after_the_start(tmp_path: Path) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    join.append("left", ("a", 100))
    planner, patient = watched(join, hands), watched(join, hands, None)
    at = planner.plan(JoinOffset())
    assert at.times == (100, NEVER)
    hands.us += TIMEOUT_US
    assert planner.plan(at) is at, "not yet"
    hands.us += 1
    assert planner.plan(at).times == (100, 100)
    assert patient.plan(at) is at, "without a timeout it never is"
