"""What a change says that it costs is what the log has."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.changes.compare import compare
from dovetail.changes.costs import InHome
from dovetail.changes.verdict import Change, Cost, total
from dovetail.changes.words import cost_words
from dovetail.engine.copying import at_once
from dovetail.engine.driver import JoinDriver
from dovetail.log import history
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from dovetail.plan.physical import CategoryOutput, FilesSource, JoinStage, Plan, ScribeSource, Stage
from dovetail.pql.compile import compile_pql
from dovetail.slicing.standing import CommitsRead, FilesDone
from faults import changing_process
from unit.engine.workload import config, joined, random_rows, write_commits
from unit.slicing.test_resident import Folder, rows

QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM SCRIBE("left");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("right");
CREATE VIEW view AS SELECT a.k AS k, b.t AS t FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '{before} seconds' AND a.t + INTERVAL '1 second';
CREATE TABLE o AS SELECT * FROM view STORAGE NOOP;
"""


def plan_with(before: int) -> Plan:
    return in_home(compile_pql(QUERY.format(before=before)))


def in_home(plan: Plan) -> Plan:
    """Over the categories of `changing_process`."""

    def there(stage: Stage) -> Stage:
        if isinstance(stage, JoinStage):
            return replace(stage, left="left", right="right")
        assert isinstance(stage.output, CategoryOutput)
        return replace(stage, output=replace(stage.output, category=stage.name.removeprefix("view.")))

    return replace(plan, stages=tuple(there(stage) for stage in plan.stages))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = tmp_path_factory.mktemp("prepared") / "home"
    home.mkdir()
    changing_process.prepare(home, seed=5)
    return str(home)


def widened(home: str, before: int) -> Change:
    old = plan_with(0)
    [change] = compare(old, plan_with(before), costs=InHome(home, old))
    return change


def test_a_wider_window_reads_what_it_reaches(home: str) -> None:
    little, much = widened(home, 1).cost, widened(home, 100).cost
    assert little is not None
    assert much is not None
    right = Category.open(home, "right")
    assert little.rows is not None
    assert much.rows is not None
    assert (
        0 < little.rows <= much.rows <= sum(commit.rows for commit in right.commits(0, right.next_commit()))
    )
    assert much.seconds is not None, "the join has run"


def test_narrower_costs_nothing(home: str) -> None:
    old = plan_with(100)
    [change] = compare(old, plan_with(1), costs=InHome(home, old))
    assert (change.verdict, change.cost) == ("kept", None)


@pytest.mark.parametrize("seed", [3, 7])
def test_where_the_log_does_not_reach_the_time_is_named_from_which_on_it_is_exact(
    tmp_path: Path, seed: int
) -> None:
    """Left rows from there on get what a join that was always as wide would give them."""
    rng, rows = random.Random(seed), [random_rows(random.Random(n), 300, 10) for n in (seed, seed + 1)]
    for name, one in zip(("left", "right"), rows, strict=True):
        write_commits(tmp_path / "home", name, one, rng, 4)
    made = config(tmp_path / "home", tmp_path / "index", IntervalSpec(20, 20, "inner"), 4, 10)
    join = replace(made, settings=replace(made.settings, max_step_rows=30, history_us=0))
    found, at = set[tuple[int | None, int | None]](), JoinOffset()
    driver = JoinDriver(join)
    with at_once():  # retention waits for copies of snapshots
        for _ in range(8):
            end = driver.plan(at, until=driver.there_now(), tasks=1)
            found |= set(joined(join, at, end))
            driver.retain(end)
            at = end
    history.forget()
    old, new = (timed(before, join) for before in (20, 600))
    exact_us = InHome(join.home, old).exact_us(new.joins[0])
    assert exact_us is not None, "retention took what the wider window would read"
    [change] = compare(old, new, costs=InHome(join.home, old))
    assert "exact for left rows from 1970-01-01 00:00:01 UTC on" in str(change.flight)
    wider = replace(join, join_kind=new.joins[0].join_kind, query=2)
    driver = JoinDriver(wider)
    while (end := driver.plan(at, until=driver.there_now(), final=True, tasks=1)) is not at:
        found |= set(joined(wider, at, end))
        at = end
    lefts = [row for row in rows[0] if None not in row and row[1] >= exact_us]
    rights = [row for row in rows[1] if None not in row]
    expected = {
        (left, right)
        for key, time, left in lefts
        for other, its, right in rights
        if key == other and time - 600 <= its <= time + 20
    }
    assert len(expected) > 100
    assert {pair for pair in found if pair[0] in {row[2] for row in lefts}} == expected


