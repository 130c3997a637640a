"""One stream lags the other by ten minutes: with pacing what is held follows the window, else the lag."""

from __future__ import annotations

import numpy as np

from dovetail.joins.interval.step import step
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.join_settings import Pacing
from dovetail.model.offset import JoinOffset
from dovetail.time.coordinator import Pace, plan_step
from simulation.test_estimated_time import SECOND, WINDOW, Stream, batch

LAG_S, SLACK_S = 600, 30


def live(left: Stream, right: Stream, pace: Pace) -> tuple[int, int]:
    """Commits become known second by second, as they were written; in the end nobody waits for more. Pairs
    found, and right rows held at most."""
    state, offset, pairs, retained = JoinState.empty(WINDOW), JoinOffset(), 0, 0
    commits = left.commits(0), right.commits(0)
    seconds = max(map(len, commits))
    for second in range(seconds + 1):
        known = [side[: second + 1] for side in commits]
        while True:
            new = known[0][offset.left :], known[1][offset.right :]
            end = plan_step(offset, *new, pace, final=False, waits=second < seconds)
            if end is offset:
                break
            emitted = step(
                state,
                left.arrivals(offset.left, end.left),
                right.arrivals(offset.right, end.right),
                Times(end.left_time, end.right_time),
            )
            pairs, offset = pairs + emitted.counts.pairs, end
            retained = max(retained, state.right_rows)
    return pairs, retained


def test_what_is_held_follows_the_window_not_the_lag() -> None:
    def lagging(rng: np.random.Generator, rows: int) -> np.ndarray:
        return LAG_S + rng.exponential(1, rows)

    def prompt(rng: np.random.Generator, rows: int) -> np.ndarray:
        return rng.exponential(1, rows)

    left, right = Stream(3, lagging, 1200), Stream(4, prompt, 1200)
    free = Pace(0, 0, 20_000, 1, EstimateSpec(), None, WINDOW.after_us)
    paced = free._replace(pacing=Pacing(SLACK_S * SECOND, 60 * SECOND))
    free_pairs, free_rows = live(left, right, free)
    paced_pairs, paced_rows = live(left, right, paced)
    window_and_slack = 1000 * ((WINDOW.before_us + WINDOW.after_us) // SECOND + SLACK_S)
    assert paced_rows < 1.5 * window_and_slack
    assert free_rows > 3 * window_and_slack
    expected = batch(left, right)
    assert paced_pairs > 0.995 * expected
    assert free_pairs > 0.995 * expected
