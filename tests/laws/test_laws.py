"""The laws of a streaming join, over every algorithm, join type, match mode and pick rule.

Making an example costs more than joining it, so each one is joined in every mode.
"""

from collections import Counter
from math import isinf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from laws.algorithms import ALGORITHMS, HASHINGS
from laws.effort import tried
from streams import DETERMINED, MODES, PAIRS, Mode, Step, Window, schedules, streams, wild_schedules, windows

pytestmark = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
hashings = st.sampled_from(HASHINGS)


def run(algorithm, steps, window, mode, hashing=HASHINGS[0]):
    """The whole output, as a sorted list."""
    join = algorithm.start(window, mode, hashing)
    return oracle.in_order(row for step in steps for row in join.step(step))


def rows_of(steps):
    return [row for step in steps for row in step.left], [row for step in steps for row in step.right]


@tried
@given(steps=wild_schedules(), window=windows(), hashing=hashings)
def test_step_by_step(algorithm, steps, window, hashing):
    """After every step, late rows or not: exactly the rows of the definition, and exactly the rows that still
    wait are held. The strongest law: the others follow from it, and say what it is good for."""
    for mode in MODES:
        join = algorithm.start(window, mode, hashing)
        expected = oracle.streaming_join(steps, *window, *mode)
        held = oracle.waiting(steps, *window, *mode)
        for n, step in enumerate(steps):
            assert join.step(step) == expected[n], (mode, n)
            assert join.waiting == held[n], (mode, n)


@tried
@given(data=st.data(), pair=streams(late=True), window=windows(), hashing=hashings)
def test_step_by_step_behind_the_maximum(algorithm, data, pair, window, hashing):
    """The same where stream times follow the rows, as they do in the service."""
    steps = data.draw(schedules(pair))
    for mode in MODES:
        join = algorithm.start(window, mode, hashing)
        assert [join.step(step) for step in steps] == oracle.streaming_join(steps, *window, *mode), mode


@tried
@given(steps=wild_schedules(), window=windows(), hashing=hashings)
def test_sound(algorithm, steps, window, hashing):
    """Every pair satisfies the predicate; a row of a semi join has a partner."""
    partners = oracle.admissible(*rows_of(steps), *window)
    for mode in MODES:
        for left, right in run(algorithm, steps, window, mode, hashing):
            if mode.how == "semi":
                assert partners[left], mode
            elif left is not None and right is not None:
                assert right in partners[left], mode


@tried
@given(steps=wild_schedules(), window=windows(), hashing=hashings)
def test_once(algorithm, steps, window, hashing):
    """No row comes out twice, and one that came out alone is never in a pair."""
    for mode in MODES:
        rows = run(algorithm, steps, window, mode, hashing)
        assert len(rows) == len(set(rows)), mode
        for side in (0, 1):
            alone = {row[side] for row in rows if row[1 - side] is None}
            paired = Counter(row[side] for row in rows if None not in row)
            assert not alone & set(paired), mode
            if side == 0 and mode.match == "one":
                assert max(paired.values(), default=0) <= 1, mode


@tried
@given(data=st.data(), pair=streams(late=True), window=windows(), hashing=hashings)
def test_nothing_is_lost(algorithm, data, pair, window, hashing):
    """When both streams have ended, an outer join has given every row of the side it keeps, late or not, a
    semi and an anti join share the left rows between them, and nothing is held any more."""
    steps = data.draw(schedules(pair))
    left, right = ([row.id for row in rows] for rows in pair[:2])
    for mode in MODES:
        join = algorithm.start(window, mode, hashing)
        rows = [row for step in steps for row in join.step(step)]
        assert join.waiting == (0, 0), mode
        if mode.how in ("left", "full"):
            assert {row[0] for row in rows} - {None} == set(left), mode
        if mode.how in ("right", "full"):
            assert {row[1] for row in rows} - {None} == set(right), mode
        if mode.how == "semi":
            others = run(algorithm, steps, window, mode._replace(how="anti"), hashing)
            assert sorted(row[0] for row in rows + others) == left, mode


@tried
@given(data=st.data(), pair=streams(), window=windows(), hashing=hashings)
def test_complete(algorithm, data, pair, window, hashing):
    """Without late rows: the batch join."""
    steps = data.draw(schedules(pair))
    for mode in DETERMINED:
        expected = oracle.batch_join(pair.left, pair.right, *window, *mode)
        assert run(algorithm, steps, window, mode, hashing) == expected, mode


