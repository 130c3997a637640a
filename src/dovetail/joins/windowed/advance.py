"""One step of a windowed join over the log: the new rows of a task, and what is counted."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dovetail.joins.emitted import Emitted
from dovetail.joins.kind import add_totals, counted_totals
from dovetail.joins.rows.gather import key_numbers
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.windowed.step import ClosedWindows, Means, found_so_far, nothing_emitted, step
from dovetail.joins.worth import worth_in
from dovetail.model.join_kind import WindowedJoin

JOINED_BY = "joined_by_"
"""Before the name of an algorithm: the total of steps in which it joined windows."""


def advance(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    kind, means = given.config.join_kind, _means(given, given.end.paired)
    assert isinstance(kind, WindowedJoin)
    done = step(at.state, given.new("left"), given.new("right"), given.until, means)
    # A left row has partners in several windows of a hopping join, and in several steps of an eager one.
    once = kind.window.shape != "hopping" and kind.window.emit != "eager"
    return done.emitted, add_totals(counted_totals(at, done.emitted, left_matched=once), _totals(done))


def change(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    """The windows stay, so what is held does. A window is joined when it is over: one that is open now is
    joined as the new configuration says. If that one is eager, pairs of open windows come out now."""
    kind, was = given.config.join_kind, given.was
    assert was is not None
    assert isinstance(kind, WindowedJoin)
    assert isinstance(was.join_kind, WindowedJoin)
    at.state.spec = kind.state_spec
    turns_eager = kind.window.emit == "eager" != was.join_kind.window.emit
    emitted = (
        found_so_far(at.state, _means(given, given.start.paired))
        if turns_eager
        else nothing_emitted(at.state)
    )
    return emitted, counted_totals(at, emitted, left_matched=False)


def _means(given: StepInput, paired: Sequence[int]) -> Means:
    config, kind = given.config, given.config.join_kind
    assert isinstance(kind, WindowedJoin)
    return Means(
        kind.window,
        given.same_keys,
        lambda a, b: key_numbers(given.left, given.right, config.keys, a, b),
        given.copies,
        _threads(given.end.tasks),
        (paired[0], paired[1]) if paired else (0, 0),
        kind.pick if kind.match == "one" and kind.spec.emits_pairs else None,
        worth_in(kind.spec, given.left, given.right),
    )


def _threads(tasks: int) -> int:
    """The cores that the tasks of a join leave to each of them."""
    return max(1, (os.cpu_count() or 1) // max(1, tasks))


def _totals(done: ClosedWindows) -> Totals:
    """Windows that were joined when they were over, and in how many steps by which algorithm."""
    totals = {"windows": done.windows}
    if done.algorithm is not None:
        totals[f"{JOINED_BY}{done.algorithm}"] = 1
    return totals
