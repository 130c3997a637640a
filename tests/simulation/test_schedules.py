"""Laws of coordinator, estimate and join together, on schedules drawn at random.

A failure names its seed: `SEED=17 pytest tests/simulation` tries that one alone. Usual runs try the same
seeds; `HYPOTHESIS_PROFILE=thorough` tries ten times as many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import pytest
from bench.arrivals import Ints
from bench.simulation import Run, SideRun, partners

from dovetail.model.offset import NEVER, JoinOffset
from laws.effort import THOROUGH, some
from oracle import ENDED as FOREVER
from oracle import NEVER as NOT_YET
from oracle import in_order, streaming_join
from simulation.schedules import Schedule, schedule

CHUNKS, USUAL = 10, 80


def seeds(chunk: int, share: float = 1.0) -> Iterable[int]:
    if "SEED" in os.environ:
        return [int(os.environ["SEED"])] if chunk == 0 else []
    each = int(USUAL * share) * (20 if THOROUGH else 1)
    return range(chunk * each, (chunk + 1) * each)


def hold(chosen: Iterable[int], laws: Callable[[int], None]) -> None:
    """Try the laws on every seed; say which ones they do not hold on."""
    broken = {}
    for seed in chosen:
        try:
            laws(seed)
        except AssertionError as error:
            broken[seed] = str(error).partition("\n")[0]
    assert not broken, "\n".join(f"SEED={seed}: {why}" for seed, why in broken.items())


@pytest.mark.parametrize("chunk", some(range(CHUNKS), 5))
def test_laws(chunk: int) -> None:
    def laws(seed: int) -> None:
        drawn = schedule(seed)
        run = drawn.run()
        goes_on(drawn, run)
        times_ascend(run)
        every_row_once(run)
        what_is_missed_was_late(run)
        bounded(drawn, run)

    hold(seeds(chunk), laws)


def goes_on(drawn: Schedule, run: Run) -> None:
    """Never are both sides kept waiting, and when both have been silent for long nothing waits any more."""
    waits = np.stack([run.column("waiting", "left") > 0, run.column("waiting", "right") > 0])
    assert not waits.all(axis=0).any(), "both sides wait"
    assert not waits[:, -1].any(), "something waits for silent streams"
    if drawn.pace.pacing is None:
        assert not waits.any(), "something waits without pacing"


def times_ascend(run: Run) -> None:
    times = [(offset.left_time, offset.right_time) for offset in run.steps]
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(times)), "a time goes back"
    assert all((a.left, a.right) <= (b.left, b.right) for a, b in pairwise(run.steps))


def every_row_once(run: Run) -> None:
    """A drained join has given every row that it keeps: with partners or alone, not both."""
    spec = run.spec
    for side, kept in ((run.left, spec.keeps_left), (run.right, spec.keeps_right)):
        alone = side.alone_at_us != NEVER
        if spec.emits_pairs:
            assert not (alone & (side.met > 0)).any(), "a row comes out alone and matched"
            assert not kept or (alone | (side.met > 0)).all(), "a row does not come out"
    if spec.match == "one":
        assert run.left.met.max(initial=0) <= 1, "a second partner"


def what_is_missed_was_late(run: Run) -> None:
    """Nothing is found that the batch join does not find. It finds more only where a row was behind its own
    stream's time when it came: so with percentile p, and as far as the estimate holds, at least
    `1 - p - (1 - p) p` is found."""
    left, right, spec = run.left.log, run.right.log, run.spec
    batch = partners(left, right, spec)
    if spec.how in ("semi", "anti"):
        found = (run.left.alone_at_us != NEVER) == (spec.how == "semi")
        assert (batch[found] > 0).all(), "matched, but not in batch"
        missed = int(np.count_nonzero(batch[~found & ~run.left.late] > 0))
        assert missed <= int(_late_partners(run).sum()), "missed on time"
        return
    most = np.minimum(batch, 1) if spec.match == "one" else batch
    assert (run.left.met <= most).all(), "more than in batch"
    missed = (most - run.left.met)[~run.left.late]
    assert (missed <= _late_partners(run)[~run.left.late]).all(), "missed on time"


def _late_partners(run: Run) -> Ints:
    """For each left row's partners, those that came late."""
    return partners(run.left.log, run.right.log.some(run.right.late), run.spec)


