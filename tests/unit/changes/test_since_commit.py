"""A change of a side names the commit from which on it holds: the first that the new query writes."""

from __future__ import annotations

import random
from pathlib import Path

from dovetail.changes.since_commit import at_rest, from_commit
from dovetail.changes.verdict import Change
from dovetail.log.category import Category
from unit.engine.workload import random_rows, write_commits


def test_the_commit_is_that_of_when_the_old_query_has_come_to_rest(tmp_path: Path) -> None:
    home, rng = str(tmp_path), random.Random(1)
    said = f"they have null, for one window; {from_commit('app.v.left', 0)}"
    write_commits(home, "app.v.left", random_rows(rng, 60, 5), rng, 2)
    category = Category.open(home, "app.v.left")
    changes = (
        Change("side_columns", "left side of v", "kept", "new column x: a.x", said),
        Change("side_columns", "left side of w", "kept", "new column x: a.x", from_commit("app.w.left", 3)),
        Change("tuning", "join v", "next step", "tasks"),
    )
    first, *others = at_rest(home, changes)
    written = from_commit("app.v.left", category.next_commit())
    assert category.next_commit() > 1
    assert first.flight == f"they have null, for one window; {written}"
    assert tuple(others) == changes[1:], "of a category that is not there nothing is known"
