"""Two versions over one log, compared with brute force over the same recorded steps."""

from __future__ import annotations

from pathlib import Path

import pytest

import oracle
from dovetail.preview.preview import preview
from previewing import Running, differences, join, plan_of

STEPS = [
    ([(1, 0, 0)], [(1, 2, 0), (2, 3, 1)]),
    ([(2, 5, 1), (1, 9, 2)], [(1, 20, 2)]),
    ([(3, 30, 3)], [(2, 12, 3), (3, 45, 4)]),
    ([(1, 60, 4)], [(3, 31, 5)]),
]


def counts(found) -> tuple[int, int, int, int]:
    return found.equal, found.gained, found.lost, found.changed


@pytest.mark.parametrize("how", ["LEFT", "INNER", "FULL"])
def test_a_wider_window(tmp_path: Path, how: str) -> None:
    app = Running(str(tmp_path), join(5, 5, how))
    app.play(STEPS)
    found = preview(app.home, app.plan, plan_of(join(20, 20, how)))
    old, new = (
        [row for step in oracle.streaming_join(app.steps(), width, width, how.lower()) for row in step]
        for width in (5, 20)
    )
    (table,) = found.tables
    assert counts(table.difference) == differences(old, new)
    assert table.difference.gained + table.difference.changed > 0
    assert (table.old_rows, table.new_rows) == (len(old), len(new))
