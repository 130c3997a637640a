"""When a stream counts as idle: by the last commit that had an event time, a clock that does not jump, and
what the stream's slicers say about their sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dovetail.engine import idle
from dovetail.engine.idle import READ_EVERY_US, SILENT_US, SourceWatch, Standing, is_idle
from dovetail.engine.planner import HostClock, JoinPlanner
from dovetail.log import document
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.log.source_progress import (
    SourceReport,
    WriterState,
    drop_report,
    read_reports,
    write_report,
)
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


SECOND_US = 1_000_000


@dataclass
class Slicer:
    """A slicer that reports when the test says so."""

    category: Category
    name: str = "app.right"
    looks: int = 0

    def says(self, state: WriterState, looked_after: int | None = None) -> None:
        """By a look that began after its report before this one, unless said otherwise."""
        after = self.looks if looked_after is None else looked_after
        self.looks += 1
        report = SourceReport(self.name, "app", state, self.looks, self.looks, 0, looked_after=after)
        write_report(self.category, report)


def test_a_slow_slicer_is_not_an_idle_stream(tmp_path: Path) -> None:
    """The slicer of the right stream takes a minute over a file; the timeout is two seconds."""
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    slicer = Slicer(Category.open(join.config.home, "right"))
    slicer.says("starting")
    join.append("right", ("a", 5))
    join.append("left", ("a", 100))
    planner = watched(join, hands, 2 * SECOND_US)
    at = planner.plan(JoinOffset())
    for _ in range(60):
        hands.us += SECOND_US
        slicer.says("behind")
        assert planner.plan(at) is at, "its rows are on their way"
    join.append("right", ("a", 100))
    at = planner.plan(at)
    assert at.times == (100, 100)
    join.append("left", ("a", 200))
    at = planner.plan(at)
    for second in range(10):
        hands.us += SECOND_US
        slicer.says("empty")
        end = planner.plan(at)
        assert end is at or second >= 3, "an empty source counts, from when the last row was seen"
        at = end
    assert at.times == (200, 200)


def test_a_dead_slicer_is_not_an_idle_stream(tmp_path: Path) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    slicer = Slicer(Category.open(join.config.home, "right"))
    slicer.says("empty")  # in a run before this one
    join.append("left", ("a", 100))
    planner = watched(join, hands, 2 * SECOND_US)
    at = planner.plan(JoinOffset())
    for _ in range(60):
        hands.us += SECOND_US
        assert planner.plan(at) is at
    slicer.says("empty")
    hands.us += SECOND_US
    assert planner.plan(at) is at, "it lives, and may have looked long before it said so"
    slicer.says("empty")
    hands.us += SECOND_US
    at = planner.plan(at)
    assert at.times == (100, 100), "it has looked after the timeout"


def test_a_look_from_before_the_silence_says_nothing_about_it(tmp_path: Path) -> None:
    """The slicer reports every second, by what it heard in its first one: brokers have not answered since."""
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    slicer = Slicer(Category.open(join.config.home, "right"))
    slicer.says("empty")
    join.append("right", ("a", 5))
    join.append("left", ("a", 100))
    planner = watched(join, hands, 2 * SECOND_US)
    at = planner.plan(JoinOffset())
    for _ in range(60):
        hands.us += SECOND_US
        slicer.says("empty", looked_after=1)
        assert planner.plan(at) is at
    for _ in range(2):
        hands.us += SECOND_US
        slicer.says("empty")
        end = planner.plan(at)
    assert end.times == (100, 100)


def test_a_commit_between_two_looks_is_not_missed(tmp_path: Path) -> None:
    """A slicer commits and then finds its source empty, while a step is planned: it reads the report first,
    so the commit is there when commits are listed."""
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    slicer = Slicer(Category.open(join.config.home, "right"))
    slicer.says("behind")
    join.append("left", ("a", 100))
    planner = watched(join, hands, 2 * SECOND_US)
    at = planner.plan(JoinOffset())
    hands.us += 5 * SECOND_US
    assert planner.plan(at) is at
    hands.us += 5 * SECOND_US
    read = idle.read_reports

    def the_slicer_goes_on(category: Category) -> list[SourceReport]:
        if category.name == "right":
            join.append("right", ("a", 50))
            slicer.says("empty")
        return read(category)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(idle, "read_reports", the_slicer_goes_on)
        assert planner.plan(at).times == (100, 50)


def test_a_damaged_report_is_no_sign_of_an_empty_source(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    category = Category.open(join.config.home, "right")
    slicer = Slicer(category)
    slicer.says("empty")
    path = f"{category.folder}/progress/app.right.json"
    open_store(join.config.home).replace(path, b"{}")
    join.append("left", ("a", 100))
    planner = watched(join, hands, 2 * SECOND_US)
    at = planner.plan(JoinOffset())
    for _ in range(5):
        hands.us += SECOND_US
        assert planner.plan(at) is at
    (message,) = caplog.messages
    assert "app.right.json" in message
    drop_report(category, "app.right")
    hands.us += SECOND_US
    assert planner.plan(at).times == (100, 100), "nobody reports: silence is all that there is"


@pytest.mark.parametrize(
    ("heard", "now", "writers", "expected"),
    [
        (0, 10, Standing("unknown"), False),
        (0, 11, Standing("unknown"), True),
        (0, 11, Standing("behind"), False),
        (0, 11, Standing("silent"), False),
        (0, 11, Standing("empty", 10), False),
        (0, 12, Standing("empty", 11), True),
        (5, 15, Standing("empty", 14), False),
        (5, 17, Standing("empty", 15), False),
        (5, 17, Standing("empty", 16), True),
    ],
)
def test_the_rule(heard: int, now: int, writers: Standing, expected: bool) -> None:
    assert is_idle(10, heard, now, writers) is expected


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], "unknown"),
        (["empty"], "empty"),
        (["behind"], "behind"),
        (["starting"], "behind"),
        (["waiting"], "behind"),
        (["stopped"], "silent"),
        (["empty", "empty"], "empty"),
        (["empty", "behind"], "behind"),
        (["empty", "stopped"], "silent"),
    ],
)
def test_all_writers_together(tmp_path: Path, reports: list[WriterState], expected: str) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    open_store(join.config.home).make_folder("apps/app")
    category = Category.open(join.config.home, "right")
    slicers = [Slicer(category, f"app.{number}") for number in range(len(reports))]
    watch = SourceWatch(category, lambda: hands.us)
    for _ in range(2):
        for slicer, state in zip(slicers, reports, strict=True):
            slicer.says(state)
        found = watch.standing()
        hands.us += READ_EVERY_US
    assert found.state == expected


@dataclass
class Heard:
    """What a reader knows of one slicer, second by second."""

    category: Category
    hands: Hands

    def __post_init__(self) -> None:
        self.slicer, self.watch = Slicer(self.category), SourceWatch(self.category, lambda: self.hands.us)

    def looked(self, *looked_after: int) -> int:
        """The slicer has reported so often within a second. When it has looked, as far as the reader knows,
        in seconds."""
        for number in looked_after:
            self.slicer.says("empty", number)
        self.hands.us += READ_EVERY_US
        return max(self.watch.standing().looked_us // SECOND_US, -1)


def test_a_look_is_as_old_as_a_report_that_was_not_there_before_it(tmp_path: Path) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    heard = Heard(Category.open(join.config.home, "right"), hands)
    assert heard.looked(0) == -1, "read at 1, and it may be the report of a run that is over"
    assert heard.looked(1) == -1, "#1 was there at 1"
    assert heard.looked(2) == 1, "#2 was not there at 1"
    assert heard.looked(2) == 1, "nothing has been heard since"
    assert heard.looked() == 1
    assert heard.looked(4, 5, 6) == 5, "#6 was not there at 5"
    assert heard.looked(7) == 5
    heard.slicer.looks = 0
    assert heard.looked(0, 1) == 7, "another run, none of whose reports was there at 7"
    assert heard.looked(2) == 7, "#2 was there at 8"
    assert heard.looked(3) == 8


def test_a_report_of_an_older_build_is_as_new_as_itself(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, IntervalSpec(1, 1, "left"))
    category = Category.open(join.config.home, "right")
    slicer = Slicer(category)
    slicer.says("empty")
    path = f"{category.folder}/progress/app.right.json"
    store = open_store(join.config.home)
    body = document.decode(store.read(path), "dovetail.progress", (3,), where=path, remedy="")
    del body["looked_after"]
    store.replace(path, document.encode("dovetail.progress", 2, body))
    assert read_reports(category)[0].looked_after == 1


def test_a_writer_that_says_no_more_is_silent_until_its_application_is_gone(tmp_path: Path) -> None:
    join, hands = Driven.make(tmp_path, IntervalSpec(1, 1, "left")), Hands()
    folder = Path(join.config.home) / "apps" / "app"
    folder.mkdir(parents=True, exist_ok=True)
    category = Category.open(join.config.home, "right")
    slicer, watch = Slicer(category), SourceWatch(category, lambda: hands.us)
    slicer.says("empty")
    assert watch.standing().state == "silent", "it may be the report of a run that is over"
    slicer.says("empty")
    hands.us += READ_EVERY_US
    assert watch.standing().state == "empty"
    hands.us += SILENT_US
    assert watch.standing().state == "empty", "not yet"
    hands.us += READ_EVERY_US
    assert watch.standing().state == "silent"
    folder.rename(folder.with_name("app2"))
    hands.us += READ_EVERY_US
    assert watch.standing().state == "unknown"
