"""The step that changes a join: how it is planned, recorded and kept safe."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine.copying import settle
from dovetail.engine.driver import JoinDriver
from dovetail.engine.live_index import unmap_all
from dovetail.engine.queries import config_at, remember
from dovetail.engine.step_log import read_records
from dovetail.engine.store import read_totals
from dovetail.errors import CorruptFile, PlanError, StateError
from dovetail.joins import read_back
from dovetail.joins.state import Times, retain_bound
from dovetail.joins.streams import Arrivals
from dovetail.log.category import Category
from dovetail.log.commit import PlacedSegment
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin, JoinKind, WindowedJoin
from dovetail.model.match_offsets import histogram
from dovetail.model.offset import JoinOffset
from dovetail.model.sealed_offset import sealed
from dovetail.model.share import Share, Side
from dovetail.model.window_join import session, tumbling
from dovetail.why.why import why
from unit.engine.workload import config, joined, random_rows, write_commits

BEFORE = (("left", ()), ("right", ("one", "nearest")))
OLD, NEW = IntervalSpec(20, 20, "left"), IntervalSpec(60, 10, "full")


@pytest.fixture
def join(tmp_path: Path) -> JoinConfig:
    rng = random.Random(3)
    for name in ("left", "right"):
        write_commits(tmp_path / "home", name, random_rows(rng, 150, 10), rng, 4)
    made = config(tmp_path / "home", tmp_path / "index", OLD, 4, 10)
    return replace(made, settings=replace(made.settings, max_step_rows=30))


def became(join: JoinConfig, spec: IntervalSpec = NEW) -> JoinConfig:
    return replace(join, join_kind=IntervalJoin(spec), query=join.query + 1)


def after_steps(join: JoinConfig, count: int, start: JoinOffset | None = None) -> JoinOffset:
    driver = JoinDriver(join)
    at = start or driver.first()
    for _ in range(count):
        end = driver.plan(at, until=driver.there_now(), tasks=2)
        assert end is not at
        joined(join, at, end)
        driver.retain(end)
        at = end
    settle()
    return at


def test_a_change_is_a_step_of_its_own(join: JoinConfig) -> None:
    start = after_steps(join, 3)
    new = became(join)
    end = JoinDriver(new).plan(start, tasks=1)
    assert (end.step, end.query, end.left, end.right) == (4, 2, start.left, start.right)
    assert (end.times, end.tasks, end.hot) == (start.times, start.tasks, start.hot)
    record = read_records(new)[-1]
    assert (record.step, record.query, record.left.taken) == (4, 2, ())
    assert record.read_back == (end.left_floor, end.right_floor)
    joined(new, start, end)
    after = JoinDriver(new).plan(end, until=JoinDriver(new).there_now(), tasks=1)
    assert (after.step, after.query, after.tasks) == (5, 2, 1)
    assert after.left + after.right > end.left + end.right
    assert {record.query for record in read_records(new)[:3]} == {1}


def test_a_wider_window_reads_only_what_it_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, rows = random.Random(3), [("k", number, number) for number in range(300)]
    for name in ("left", "right"):
        write_commits(tmp_path / "home", name, rows, rng, 4)
    made = config(tmp_path / "home", tmp_path / "index", OLD, 4, 10)
    join = replace(made, settings=replace(made.settings, max_step_rows=1000))
    read, from_log = list[PlacedSegment](), read_back.arrivals_in

    def arrivals_in(
        category: Category, segments: Sequence[PlacedSegment], share: Share, side: Side
    ) -> Arrivals:
        read.extend(segments)
        return from_log(category, segments, share, side)

    driver, new = JoinDriver(join), became(join, replace(OLD, before_us=60))
    start = driver.plan(JoinOffset(), until=driver.there_now(), tasks=1)
    joined(join, JoinOffset(), start)
    monkeypatch.setattr(read_back, "arrivals_in", arrivals_in)
    end = JoinDriver(new).plan(start, tasks=1)
    joined(new, start, end)
    held_from = retain_bound(OLD, Times(*start.times))
    log = Category.open(join.home, join.right).commits(end.right_floor, end.right)
    there = {info.name for commit in log for info in commit.segments}
    assert read
    assert {info.name for info in read} < there
    assert all(info.sketch.min_us < held_from for info in read)


def test_before_the_first_step_there_is_nothing_to_change(join: JoinConfig) -> None:
    new = became(became(join))
    end = JoinDriver(new).plan(JoinOffset(), until=JoinDriver(new).there_now(), tasks=2)
    assert (end.step, end.query) == (1, 3)
    assert end.left + end.right > 0
    assert not JoinOffset().changes_to(end)
    assert joined(new, JoinOffset(), end) == joined(became(join, NEW), JoinOffset(), end.moved(query=2))


def test_the_log_is_read_as_far_as_it_reaches(join: JoinConfig) -> None:
    kept = replace(join, settings=replace(join.settings, history_us=10**15))
    start = after_steps(kept, 8)
    assert start.right_floor > 0, "the old window has let commits go"
    driver = JoinDriver(became(kept, IntervalSpec(10**6, 20, "left")))
    end = driver.plan(start)
    assert end.right_floor == 0
    assert end.left_floor >= start.left_floor, "left rows that have closed stay closed"
    assert end.needed[1] == 0
    driver.retain(end)
    assert driver.categories[1].first_commit() == 0, "what the step needs stays until it is done for good"


def test_what_retention_took_is_not_asked_for(join: JoinConfig) -> None:
    trimmed = replace(join, settings=replace(join.settings, history_us=0))
    start = after_steps(trimmed, 8)
    driver = JoinDriver(became(trimmed, IntervalSpec(10**6, 20, "left")))
    first = driver.categories[1].first_commit()
    assert first > 0
    end = driver.plan(start)
    assert end.right_floor == first
    joined(driver.config, start, end)


def test_history_is_bounded_by_bytes(join: JoinConfig) -> None:
    young = replace(join.settings, history_us=10**15)
    after_steps(replace(join, settings=young), 4)
    assert JoinDriver(join).categories[1].first_commit() == 0
    after_steps(replace(join, settings=replace(young, history_bytes=0)), 8)
    assert JoinDriver(join).categories[1].first_commit() > 0


def test_rows_from_before_the_streams_ended_stay_gone(join: JoinConfig) -> None:
    kept = replace(join, settings=replace(join.settings, history_us=10**15))
    driver, at = JoinDriver(kept), after_steps(kept, 6)
    ended = driver.plan(at, until=(at.left, at.right), final=True, tasks=2)
    assert ended.ended
    joined(kept, at, ended)
    changed = JoinDriver(became(kept, IntervalSpec(10**6, 20, "left"))).plan(ended)
    assert (changed.left_floor, changed.right_floor) == (ended.left_floor, ended.right_floor)
    assert joined(became(kept), ended, changed) == []
    later = after_steps(kept, 2, ended)
    changed = JoinDriver(became(kept, IntervalSpec(10**6, 20, "left"))).plan(later)
    assert changed.right_floor == ended.right, "as far as the streams reach, not the log"


def test_a_join_that_cannot_become_the_other_is_told(join: JoinConfig) -> None:
    start = after_steps(join, 2)
    other = replace(join, join_kind=WindowedJoin("inner", tumbling(10)), query=2)
    with pytest.raises(PlanError, match="cannot become"):
        JoinDriver(other).plan(start)


def test_a_number_means_one_query(join: JoinConfig) -> None:
    start = after_steps(join, 1)
    with pytest.raises(StateError, match="query 1 of join view had another meaning"):
        JoinDriver(replace(join, join_kind=IntervalJoin(NEW))).plan(start, until=(9, 9))
    remember(join)
    assert config_at(became(join), 1).join_kind == join.join_kind
    with pytest.raises(StateError, match="not known what query 7"):
        config_at(join, 7)


def test_a_damaged_query_is_found(join: JoinConfig) -> None:
    after_steps(join, 1)
    path = Path(join.home) / join.state_path / "queries/1.json"
    path.write_bytes(path.read_bytes().replace(b"left", b"full"))
    with pytest.raises(CorruptFile):
        config_at(became(join), 1)
    remember(join)
    assert config_at(became(join), 1) == replace(join, query=1), "who runs it knows what it is"


def test_a_state_is_never_taken_for_that_of_another_query(join: JoinConfig) -> None:
    start = after_steps(join, 4)
    new = became(join)
    end = JoinDriver(new).plan(start)
    assert end.version != end.moved(query=1).version
    first = joined(new, start, end)
    assert joined(new, start, end) == first, "from the snapshot: the index is that of the new query"
    unmap_all()
    assert sorted(joined(new, start, end), key=repr) == sorted(first, key=repr)


def test_a_step_that_was_planned_before_the_change_runs_as_planned(join: JoinConfig) -> None:
    start = after_steps(join, 3)
    end = JoinDriver(join).plan(start, until=JoinDriver(join).there_now(), tasks=2)
    expected = joined(join, start, end)
    assert sorted(joined(became(join), start, end), key=repr) == sorted(expected, key=repr)


KEYS = sorted({key for key, _, _ in random_rows(random.Random(3), 150, 10) if key is not None})


def changed_after_four(join: JoinConfig, old: JoinKind, new: JoinKind) -> tuple[JoinConfig, set]:
    """A join to its end, changed after its fourth step: what it is then, and each row with its step."""
    settings = replace(join.settings, history_us=10**15)
    join = replace(join, join_kind=old, settings=settings)
    driver, at, found = JoinDriver(join), JoinDriver(join).first(), set()
    while True:
        if at.step == 4:
            driver = JoinDriver(replace(join, join_kind=new, query=2))
        end = driver.plan(at, until=driver.there_now(), final=True, tasks=2)
        if end is at:
            settle()
            return driver.config, found
        found |= {(end.step, *row) for row in joined(driver.config, at, end)}
        at = end


@pytest.mark.parametrize(
    "spec",
    [
        IntervalSpec(400, 100, "full"),
        IntervalSpec(5, 5, "inner"),
        IntervalSpec(400, 10, "left", "one", "latest"),
        IntervalSpec(40, 40, "semi"),
    ],
    ids=str,
)
@pytest.mark.parametrize("before", [IntervalSpec(90, 90, how, *one) for how, one in BEFORE], ids=str)
def test_why_runs_each_step_as_the_join_was_then(
    join: JoinConfig, before: IntervalSpec, spec: IntervalSpec
) -> None:
    now, found = changed_after_four(join, IntervalJoin(before), IntervalJoin(spec))
    pairs = {row for row in found if row[1] is not None and row[2] is not None}
    changed = [row for row in pairs if row[0] == 5]
    said = set()
    for key in KEYS:
        for fate in why(now, [key]).fates:
            steps = {
                (match.at.step, fate.left.values["id"], match.right.values["id"]) for match in fate.matches
            }
            said |= steps if spec.emits_pairs else {step for step in steps if step[0] < 5}
            alone = (fate.closed.step, fate.left.values["id"], None)
            if not fate.matches:
                assert (alone in found) == (spec if alone[0] >= 5 else before).keeps_left
    assert said == pairs
    assert changed or spec.how != "full", "the change itself yields pairs"


EAGER = WindowedJoin("inner", tumbling(200, "eager"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (EAGER, WindowedJoin("left", tumbling(200))),
        (WindowedJoin("full", tumbling(200)), EAGER),
        (WindowedJoin("left", session(60)), WindowedJoin("inner", session(60))),
    ],
    ids=str,
)
def test_why_within_windows(join: JoinConfig, old: WindowedJoin, new: WindowedJoin) -> None:
    """A pair comes out once, in the step that is named; a lone row as the join was when its window ended."""
    now, found = changed_after_four(join, old, new)
    pairs = {row for row in found if row[1] is not None and row[2] is not None}
    assert {row[0] > 5 for row in pairs} == {False, True}
    said = set()
    for fate in (fate for key in KEYS for fate in why(now, [key]).fates):
        left = fate.left.values["id"]
        for window in fate.windows:
            said |= {(match.at.step, left, match.right.values["id"]) for match in window.matches}
            alone = (window.over.step, left, None)
            keeps = (new if alone[0] >= 5 else old).spec.keeps_left
            assert (alone in found) == (keeps and not window.matches)
    assert said == pairs


def test_a_histogram_of_other_bounds_starts_over(join: JoinConfig) -> None:
    start = after_steps(join, 4)
    before = read_totals(join, start)
    end = JoinDriver(became(join)).plan(start)
    joined(became(join), start, end)
    totals = read_totals(became(join), end)
    assert any(histogram(before))
    assert not any(histogram(totals)), "its bins are of another width"
    assert (totals["left_in"], totals["right_in"]) == (before["left_in"], before["right_in"])
    assert totals["pairs"] >= before["pairs"]


def test_a_home_of_an_older_build_goes_on(join: JoinConfig) -> None:
    """Its offsets have version 4, and name no query; nothing says what its query was but the plan."""
    at = after_steps(join, 3)
    said = json.loads(json.dumps(at.to_json()))
    for name in ("version", "checksum", "query", "begun", "paired"):
        del said[name]
    old = JoinOffset.from_json(sealed(4, said))
    assert (old.version, old.query) == (at.version, 1)
    (Path(join.home) / join.state_path / "queries/1.json").unlink()
    assert after_steps(join, 1, old).step == 4
    assert config_at(became(join), 1).join_kind == join.join_kind
