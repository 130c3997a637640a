"""A core that fails: what is lost with it is counted, whether it was held or on its way, and why it failed is
known."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from dovetail.errors import RunError
from dovetail.sliding.engine import SlidingJoin
from unit.sliding.test_engine import join_of, look_until

ROWS = 300


def rows_of(names: str, count: int = ROWS) -> dict[str, Any]:
    return {names[0]: np.arange(count), names[1]: np.zeros(count), "t": np.zeros(count, int)}


@pytest.mark.parametrize("cores", [1, 3, 9])
def test_rows_that_were_due_are_lost_too(cores: int) -> None:
    """For rows that the cores have not looked at yet, each core was to keep its share."""
    windows = (("rows", 1000), ("rows", 1000))
    with join_of("left.x == right.a", windows, cores=cores, threads=False) as join:
        join.push(left=rows_of("xy"))
        join.topology.offer(_messages(join), 0)  # under way, and no core has had its turn
        if cores == 1:
            with pytest.raises(RunError, match="all cores have failed"):
                join.lose(0)
        else:
            join.lose(1)
        held = [number for number in range(2 * ROWS) if number % cores == (0 if cores == 1 else 1)]
        assert join.lost == {0 if cores == 1 else 1: len(held)}


def _messages(join: SlidingJoin) -> np.ndarray:
    return join.prepared(left=rows_of("xy"))


def test_after_two_losses_each_is_counted_by_the_members_of_its_time() -> None:
    windows = (("rows", 1000), ("rows", 1000))
    with join_of("left.x == right.a", windows, cores=3, threads=False) as join:
        join.push(left=rows_of("xy"))
        join.flush()
        assert join.lose(1) == 100
        join.topology.offer(_messages(join), 0)
        # Of rows 300 to 599 every second is core 2's now, and it held a third of the first 300.
        assert join.lose(2) == 100 + 150


@pytest.mark.parametrize("threads", [True, False])
def test_a_failure_is_reported_with_its_cause(
    threads: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with join_of("left.x == right.a", (("rows", 900), ("rows", 900)), cores=3, threads=threads) as join:
        join.push(left=rows_of("xy"))
        join.flush()

        def broken(_: object) -> bool:
            raise MemoryError("out of luck")

        monkeypatch.setattr(join.topology.cores[2], "run" if threads else "step", broken)
        with caplog.at_level(logging.ERROR):
            look_until(join, lambda: bool(join.lost))
        assert join.lost == {2: ROWS // 3}
        assert str(join.failures[2]) == "out of luck"
        assert "core 2 of a sliding-window join has failed; 100 rows are lost" in caplog.text
        assert "out of luck" in caplog.text
        join.push(right=rows_of("ab"))
        assert join.finish().num_rows == 2 * ROWS // 3


@pytest.mark.parametrize("design", ["kang", "cell", "handshake"])
def test_where_cores_need_each_other_the_error_has_its_cause(
    design: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with join_of("left.x == right.a", (("rows", 9), ("rows", 9)), design=design) as join:

        def broken(_: object) -> bool:
            raise MemoryError("out of luck")

        monkeypatch.setattr(join.topology.cores[0], "step", broken)
        with pytest.raises(RunError, match="core 0 has failed: out of luck") as caught:
            join.push(left=rows_of("xy"))
        assert isinstance(caught.value.__cause__, MemoryError)


def test_when_the_last_core_fails_the_error_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with join_of("left.x == right.a", (("rows", 9), ("rows", 9))) as join:

        def broken(_: object) -> bool:
            raise MemoryError("out of luck")

        monkeypatch.setattr(join.topology.cores[0], "step", broken)
        with pytest.raises(RunError, match="all cores have failed, the last one with: out of luck") as caught:
            join.push(left=rows_of("xy"))
        assert isinstance(caught.value.__cause__, MemoryError)
