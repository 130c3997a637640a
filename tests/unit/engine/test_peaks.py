"""What an index took when it took most."""

from __future__ import annotations

from pathlib import Path

from dovetail.engine.copying import settle
from dovetail.engine.store import read_totals
from dovetail.kernels.ring import ENTRY
from dovetail.model.interval import IntervalSpec
from unit.engine.stepping import Driven

SECOND = 1_000_000
ROWS = 120_000


def test_a_ring_that_shrinks_within_a_step_still_counts_with_what_it_held(tmp_path: Path) -> None:
    """Many left rows are open; one step brings as many right rows, and time closes all left ones."""
    join = Driven.make(tmp_path, IntervalSpec(SECOND, SECOND, "left"))
    join.append("right", ("first", 0))
    join.append("left", *((f"l{n}", n) for n in range(ROWS)))
    join.step(max_step_rows=4 * ROWS)
    settle()
    before = read_totals(join.config, join.offset)
    join.append("right", *((f"r{n}", 3600 * SECOND + n) for n in range(ROWS)))
    join.step(max_step_rows=4 * ROWS)
    settle()
    totals = read_totals(join.config, join.offset)
    assert (before["open_rows"], totals["open_rows"]) == (ROWS, 0)
    assert totals["peak_rows"] >= 2 * ROWS
    assert totals["peak_index_bytes"] >= before["index_bytes"] + ROWS * ENTRY.itemsize
