"""Which changes of a join keep its state, and from when on what comes out is exact."""

from __future__ import annotations

import pytest

from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, JoinKind, Since, ThetaJoin, WindowedJoin
from dovetail.model.kind_change import added, check_change, exact_since, read_back
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.model.theta import CountWindow, Theta
from dovetail.model.window_join import hopping, session, tumbling

AT = JoinOffset(step=5, left_time=1000, right_time=1100, tasks=1)


def interval(before: int, after: int, how: str = "left", **more: object) -> IntervalJoin:
    return IntervalJoin(IntervalSpec(before, after, how, **more))  # type: ignore[arg-type]


COUNTED = ThetaJoin(IntervalSpec(0, 0, "inner"), Theta(rows=CountWindow(5, 5)))
TIMED = ThetaJoin(IntervalSpec(5, 5, "inner"), Theta())
TUMBLING = WindowedJoin("inner", tumbling(10))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (interval(1, 1), TUMBLING),
        (TUMBLING, interval(1, 1)),
        (TIMED, COUNTED),
        (COUNTED, TIMED),
        (TUMBLING, WindowedJoin("inner", tumbling(11))),
        (TUMBLING, WindowedJoin("inner", hopping(10, 5))),
        (WindowedJoin("inner", session(10)), WindowedJoin("inner", session(10, 10**9))),
    ],
)
def test_another_kind_or_window_is_no_change_of_a_join(old: JoinKind, new: JoinKind) -> None:
    with pytest.raises(PlanError) as refused:
        check_change(old, new)
    assert "create a view" in (refused.value.hint or ""), "a way that works"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (interval(1, 1), interval(9, 0, "full", match="one", pick="latest")),
        (TUMBLING, WindowedJoin("full", tumbling(10, "lazy"))),
        (WindowedJoin("inner", tumbling(10, "eager")), TUMBLING),
        (WindowedJoin("left", session(10)), WindowedJoin("anti", session(10))),
        (TIMED, ThetaJoin(IntervalSpec(50, 5, "left", "one"), Theta())),
        (COUNTED, ThetaJoin(IntervalSpec(0, 0, "left"), Theta(rows=CountWindow(1, 50)))),
    ],
)
def test_a_change_within_a_kind(old: JoinKind, new: JoinKind) -> None:
    check_change(old, new)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ((3, 3), (3, 3), []),
        ((3, 3), (1, 2), []),
        ((3, 3), (5, 3), [(-5, -4)]),
        ((3, 3), (3, 4), [(4, 4)]),
        ((3, 3), (9, 9), [(-9, -4), (4, 9)]),
        ((3, 3), (-5, 9), [(5, 9)]),
        ((3, 3), (9, -5), [(-9, -5)]),
        ((-2, 4), (4, -2), [(-4, -2)]),
    ],
)
def test_the_parts_of_a_window_that_are_new(
    old: tuple[int, int], new: tuple[int, int], parts: list[tuple[int, int]]
) -> None:
    was, spec = (IntervalSpec(*bounds, "inner") for bounds in (old, new))
    assert added(was, spec) == parts
    inside = {away for low, high in parts for away in range(low, high + 1)}
    assert inside == set(range(-new[0], new[1] + 1)) - set(range(-old[0], old[1] + 1))


def test_a_wider_window_is_read_back_as_far_as_open_rows_reach() -> None:
    # Left rows from 1100 - 50 on are open, and may meet right rows from 300 before them on.
    assert read_back(interval(100, 50), interval(300, 50), AT) == Since(1050, 700)
    assert read_back(interval(100, 300), interval(300, 50), AT) == Since(1050, 500)
    assert read_back(interval(300, 50), interval(100, 50), AT) == Since(1050, 900), "narrower: what it needs"


@pytest.mark.parametrize(
    ("new", "reach_us", "since"),
    [
        # Open left rows, from 1100 - 50 on, have met all that the wider window holds.
        (interval(300, 50), None, Since(1000, 1050)),
        (interval(300, 80), None, Since(1000, 1080)),
        # The log has lost right rows up to 800: those that need none of them are exact.
        (interval(300, 50), 800, Since(1101, 1151)),
        # Left rows of before have had pairs that a narrower window lacks.
        (interval(50, 50), None, Since(1000, 1100)),
        # Lone right rows: of those that come from now on.
        (interval(100, 50, "full"), None, Since(1000, 1100)),
        (interval(100, 50, match="one", pick="first"), None, Since(1000, 1100)),
    ],
)
def test_exact_since(new: IntervalJoin, reach_us: int | None, since: Since) -> None:
    assert exact_since(interval(100, 50), new, AT, reach_us) == since


def test_before_time_has_begun_all_is_exact() -> None:
    at = AT.moved(left_time=NEVER, right_time=NEVER)
    assert exact_since(interval(1, 1), interval(9, 9), at, None) == Since(NEVER, NEVER)


def test_windows_that_are_open_are_joined_by_the_new_query() -> None:
    assert exact_since(TUMBLING, WindowedJoin("left", tumbling(10)), AT, None) == Since(1000, 1000)