def bounded(drawn: Schedule, run: Run) -> None:
    """With pacing, right holds window and slack, left what is newer than its time, both what a step brings.
    Until both times are known, either holds what it takes to know them."""
    if drawn.pace.pacing is None:
        return
    window_us = run.spec.before_us + run.spec.after_us + drawn.pace.pacing.slack_us
    for name, side, span_us in (("left", run.left, 0), ("right", run.right, window_us)):
        most = side.untimed_rows + most_in(side, span_us + side.lead_us)
        assert run.column("held_rows", name).max() <= most, f"too much is held of {name}"


def most_in(side: SideRun, span_us: int) -> int:
    """The most rows of any span of event time."""
    line = np.sort(side.log.time)
    return int((np.searchsorted(line, line + span_us, side="right") - np.arange(len(line))).max(initial=0))


@pytest.mark.parametrize("chunk", some(range(4), 2))
def test_a_restart_changes_nothing(chunk: int) -> None:
    def laws(seed: int) -> None:
        drawn = schedule(seed)
        first_us = max(log.written_us[0] if len(log) else 2**62 for log in (drawn.left, drawn.right))
        if drawn.pace.pacing and first_us > drawn.pace.pacing.idle_timeout_us:
            return  # how long a stream that has not begun was silent is counted from the start
        restarted, plain = drawn.run(restarts=0.3).steps, drawn.run(restarts=0).steps
        assert [offset.to_json() for offset in restarted] == [offset.to_json() for offset in plain]

    hold(seeds(chunk, 0.2), laws)


@pytest.mark.parametrize("chunk", some(range(4), 2))
def test_step_by_step_as_the_oracle(chunk: int) -> None:
    def laws(seed: int) -> None:
        drawn = schedule(seed, seconds=300, rows=40)
        run = drawn.run()
        spec = run.spec
        expected = streaming_join(
            list(oracle_steps(run)), spec.before_us, spec.after_us, spec.how, spec.match, spec.pick
        )
        assert sum(left is not None and right is not None for rows in expected for left, right in rows) == (
            run.pairs
        )
        alone = in_order(row for rows in expected for row in rows if None in row)
        assert alone == in_order(
            [(int(n), None) for n in np.flatnonzero(run.left.alone_at_us != NEVER)]
            + [(None, int(n)) for n in np.flatnonzero(run.right.alone_at_us != NEVER)]
        )

    hold(seeds(chunk, 0.5), laws)


def oracle_steps(run: Run) -> Iterable[tuple[object, object, tuple[float, float]]]:
    start = JoinOffset()
    for end in run.steps:
        rows = [
            [(int(log.key[n]), int(log.time[n]), int(n)) for n in log.arrivals(a, b).row]
            for log, a, b in ((run.left.log, start.left, end.left), (run.right.log, start.right, end.right))
        ]
        yield rows[0], rows[1], (_oracle_time(end.left_time), _oracle_time(end.right_time))
        start = end


def _oracle_time(time_us: int) -> float:
    return {NEVER: NOT_YET, 2**63 - 1: FOREVER}.get(time_us, time_us)


def test_the_schedules_try_it_all() -> None:
    """Waiting, lateness, larger windows of the estimate."""
    runs = [schedule(seed).run() for seed in range(40)]
    assert any((run.column("waiting", "right") > 0).any() for run in runs)
    assert any((run.column("waiting", "left") > 0).any() for run in runs)
    assert any(run.left.late.any() for run in runs)
    assert any(run.column("window", "left").max() >= 4 for run in runs)