def timed(before: int, join: JoinConfig) -> Plan:
    """The plan of a join of microseconds."""

    def there(stage: Stage) -> Stage:
        if not isinstance(stage, JoinStage):
            return stage
        settings = replace(stage.settings, right_max_delay_us=join.settings.right_max_delay_us)
        return replace(stage, join_kind=IntervalJoin(IntervalSpec(before, 20, "inner")), settings=settings)

    plan = plan_with(0)
    return replace(plan, stages=tuple(there(stage) for stage in plan.stages))


def test_where_the_log_reaches_no_time_is_named(home: str) -> None:
    old = plan_with(0)
    assert Category.open(home, "right").first_commit() == 0
    assert InHome(home, old).exact_us(plan_with(100).joins[0]) is None


def test_a_source_costs_what_it_has_from_where_it_begins(home: str, tmp_path: Path) -> None:
    costs = InHome(home, plan_with(1))
    category = Category.open(home, "right")
    commits = list(category.commits(2, category.next_commit()))
    found = costs.source(ScribeSource("right"), CommitsRead("right", 2))
    expected = sum(commit.rows for commit in commits), sum(commit.stored_bytes for commit in commits)
    assert found is not None
    assert (found.rows, found.bytes) == expected
    assert found.seconds == costs.source(ScribeSource("right"), CommitsRead("right", 2), "view").seconds  # type: ignore[union-attr]
    assert found.seconds is not None, "as the join has taken so far"
    assert found.seconds > 0
    assert costs.source(ScribeSource("nowhere"), None) is None
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"12345")
    done = FilesDone(frozenset([str(tmp_path / "a")]))
    assert costs.source(FilesSource(str(tmp_path), "parquet"), done) == Cost(None, 5)


def test_a_join_that_begins_afresh_and_one_that_is_new_have_their_seconds(home: str) -> None:
    old, key = plan_with(1), compile_pql(QUERY.format(before=1).replace("a.k = b.k", "a.k + 1 = b.k"))
    costs = InHome(home, old)
    begun = [change for change in compare(old, in_home(key), costs=costs) if change.rule == "afresh"]
    new = compile_pql(
        QUERY.format(before=1).replace("VIEW view", "VIEW other").replace("FROM view", "FROM other")
    )
    came = [change for change in compare(old, new, costs=costs) if change.what.startswith("new join")]
    sides = [costs.source(ScribeSource(name), None, "view") for name in ("left", "right")]
    for change in (*begun, *came):
        assert change.cost == total(sides)
        assert change.cost is not None
        assert change.cost.seconds is not None
    assert (len(begun), len(came)) == (1, 1)


def test_what_is_not_known_of_one_is_not_known_of_all() -> None:
    one, other = Cost(1, 2, 0.5), Cost(3, 4, 1.5)
    assert total([one, other]) == Cost(4, 6, 2.0)
    assert total([one, Cost(3, None)]) == Cost(4, None, None)
    assert total([one, None]) is None
    assert total([]) is None


def test_how_far_back_a_source_reaches(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    costs = InHome(folder.home, plan_with(1))
    for number in range(5):
        folder.put(f"{number}.parquet", rows(number, 1))
    folder.slice(max_files=1)
    assert costs.since_us(ScribeSource("app.left")) is None, "nothing of it is gone"
    folder.category.retain()
    history.forget()
    first = folder.category.first_commit()
    assert first > 0
    assert costs.since_us(ScribeSource("app.left")) == folder.category.commit(first).written_at_us
    assert costs.since_us(ScribeSource("nowhere")) is None


def test_words() -> None:
    assert cost_words(None) is None
    assert cost_words(Cost(None, None)) is None
    assert cost_words(Cost(1, None)) == "1 row to read"
    assert cost_words(Cost(None, 1_500_000)) == "1.5 MB to read"
    assert (
        cost_words(Cost(12_000, 3_400_000, 2.0))
        == "12,000 rows (3.4 MB) to read, about 2.0 s at the pace so far"
    )
