"""Law: a rollback of a change that kept state gives, from its step on, what never having changed would give.

So each step after it is that of a join that was never changed. Exempt are rows that have come out already
because of the change, which do not come out again, and those that the change has let go: a left row that was
closed by a narrower window, or that has had its one partner. The originals and detours here let none go."""

from hypothesis import assume, given
from hypothesis import strategies as st

import windows_oracle
from change_oracle import Spec
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from laws.algorithms import HASHINGS
from laws.changing import ChangingStep
from laws.effort import examples
from laws.recovering import in_log_order, passing_home
from laws.recovering_theta import RecoveringTheta, numbered
from laws.recovering_windows import RecoveringWindows, windowed
from laws.theta import CONDITIONS
from laws.theta import MODES as THETA_MODES
from laws.windowed import HOWS, PICKS, WINDOWS, asked
from oracle import ENDED
from streams import Mode, Step, Window, wild_schedules, windows

TYPES = [Mode(how, "all", "first") for how in HOWS] + [
    Mode(how, "one", "first") for how in ("inner", "left", "right", "full")
]
PAIRS = Mode("inner", "all", "first")


def undone(original: Mode, detour: Mode) -> bool:
    """Whether nothing that the original needs is let go while the join is the other."""
    if original.how in ("right", "full"):  # for which right rows have come out alone
        return detour.how in ("right", "full") and detour.match == original.match
    every = Mode(original.how, "all", "first") == original and original.how not in ("semi", "anti")
    return not every or (detour.match == "all" and detour.how not in ("semi", "anti"))


@examples(usual=100, thorough=10_000)
@given(
    data=st.data(),
    steps=wild_schedules(),
    window=windows(),
    modes=st.tuples(st.sampled_from(TYPES), st.sampled_from(TYPES)).filter(lambda both: undone(*both)),
    hashing=st.sampled_from(HASHINGS),
)
def test_of_another_type(data, steps, window, modes, hashing):
    original, detour = (Spec(*window, *mode) for mode in modes)
    join, never_changed = ChangingStep(original, hashing), ChangingStep(original, hashing)
    begin, back = places(data, steps)
    for n, step in enumerate(steps):
        if n == begin:
            join.change(detour)
        if n == back:
            assert join.change(original) == []
            assert join.waiting == never_changed.waiting
        rows, wanted = join.step(step), never_changed.step(step)
        assert begin <= n < back or rows == wanted, (n, begin, back)


@examples(usual=12, thorough=2000)
@given(
    data=st.data(),
    schedule=wild_schedules(),
    window=windows(),
    wider=st.tuples(st.integers(0, 9), st.integers(0, 3)),
    detour=st.sampled_from(THETA_MODES),
    conditions=st.tuples(st.sampled_from(CONDITIONS), st.sampled_from(CONDITIONS)),
)
def test_of_a_join_by_any_condition(data, schedule, window, wider, detour, conditions):
    """For an inner one, whatever its type and condition are for a while, in a window at least as wide."""
    turns = numbered([[("left", step.left), ("right", step.right)] for step in schedule])
    turns.append([])
    untils = [*(step.until for step in schedule), (ENDED, ENDED)]
    begin, back = places(data, turns)
    assume(begin > 0)  # before the first step there is nothing to change
    other = Window(window.before + wider[0], window.after + wider[1])
    original = ThetaJoin(IntervalSpec(*window, *PAIRS), conditions[0].theta)
    with passing_home() as home, passing_home() as beside:
        join = RecoveringTheta(home, window, PAIRS, conditions[0].theta)
        never_changed = RecoveringTheta(beside, window, PAIRS, conditions[0].theta)
        for n, (turn, until) in enumerate(zip(turns, untils, strict=True)):
            if n == begin:
                join.becomes(ThetaJoin(IntervalSpec(*other, *detour), conditions[1].theta))
                join.change("none")
            if n == back:
                join.becomes(original)
                assert join.change("none") == []
            rows, wanted = join.turns(turn, until, 1, "none"), never_changed.turns(turn, until, 1, "none")
            assert begin <= n < back or rows == wanted, (n, begin, back)


@examples(usual=15, thorough=2000)
@given(data=st.data(), schedule=wild_schedules(), window=st.sampled_from(WINDOWS))
def test_of_a_join_in_windows(data, schedule, window):
    """Whatever its type is for a while; for pairs that come out at once, each once."""
    hashing = HASHINGS[0]
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    lazy = [*((how, "lazy", None) for how in HOWS), *((how, "lazy", pick) for how, pick in PICKS)]
    eager = [] if window[0] == "session" else [("inner", "eager", None)]
    original = data.draw(st.sampled_from(lazy + eager))
    every = original[2] is None and original[0] not in ("semi", "anti")
    detour = data.draw(st.sampled_from(lazy + (eager if every else [])))
    begin, back = places(data, steps)
    assume(begin > 0)
    with passing_home() as home, passing_home() as beside:
        join, never_changed = (
            RecoveringWindows(place, asked(window, original[1]), original[0], hashing, original[2])
            for place in (home, beside)
        )
        out: set = set()
        for n, step in enumerate(steps):
            for at, (how, emit, pick) in ((begin, detour), (back, original)):
                if n == at:
                    join.becomes(windowed(how, asked(window, emit), pick))
                    found = windows_oracle.in_order(join.change("none"))
                    assert not out & set(found), "no pair twice"
                    out |= set(found)
            rows, wanted = join.step(step, 1, "none"), never_changed.step(step, 1, "none")
            assert begin <= n < back or rows == [row for row in wanted if row not in out], (n, begin, back)
            out |= set(rows)


def places(data, steps):
    begin = data.draw(st.integers(0, len(steps)))
    return begin, data.draw(st.integers(begin, len(steps)))
