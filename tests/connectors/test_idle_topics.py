"""When a stream from Kafka is idle: the intake, the slicer behind it and the planner of a join, against a
real broker and by a clock that is set by hand. Law: a topic is idle if brokers have said that it has no
more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.test_topic_intake import Taking
from connectors.topics import Topics
from dovetail.engine.idle import READ_EVERY_US, SourceWatch
from dovetail.engine.planner import HostClock, JoinPlanner
from dovetail.kafka import topic as asked_topic
from dovetail.kafka import topic_intake
from dovetail.log.category import Category
from dovetail.log.source_progress import read_reports
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.model.validity import Validity
from dovetail.slicing import resident
from dovetail.slicing.category_intake import CategoryIntake
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.direct import direct_slice
from dovetail.slicing.resident import ResidentSlicer
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.spark_cluster import until
from unit.engine.stepping import Driven

RECORDS = pa.schema([("k", pa.string()), ("at", pa.timestamp("us", "UTC")), ("id", pa.int64())])
COLUMNS = {"_key_0": "k", "_time": "at", "id": "id"}
TIMEOUT_US = 2_000_000
AHEAD_US = 60_000_000
"""Where the left stream is."""


class Joined:
    """A join whose right stream is a topic, and whose left one is written by hand."""

    def __init__(self, folder: Path, address: str, topic: str) -> None:
        self.us = 0
        self._join = Driven.make(folder, IntervalSpec(1, 1, "left"))
        self._taking = Taking(folder / "home", address, topic, schema=RECORDS, clock=lambda: self.us / 1e6)
        self._right = Category.open(self._join.config.home, "right")
        made = direct_slice(RECORDS, self._right, COLUMNS, ("_key_0",), "_time", Validity())
        assert made is not None
        watch = SourceWatch(self._taking.category, lambda: self.us)
        slicer = Slicer("app", "right", "app.t")
        self._threads = (
            self._taking.slicer(finite=False, steady_us=lambda: self.us),
            ResidentSlicer(
                self._right,
                slicer,
                lambda: CategoryIntake(self._right, slicer, made, quiet=watch.quiet_us),
                finite=False,
                steady_us=lambda: self.us,
            ),
        )
        self._at = JoinOffset()

    @cached_property
    def _planner(self) -> JoinPlanner:
        """It begins with the first question: the silence before that it has not heard."""
        settings = replace(self._join.config.settings, idle_timeout_us=TIMEOUT_US)
        clock = HostClock(lambda: 0, lambda: self.us)
        return JoinPlanner(replace(self._join.config, settings=settings), clock)

    @contextmanager
    def running(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            for thread in self._threads:
                thread.stop()
        assert [thread.error for thread in self._threads] == [None, None]

    def left(self, time_us: int) -> None:
        self._join.append("left", ("a", time_us))

    def times(self, seconds: int, *, answered: bool = True) -> tuple[int, int]:
        """Stream times after some seconds, in each of which both writers have reported, and the planner
        has looked. `answered`: brokers answer, so that the topic's own writer has something to report."""
        for _ in range(seconds * 1_000_000 // READ_EVERY_US):
            self.us += READ_EVERY_US
            for category in (self._taking.category, self._right) if answered else (self._right,):
                self._reported(category)
            self._at = self._planner.plan(self._at)
        return self._at.times

    def until_taken(self, rows: int) -> None:
        """That number of rows of the topic is in the join's category."""
        until(lambda: self._next_row() == rows, f"{rows} rows of the topic")

    def until_trouble(self, words: str) -> None:
        until(lambda: words in (self._taking.report().trouble or ""), words)

    def until_empty(self) -> None:
        """Time passes meanwhile: brokers that have not answered once have to be back for a while."""

        def empty() -> bool:
            self.us += READ_EVERY_US
            return self._taking.report().state == "empty"

        until(empty, "a topic that has no more")

    def until_times(self, left_us: int, right_us: int) -> None:
        """Stream times come to this, sooner or later: brokers may have been slow to answer once."""
        until(lambda: self.times(1) == (left_us, right_us), "the topic is idle")

    def _next_row(self) -> int:
        stop = self._right.next_commit()
        return self._right.commit(stop - 1).next_row if stop else 0

    def _reported(self, category: Category) -> None:
        before = looks(category)
        until(lambda: looks(category) > before, "a report")


def looks(category: Category) -> int:
    return max((report.looks for report in read_reports(category)), default=0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers report, and ask brokers, many times a second."""
    monkeypatch.setattr(resident, "REPORT_S", 0.02)
    monkeypatch.setattr(topic_intake, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(asked_topic, "ANSWER_S", 60.0)  # a broker that is only slow is not away


@pytest.fixture
def joined(tmp_path: Path, quick: None) -> Callable[[str, str], Joined]:
    return lambda address, topic: Joined(tmp_path, address, topic)


def rows(*seconds: int) -> list[dict[str, object]]:
    return [{"k": "a", "at": f"1970-01-01T00:00:{second:02}Z", "id": second} for second in seconds]


def test_a_broker_that_is_away_is_no_idle_topic(
    mortal: Broker, joined: Callable[[str, str], Joined], monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = Topics(mortal.address, "idle")
    topic = topics.make(partitions=2)
    topics.write(topic, rows(5))
    join = joined(mortal.address, topic)
    join.left(AHEAD_US)
    with join.running():
        join.until_taken(1)
        assert join.times(1) == (AHEAD_US, 5_000_000)
        with monkeypatch.context() as impatient:
            impatient.setattr(asked_topic, "ANSWER_S", 1.0)
            mortal.kill()
            join.until_trouble("waiting for brokers")
            assert join.times(4) == (AHEAD_US, 5_000_000), "twice the timeout"
            mortal.start()
        topics.write(topic, rows(30))
        join.until_taken(2)
        assert join.times(1) == (AHEAD_US, 30_000_000), "what the broker had is in time"
        assert join.times(8) == (AHEAD_US, 30_000_000), "others may not have come back yet"
        join.until_times(AHEAD_US, AHEAD_US)  # a broker that is there, and has no more


def test_a_broker_that_does_not_answer_is_no_idle_topic(
    mortal: Broker, joined: Callable[[str, str], Joined], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the question is open, what was heard before it gets older, and nobody hears more."""
    topics = Topics(mortal.address, "hangs")
    topic = topics.make()
    topics.write(topic, rows(5))
    join = joined(mortal.address, topic)
    join.left(AHEAD_US)
    with join.running():
        join.until_taken(1)
        assert join.times(1) == (AHEAD_US, 5_000_000)
        mortal.hang()
        try:
            assert join.times(8, answered=False) == (AHEAD_US, 5_000_000), "four times the timeout"
        finally:
            mortal.go_on()
        topics.write(topic, rows(30))
        join.until_taken(2)
        assert join.times(1) == (AHEAD_US, 30_000_000), "what the broker had is in time"


def test_a_topic_that_nobody_writes_to_is_idle_after_the_timeout(
    topics: Topics, joined: Callable[[str, str], Joined]
) -> None:
    topic = topics.make(partitions=3)
    join = joined(topics.address, topic)
    join.left(AHEAD_US)
    with join.running():
        join.until_empty()
        assert join.times(1) == (AHEAD_US, NEVER), "no partition has had a record, and it is early"
        join.until_times(AHEAD_US, AHEAD_US)
        topics.write(topic, rows(59), partition=1)
        join.left(AHEAD_US + 30_000_000)
        join.until_taken(1)
        join.until_times(AHEAD_US + 30_000_000, AHEAD_US + 30_000_000)  # it was awake, and is idle again


def test_a_topic_that_comes_later_is_idle_a_while_after_it_has_come(
    topics: Topics, joined: Callable[[str, str], Joined]
) -> None:
    """Those who write to it have waited for it, too."""
    topic = topics.make()
    topics.delete(topic)
    join = joined(topics.address, topic)
    join.left(AHEAD_US)
    with join.running():
        join.until_trouble("waiting for topic")
        topics.make_again(topic)
        join.until_empty()
        assert join.us >= topic_intake.BACK_S * 1e6
        join.until_times(AHEAD_US, AHEAD_US)


def test_a_partition_without_records_holds_up_nothing(
    topics: Topics, joined: Callable[[str, str], Joined]
) -> None:
    topic = topics.make(partitions=5)
    topics.write(topic, rows(10), partition=3)
    join = joined(topics.address, topic)
    join.left(AHEAD_US)
    with join.running():
        join.until_taken(1)
        assert join.times(1) == (AHEAD_US, 10_000_000), "the time of the records that there are"
        topics.write(topic, rows(40), partition=3)
        join.until_taken(2)
        assert join.times(1) == (AHEAD_US, 40_000_000)