@tried
@given(data=st.data(), pair=streams(), window=windows(), hashing=hashings)
def test_complete_with_the_first_partner(algorithm, data, pair, window, hashing):
    """Without late rows, `first` joins each left row that has partners with one of them; the other left rows,
    and the right rows that nobody took, stay alone."""
    steps = data.draw(schedules(pair))
    partners = oracle.admissible(pair.left, pair.right, *window)
    for how in PAIRS:
        rows = run(algorithm, steps, window, Mode(how, "one", "first"), hashing)
        pairs = [row for row in rows if None not in row]
        assert all(right in partners[left] for left, right in pairs), how
        assert [left for left, _ in pairs] == sorted(left for left, found in partners.items() if found), how
        taken = {right for _, right in pairs}
        alone = [(left, None) for left, found in partners.items() if not found and how in ("left", "full")]
        alone += [(None, row.id) for row in pair.right if row.id not in taken and how in ("right", "full")]
        assert oracle.in_order(pairs + alone) == rows, how


@tried
@given(data=st.data(), pair=streams(), window=windows())
def test_invariant(algorithm, data, pair, window):
    """Without late rows: the same for every split into commits and every interleaving of the streams."""
    one, other = data.draw(schedules(pair)), data.draw(schedules(pair))
    for mode in DETERMINED:
        assert run(algorithm, one, window, mode) == run(algorithm, other, window, mode), mode


@tried
@given(steps=wild_schedules(), window=windows(), hashing=hashings, groups=st.integers(1, 5))
def test_parallel(algorithm, steps, window, hashing, groups):
    """Rows dealt out by hash to any number of groups, each with a state of its own: the same result, in every
    step, late rows included."""

    def share(step, group):
        return Step(
            *(tuple(row for row in rows if hashing.of(row.key or 0) % groups == group) for rows in step[:2]),
            step.until,
        )

    for mode in MODES:
        whole = algorithm.start(window, mode, hashing)
        parts = [algorithm.start(window, mode, hashing) for _ in range(groups)]
        for n, step in enumerate(steps):
            shares = [row for group, part in enumerate(parts) for row in part.step(share(step, group))]
            assert oracle.in_order(shares) == whole.step(step), (mode, n)
            held = [sum(side) for side in zip(*(part.waiting for part in parts), strict=True)]
            assert tuple(held) == whole.waiting, (mode, n)


@tried
@given(data=st.data(), pair=streams(late=True), window=windows())
def test_bounded(algorithm, data, pair, window):
    """Nothing waits for rows that cannot come any more: what is held lies within the window of the other
    side's time, whatever came before, late rows included."""
    steps = data.draw(schedules(pair))
    for mode in MODES:
        join = algorithm.start(window, mode, HASHINGS[0])
        for n, step in enumerate(steps):
            join.step(step)
            left, right = rows_of(steps[: n + 1])
            left_time, right_time = step.until
            may_match = sum(row.time is not None and row.time + window.after >= right_time for row in left)
            reach = left_time - window.before
            if mode.how in ("right", "full") and oracle.defers_pick(*mode):
                reach = min(reach, right_time - window.before - window.after)
            may_be_found = sum(row.time is not None and row.time >= reach for row in right)
            assert join.waiting[0] <= may_match, (mode, n)
            assert join.waiting[1] <= may_be_found, (mode, n)


@tried
@given(
    steps=wild_schedules(),
    window=windows(),
    unit=st.sampled_from((1, 1_000_000, 2**52)),
    origin=st.sampled_from((0, -(2**60), 1_534_291_200_000_000)),
)
def test_units_do_not_matter(algorithm, steps, window, unit, origin):
    """Neither the unit of time nor its origin: windows of nanoseconds and of millennia are joined alike."""

    def moved(step):
        left, right = (
            tuple(row if row.time is None else row._replace(time=row.time * unit + origin) for row in rows)
            for rows in step[:2]
        )
        return Step(left, right, tuple(time if isinf(time) else time * unit + origin for time in step.until))

    stretched = Window(window.before * unit, window.after * unit)
    for mode in MODES:
        join, other = (
            algorithm.start(window, mode, HASHINGS[0]),
            algorithm.start(stretched, mode, HASHINGS[0]),
        )
        for n, step in enumerate(steps):
            assert other.step(moved(step)) == join.step(step), (mode, n)
