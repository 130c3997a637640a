"""What a change says that it costs is what the log has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.changes.compare import compare
from dovetail.changes.costs import InHome
from dovetail.changes.verdict import Change, Cost
from dovetail.changes.words import cost_words
from dovetail.log import history
from dovetail.log.category import Category
from dovetail.plan.physical import CategoryOutput, FilesSource, JoinStage, Plan, ScribeSource, Stage
from dovetail.pql.compile import compile_pql
from dovetail.slicing.standing import CommitsRead, FilesDone
from faults import changing_process
from unit.slicing.test_resident import Folder, rows

QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT) FROM SCRIBE("left");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT) FROM SCRIBE("right");
CREATE VIEW view AS SELECT a.k AS k, b.t AS t FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '{before} seconds' AND a.t + INTERVAL '1 second';
CREATE TABLE o AS SELECT * FROM view STORAGE NOOP;
"""


def plan_with(before: int) -> Plan:
    """Over the categories of `changing_process`."""

    def there(stage: Stage) -> Stage:
        if isinstance(stage, JoinStage):
            return replace(stage, left="left", right="right")
        assert isinstance(stage.output, CategoryOutput)
        return replace(stage, output=replace(stage.output, category=stage.name.removeprefix("view.")))

    plan = compile_pql(QUERY.format(before=before))
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


def test_a_source_costs_what_it_has_from_where_it_begins(home: str, tmp_path: Path) -> None:
    costs = InHome(home, plan_with(1))
    category = Category.open(home, "right")
    commits = list(category.commits(2, category.next_commit()))
    found = costs.source(ScribeSource("right"), CommitsRead("right", 2))
    expected = sum(commit.rows for commit in commits), sum(commit.stored_bytes for commit in commits)
    assert found is not None
    assert (found.rows, found.bytes) == expected
    assert costs.source(ScribeSource("nowhere"), None) is None
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"12345")
    done = FilesDone(frozenset([str(tmp_path / "a")]))
    assert costs.source(FilesSource(str(tmp_path), "parquet"), done) == Cost(None, 5)


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
