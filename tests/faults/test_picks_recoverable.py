"""Recoverable, picks by value: the state keeps references only, and values are read from the log again. So
accidents, other numbers of tasks, split keys, caps and retention after every step change nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import oracle
import theta_oracle
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.share import HotKey
from dovetail.model.theta import Expression, Operand, Operation
from faults.test_recoverable import ACCIDENTS, DISTINCT
from laws.algorithms import HASHINGS, Hashing
from laws.effort import examples
from laws.recovering import SCHEMA, RecoveringJoin, in_log_order, passing_home
from laws.recovering_theta import RecoveringTheta, numbered
from laws.theta import CONDITIONS
from oracle import ENDED
from streams import PAIRS, Mode, Row, Step, Window, wild_schedules, windows

LEFT, RIGHT = Operand("left", "_on_0"), Operand("right", "_on_0")
DISTANCE = Operation("abs", (Operation("-", (RIGHT, LEFT)),))
VALUES = (3, 1, None, 4, 1, 5, 9, None, 2, 6, 5, 3, 5)

expressions = st.sampled_from((RIGHT, DISTANCE))
picks = st.sampled_from(("max", "min"))
salts = st.integers(1, 12)
accidents = st.sampled_from(ACCIDENTS)


class RecoveringPick(RecoveringJoin):
    """Rows have a value beside their id."""

    schema = SCHEMA.append(pa.field("_on_0", pa.int64()))

    def __init__(self, home: Path, spec: IntervalSpec, hashing: Hashing, salt: int) -> None:
        self.salt = salt
        window, mode = Window(spec.before_us, spec.after_us), Mode(spec.how, spec.match, spec.pick)
        super().__init__(home, window, mode, hashing, kind=IntervalJoin(spec))

    def _columns(self, row: Row) -> tuple[object, ...]:
        return *super()._columns(row), value_of(row.id, self.salt)


def value_of(row: int, salt: int) -> int | None:
    return VALUES[(row * salt + salt) % len(VALUES)]


def compared(expression: Expression, salt: int):
    """What the oracle compares for a left and a right row."""

    def value(left, right):
        a, b = value_of(left[2], salt), value_of(right[2], salt)
        if expression is RIGHT:
            return b
        return None if a is None or b is None else abs(b - a)

    return value


@examples(usual=20, thorough=2000)
@given(st.data(), wild_schedules(), windows(), st.sampled_from(PAIRS), st.sampled_from(HASHINGS), salts)
def test_recoverable(data, schedule, window, how, hashing, salt):
    expression, pick = data.draw(expressions), data.draw(picks)
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    by_value = oracle.by_value(compared(expression, salt), pick == "max")
    expected = oracle.streaming_join(steps, *window, how, "one", by_value)
    with passing_home() as home:
        spec = IntervalSpec(*window, how, "one", pick, picked_by=expression)
        join, tasks = RecoveringPick(home, spec, hashing, salt), 1
        for n, step in enumerate(steps):
            tasks = data.draw(st.sampled_from((tasks, tasks, 1, 2, 3)))
            accident = data.draw(accidents)
            assert join.step(step, tasks, accident) == expected[n], (n, tasks, accident)


@examples(usual=15, thorough=2000)
@given(st.data(), wild_schedules(), windows(), st.sampled_from(HASHINGS), salts)
def test_hot_keys_are_split_and_nothing_changes(data, schedule, window, hashing, salt):
    how, expression, pick = (
        data.draw(st.sampled_from(("inner", "left"))),
        data.draw(expressions),
        data.draw(picks),
    )
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    by_value = oracle.by_value(compared(expression, salt), pick == "max")
    expected = oracle.streaming_join(steps, *window, how, "one", by_value)
    keys = [HotKey(hash, "left") for hash in sorted({hashing.of(key) for key in range(3)})]
    hot_sets = st.lists(st.sampled_from(keys), max_size=3, unique_by=lambda key: key.hash)
    with passing_home() as home:
        spec = IntervalSpec(*window, how, "one", pick, picked_by=expression)
        join = RecoveringPick(home, spec, hashing, salt)
        for n, step in enumerate(steps):
            tasks, accident, hot = (
                data.draw(st.sampled_from((1, 2, 3))),
                data.draw(accidents),
                data.draw(hot_sets),
            )
            assert join.step(step, tasks, accident, hot) == expected[n], (n, tasks, accident, hot)


@examples(usual=12, thorough=1000)
@given(st.data(), wild_schedules(), windows(), st.sampled_from(DISTINCT), salts)
def test_recoverable_with_caps(data, schedule, window, hashing, salt):
    """A left row that must make room comes out with the best partner so far."""
    how, pick = data.draw(st.sampled_from(PAIRS)), data.draw(picks)
    right_cap = None if how in ("right", "full") else data.draw(st.none() | st.integers(1, 3))
    caps = data.draw(st.integers(1, 3)), right_cap
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    by_value = oracle.by_value(compared(DISTANCE, salt), pick == "max")
    expected, _ = oracle.capped_join(steps, *window, how, "one", by_value, *caps)
    with passing_home() as home:
        spec = IntervalSpec(*window, how, "one", pick, *caps, DISTANCE)
        join = RecoveringPick(home, spec, hashing, salt)
        for n, step in enumerate(steps):
            tasks, accident = data.draw(st.sampled_from((1, 2, 3))), data.draw(accidents)
            assert join.step(step, tasks, accident) == expected[n], (n, tasks, accident)


@examples(usual=15, thorough=2000)
@given(st.data(), wild_schedules(), windows(), st.sampled_from(CONDITIONS), picks)
def test_theta_joins_are_recoverable(data, schedule, window, condition, pick):
    """Without keys. The value compared is the one that the condition reads."""
    how, expression = data.draw(st.sampled_from(("inner", "left"))), data.draw(expressions)
    turns = numbered([[("left", step.left), ("right", step.right)] for step in schedule])
    steps = [(left[1], right[1], step.until) for (left, right), step in zip(turns, schedule, strict=True)]
    steps.append(((), (), (ENDED, ENDED)))

    def value(left, right):
        return right[0] if expression is RIGHT else abs(right[0] - left[0])

    by_value = oracle.by_value(value, pick == "max")
    expected = theta_oracle.timed_join(steps, condition.holds, *window, how, "one", by_value)
    with passing_home() as home:
        join = RecoveringTheta(home, window, Mode(how, "one", pick), condition.theta, expression)
        for n, (left, right, until) in enumerate(steps):
            tasks, accident = data.draw(st.sampled_from((1, 2, 3, 7))), data.draw(accidents)
            found = join.turns([("left", left), ("right", right)], until, tasks, accident)
            assert found == expected[n], (n, tasks, accident)
