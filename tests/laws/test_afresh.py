"""A join that begins afresh, with other keys and another window: what the old join and the new one put out
together, by the definition of `changes/afresh.py` and not by steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from change_oracle import ChangingJoin, Spec
from dovetail.engine.filling import in_silence
from dovetail.engine.waiting_rows import without_answer
from dovetail.joins.emitted import NONE, Counts, Emitted
from laws.algorithms import HASHINGS
from laws.changing import ChangingStep, specs
from laws.effort import examples
from oracle import ENDED, NEVER, batch_join, defers_pick
from streams import PAIRS, Row, Step, schedules, streams, wild_schedules, windows

KEYS = st.lists(st.sampled_from((0, 0, 0, 1, 2)), min_size=40, max_size=40)
LATE = (
    ("left", "one", "nearest"),
    ("inner", "one", "latest"),
    ("left", "one", "earliest"),
    ("anti", "all", "first"),
)
ONE_ANSWER = (
    *LATE,
    ("semi", "all", "first"),
    ("left", "one", "first"),
    ("inner", "one", "first"),
)
NOTHING = Emitted(NONE, NONE, NONE, NONE, Counts(), 0, (NONE, NONE))
END = Step((), (), (ENDED, ENDED))


class FreshStep(ChangingStep):
    def fill(self, new: Step, *, marks: bool) -> None:
        self.step(new)
        in_silence(self.state, NOTHING, marks=marks)


def rekeyed(step: Step, keys: tuple[list[int], list[int]]) -> Step:
    """The rows as the new query slices them. One without a key stays without one."""
    sides = [
        tuple(row._replace(key=row.key if row.key is None else keys[side][row.id % 40]) for row in rows)
        for side, rows in enumerate(step[:2])
    ]
    return Step(sides[0], sides[1], step.until)


def of(steps: list[Step], side: int) -> list[Row]:
    return [row for step in steps for row in step[side]]


@examples(usual=75, thorough=10_000)
@given(
    data=st.data(),
    pair=streams(),
    keys=st.tuples(KEYS, KEYS),
    both=st.tuples(windows(), windows()),
    how=st.tuples(st.sampled_from(PAIRS), st.sampled_from(PAIRS)),
    hashing=st.sampled_from(HASHINGS),
)
def test_pairs_are_divided_at_the_change(data, pair, keys, both, how, hashing):
    """Two rows from before it meet by the old query, all others by the new one; what has no partner by then
    comes out alone in it."""
    steps = data.draw(schedules(pair))
    cut = data.draw(st.integers(0, len(steps) - 1))
    if ENDED in (steps[cut - 1].until if cut else ()):
        return  # a side had ended, and begins again with the new join
    old, new = (Spec(*window, one, "all", "first") for window, one in zip(both, how, strict=True))
    before, after = ChangingStep(old, hashing), FreshStep(new, hashing)
    found = [row for step in steps[:cut] for row in before.step(step)] + before.step(END)
    for step in steps[:cut]:
        after.fill(rekeyed(step, keys), marks=True)
    found += [row for step in steps[cut:] for row in after.step(rekeyed(step, keys))]

    early = [rekeyed(step, keys) for step in steps[:cut]]
    everything = [rekeyed(step, keys) for step in steps]
    ids = [{row.id for row in of(early, side)} for side in (0, 1)]
    expected = batch_join(of(steps[:cut], 0), of(steps[:cut], 1), *old[:2], old.how)
    rows = batch_join(of(everything, 0), of(everything, 1), *new[:2], new.how)
    for left, right in rows:
        came = [one is not None and one in known for one, known in zip((left, right), ids, strict=True)]
        alone = None in (left, right)
        if not (any(came) if alone else all(came)):
            expected.append((left, right))
    # A left row that had closed before the change stays closed, whatever the new window is.
    closed = {row.id for row in of(early, 0) if row.time is not None and _over(steps[cut - 1], row, new)}
    expected = [
        row for row in expected if not (row[0] in closed and row[1] is not None and row[1] not in ids[1])
    ]
    assert Counter(found) == Counter(expected)


def _over(last: Step, row: Row, spec: Spec) -> bool:
    assert row.time is not None
    return last.until[1] > row.time + spec.after


@examples(usual=75, thorough=10_000)
@given(
    data=st.data(),
    pair=streams(),
    keys=st.tuples(KEYS, KEYS),
    window=windows(),
    how=st.tuples(st.sampled_from(LATE), st.sampled_from(LATE)),
    hashing=st.sampled_from(HASHINGS),
)
def test_rows_of_which_nothing_has_come_out_are_the_new_joins(data, pair, keys, window, how, hashing):
    """Each left row comes out by one query: by the one that counts when its window is over."""
    steps = data.draw(schedules(pair))
    cut = data.draw(st.integers(0, len(steps) - 1))
    if ENDED in (steps[cut - 1].until if cut else ()):
        return
    old, new = (Spec(*window, *one) for one in how)
    before, after = ChangingStep(old, hashing), FreshStep(new, hashing)
    found = [row for step in steps[:cut] for row in before.step(step)]
    for step in steps[:cut]:
        after.fill(rekeyed(step, keys), marks=False)
    found += [row for step in steps[cut:] for row in after.step(rekeyed(step, keys))]

    everything = [rekeyed(step, keys) for step in steps]
    lefts = of(steps[:cut], 0)
    done = {row.id for row in lefts if None in row[:2] or _over(steps[cut - 1], row, new)}
    expected = [row for row in batch_join(lefts, of(steps[:cut], 1), *old[:5]) if row[0] in done]
    rows = batch_join(of(everything, 0), of(everything, 1), *new[:5])
    expected += [row for row in rows if row[0] not in done]
    assert Counter(found) == Counter(expected)


@examples(usual=75, thorough=10_000)
@given(
    data=st.data(),
    pair=streams(),
    keys=st.tuples(KEYS, KEYS),
    window=windows(),
    how=st.tuples(st.sampled_from(ONE_ANSWER), st.sampled_from(ONE_ANSWER)),
    hashing=st.sampled_from(HASHINGS),
)
def test_rows_that_have_had_no_answer_are_the_new_joins(data, pair, keys, window, how, hashing):
    """One of the joins answers as soon as it can. Left rows that have had an answer by the change are done;
    the others come to the new join, which has the right rows from before, and are answered by it alone."""
    steps = data.draw(schedules(pair))
    cut = data.draw(st.integers(0, len(steps) - 1))
    if ENDED in (steps[cut - 1].until if cut else ()):
        return
    old, new = (Spec(*window, *one) for one in how)
    before, after = ChangingStep(old, hashing), FreshStep(new, hashing)
    found = [row for step in steps[:cut] for row in before.step(step)]
    held = before.state.left.held()
    waiting = set(held.row[without_answer(before.state.spec, held)].tolist())
    since = steps[cut - 1].until[1] - new.after if cut else NEVER
    for step in steps[:cut]:
        until = min(step.until[0], since), step.until[1]
        after.fill(rekeyed(Step((), step.right, until), keys), marks=False)
    again = [row for row in of(steps[:cut], 0) if row.id in waiting]
    came = [Step(tuple(again), (), steps[cut - 1].until)] if cut else []
    found += [row for step in [*came, *steps[cut:]] for row in after.step(rekeyed(step, keys))]

    everything = [rekeyed(step, keys) for step in steps]
    lefts, rights = of(steps[:cut], 0), of(steps[:cut], 1)
    done = {row.id for row in lefts if None in row[:2] or _over(steps[cut - 1], row, new)}
    if not defers_pick(*old[2:5]):  # the answer of an anti join to a row that has a partner: it stays out
        done |= {left for left, _ in batch_join(lefts, rights, *old[:2], "semi")}
    expected = [row for row in answers(lefts, rights, old) if row[0] in done]
    expected += [row for row in answers(of(everything, 0), of(everything, 1), new) if row[0] not in done]
    by_chance = ("one", "first") in (old[3:5], new[3:5])
    assert Counter(known(found, by_chance)) == Counter(known(expected, by_chance))


def answers(left: list[Row], right: list[Row], spec: Spec) -> list[tuple[int | None, int | None]]:
    """For finished streams. Which partner is the first depends on how rows came: any of them will do."""
    return batch_join(left, right, *spec[:4], "earliest" if spec.pick == "first" else spec.pick)


def known(
    rows: Iterable[tuple[int | None, int | None]], by_chance: bool
) -> Iterator[tuple[int | None, int | bool | None]]:
    """`by_chance`: only whether a row has a partner."""
    return ((left, right is None if by_chance else right) for left, right in rows)


@examples(usual=75, thorough=10_000)
@given(
    data=st.data(),
    steps=wild_schedules(),
    keys=st.tuples(KEYS, KEYS),
    spec=specs(),
    hashing=st.sampled_from(HASHINGS),
)
def test_step_by_step(data, steps, keys, spec, hashing):
    """Whatever time does, with caps, picks and further changes: as the oracle that is filled and marked."""
    cut = data.draw(st.integers(0, len(steps)))
    pairs, whole = spec.how in PAIRS and spec.match == "all", spec.how == "anti" or defers_pick(*spec[2:5])
    marks = not whole
    join, expected = FreshStep(spec, hashing), ChangingJoin(spec)
    for n, step in enumerate(rekeyed(step, keys) for step in steps):
        if n < cut:
            filling = step if pairs or whole else step._replace(left=())  # then those are the old join's
            join.fill(filling, marks=marks)
            expected.fill(*filling, marks)
        else:
            assert join.step(step) == expected.step(*step), n
            if data.draw(st.sampled_from((False, False, True))):
                spec = data.draw(specs(spec))
                assert join.change(spec) == expected.change(spec), (n, spec)
