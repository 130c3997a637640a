"""A join that is changed: the old query before the change, the new one after it, and for rows in flight the
rules of `docs/concepts/changes.md`."""

from hypothesis import given
from hypothesis import strategies as st

import oracle
from change_oracle import ChangingJoin, Spec
from laws.algorithms import HASHINGS
from laws.changing import ChangingStep, specs
from laws.effort import examples
from streams import wild_schedules, windows


@examples(usual=150, thorough=20_000)
@given(data=st.data(), steps=wild_schedules(), first=specs(), hashing=st.sampled_from(HASHINGS))
def test_step_by_step(data, steps, first, hashing):
    """Changes at any places, several in a row, and a log that may reach less far than they need."""
    join, expected, spec = ChangingStep(first, hashing), ChangingJoin(first), first
    for n, step in enumerate(steps):
        assert join.step(step) == expected.step(*step), n
        while data.draw(st.sampled_from((False, False, True))):
            spec = data.draw(specs(spec))
            reach = data.draw(
                st.sampled_from((0, 0, *(r.id for r in expected.arrived if r not in expected.held)))
            )
            reach = min([reach, *(r.id for r in expected.held)])  # the log has all that is held
            assert join.change(spec, reach) == expected.change(spec, reach), (n, spec, reach)
        assert join.waiting == (len(expected.open), len(expected.held)), n


@examples(usual=50, thorough=5000)
@given(data=st.data(), steps=wild_schedules(), spec=specs(), hashing=st.sampled_from(HASHINGS))
def test_picks_by_value(data, steps, spec, hashing):
    """Changes to and from joins that pick the partner that is worth most, or least."""
    values = {row.id: data.draw(st.integers(0, 3)) for step in steps for row in step.right}
    by_value = {pick: oracle.by_value(lambda _, r: values[r[2]], pick == "max") for pick in ("max", "min")}

    def drawn(like):
        spec = data.draw(specs(like._replace(pick="latest") if like.pick in by_value else like))
        if oracle.defers_pick(*spec[2:5]):
            spec = spec._replace(pick=data.draw(st.sampled_from(("max", "max", "min", spec.pick))))
        return spec

    def known(spec):
        return spec._replace(pick=by_value.get(spec.pick, spec.pick))

    spec = drawn(spec)
    join, expected = ChangingStep(spec, hashing, values), ChangingJoin(known(spec))
    for n, step in enumerate(steps):
        assert join.step(step) == expected.step(*step), n
        if data.draw(st.booleans()):
            spec = drawn(spec)
            assert join.change(spec) == expected.change(known(spec)), (n, spec)


@examples(usual=25, thorough=3000)
@given(steps=wild_schedules(), spec=specs(), hashing=st.sampled_from(HASHINGS))
def test_a_change_to_the_same_query_changes_nothing(steps, spec, hashing):
    """Also if it keeps its picks, its caps and what has matched: so no change comes out of a rollback that
    undoes nothing."""
    join, never_changed = ChangingStep(spec, hashing), ChangingStep(spec, hashing)
    for step in steps:
        assert join.step(step) == never_changed.step(step)
        reach = min([2**62, *join.state.right.held().row.tolist()])
        assert join.change(spec, reach) == []
        assert join.waiting == never_changed.waiting


@examples(usual=75, thorough=10_000)
@given(data=st.data(), steps=wild_schedules(), spec=specs(), hashing=st.sampled_from(HASHINGS))
def test_after_a_rollback_left_rows_get_what_they_would_have_got_anyway(data, steps, spec, hashing):
    """Whatever the query was in between: left rows that come after the rollback get exactly what they would
    get if nothing had ever been changed."""
    join, never_changed = ChangingStep(spec, hashing), ChangingStep(spec, hashing)
    begin = data.draw(st.integers(0, len(steps)))
    back = data.draw(st.integers(begin, len(steps)))
    after = {row.id for step in steps[back:] for row in step.left}
    for n, step in enumerate(steps):
        if n == begin:
            join.change(data.draw(specs(spec)))
        if n == back:
            assert all(left not in after for left, _ in join.change(spec))
        rows, wanted = join.step(step), never_changed.step(step)
        assert (n < back) or [row for row in rows if row[0] in after] == [
            row for row in wanted if row[0] in after
        ], (n, begin, back)


@examples(usual=75, thorough=10_000)
@given(data=st.data(), steps=wild_schedules(), window=windows(), hashing=st.sampled_from(HASHINGS))
def test_a_rollback_from_a_wider_window_is_as_if_nothing_had_been(data, steps, window, hashing):
    """For an inner join, where nothing but pairs comes out: every step after it is that of a join that was
    never changed, and the rollback itself puts nothing out."""
    spec = Spec(*window, "inner", "all", "first")
    wider = spec._replace(before=spec.before + data.draw(st.integers(0, 9)), after=spec.after + 3)
    join, never_changed = ChangingStep(spec, hashing), ChangingStep(spec, hashing)
    begin = data.draw(st.integers(0, len(steps)))
    back = data.draw(st.integers(begin, len(steps)))
    for n, step in enumerate(steps):
        if n == begin:
            join.change(wider)
        if n == back:
            assert join.change(spec) == []
            assert join.waiting == never_changed.waiting
        rows, wanted = join.step(step), never_changed.step(step)
        assert begin <= n < back or rows == wanted, (n, begin, back)
