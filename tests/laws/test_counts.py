"""What a step counts is what happened: the numbers that people see are held against the oracle too."""

from hypothesis import given

import oracle
from laws.algorithms import HASHINGS, IntervalStep
from laws.effort import tried
from oracle import NEVER
from streams import MODES, wild_schedules, windows


@tried
@given(steps=wild_schedules(), window=windows())
def test_counts(steps, window):
    for mode in MODES:
        join = IntervalStep(window, mode, HASHINGS[0])
        matched, so_far = matched_by(steps, window, mode), 0
        before = (NEVER, NEVER)
        for n, step in enumerate(steps):
            rows = join.step(step)
            counts = join.counts
            assert (counts.left_in, counts.right_in) == (len(step.left), len(step.right))
            assert counts.pairs == sum(None not in row for row in rows)
            assert counts.left_alone == sum(row[1] is None for row in rows)
            assert counts.right_alone == sum(row[0] is None for row in rows)
            so_far += counts.left_matched
            assert so_far == sum(at <= n for at in matched), (mode, n)
            usable = [[row for row in side if None not in row] for side in step[:2]]
            late = tuple(sum(row.time < before[side] for row in usable[side]) for side in (0, 1))
            assert (counts.left_late, counts.right_late) == late
            void = tuple(sum(row.key is None for row in side) for side in step[:2])
            assert (counts.left_void, counts.right_void) == void
            lost = (len(step.left) - len(usable[0]), len(step.right) - len(usable[1]))
            assert (void[0] + counts.left_invalid, void[1] + counts.right_invalid) == lost
            assert (counts.left_capped, counts.right_capped) == (0, 0)
            assert counts.collisions == 0
            before = step.until


def matched_by(steps, window, mode):
    """The step after which each left row with a partner waits for nothing more: one is all it wants, or its
    window has closed."""
    once = mode.how in ("semi", "anti") or (mode.match == "one" and mode.pick == "first")
    ends = []
    for came, left in oracle.arrivals(steps, 0):
        met = [
            max(came, c)
            for c, r in oracle.arrivals(steps, 1)
            if oracle.meet(steps, came, left, c, r, *window)
        ]
        closed = oracle.close_step(steps, came, left, window.after)
        if met and (once or closed is not None):
            ends.append(min(met) if once else closed)
    return ends
