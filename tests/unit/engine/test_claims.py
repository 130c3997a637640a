"""Law: each group of a step is joined by one of its tasks, whoever asks when; and it stays where its index is
while a task runs there."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.engine.claims import KEPT_STEPS, StepClaims, UnknownStep

NEVER_S = 1e6
"""Longer than any test: who waits so long is woken by somebody else."""


def settled(groups: int, patience_s: float) -> tuple[StepClaims, int]:
    claims = StepClaims(patience_s)
    return claims, claims.begin(groups, settled=True)


def test_a_task_takes_the_group_that_is_at_home_where_it_runs() -> None:
    claims, step = settled(2, NEVER_S)
    assert claims.take(step, 0, "B", {1}) == 1
    assert claims.take(step, 2, "A", {0}) == 0
    assert claims.take(step, 1, "B", {1}) is None, "nothing is left"
    assert claims.take(step, 3, "A", ()) is None


def test_a_task_waits_for_one_that_runs_where_the_group_is() -> None:
    claims, step = settled(2, NEVER_S)
    with ThreadPoolExecutor(1) as threads:
        assert claims.take(step, 0, "B", {1}) == 1
        waiting = threads.submit(claims.take, step, 1, "B", {1})
        assert claims.take(step, 2, "A", {0}) == 0
        assert waiting.result() is None


def test_nobody_waits_for_ever_for_a_host_that_is_lost() -> None:
    claims, step = settled(3, 0.0)
    assert claims.take(step, 0, "B", {1}) == 1
    assert claims.take(step, 1, "B", ()) == 0
    assert claims.take(step, 2, "B", ()) == 2


def test_a_task_that_is_asked_for_again_has_its_group_wherever_it_runs() -> None:
    claims, step = settled(2, NEVER_S)
    assert claims.take(step, 0, "A", {0}) == 0
    assert claims.take(step, 0, "B", {1}) == 0, "A was lost: its rows are those of the same group"
    assert claims.take(step, 1, "B", {1}) == 1
    assert claims.take(step, 3, "B", ()) is None
    assert claims.take(step, 3, "A", {0}) is None


def test_groups_without_an_index_are_begun_on_all_hosts() -> None:
    claims = StepClaims(NEVER_S)
    step = claims.begin(3, settled=False)
    for place in ("A", "A", "B"):  # A has two cores
        claims.started(place)
    assert claims.take(step, 4, "A", ()) == 0
    claims.ended("A")
    claims.started("A")
    assert claims.take(step, 1, "A", ()) == 1
    claims.ended("A")
    claims.started("A")
    with ThreadPoolExecutor(1) as threads:
        third = threads.submit(claims.take, step, 0, "A", ())  # A would get all of them
        assert claims.take(step, 2, "B", ()) == 2
        assert third.result() is None


def test_steps_are_claimed_apart_and_forgotten() -> None:
    claims, first = settled(1, NEVER_S)
    second = claims.begin(1, settled=True)
    assert [claims.take(step, 0, "A", {0}) for step in (first, second)] == [0, 0]
    for _ in range(KEPT_STEPS):
        claims.begin(1, settled=True)
    with pytest.raises(UnknownStep):
        claims.take(second, 0, "A", {0})


ASKS = st.tuples(st.integers(0, 7), st.sampled_from("ABC"), st.sets(st.integers(0, 3)))


@given(st.integers(1, 4), st.booleans(), st.lists(ASKS, max_size=40), st.randoms())
def test_whoever_asks_when_each_group_is_taken_once(groups, is_settled, asks, random) -> None:
    claims = StepClaims(0.0)
    step = claims.begin(groups, settled=is_settled)
    rest = [(task, "A", set()) for task in range(2 * groups)]
    random.shuffle(rest)
    answered: dict[int, set[int | None]] = {}
    for task, place, here in [ask for ask in asks if ask[0] < 2 * groups] + rest:
        answered.setdefault(task, set()).add(claims.take(step, task, place, here))
    assert all(len(answers) == 1 for answers in answered.values()), "always the same"
    taken = [group for answers in answered.values() for group in answers if group is not None]
    assert sorted(taken) == list(range(groups))


def test_copies_that_ask_at_the_same_time_get_the_same_group() -> None:
    groups, copies = 4, 3
    claims, step = settled(groups, 0.0)
    together = threading.Barrier(2 * groups * copies)

    def ask(task: int, copy: int) -> tuple[int, int | None]:
        together.wait()
        return task, claims.take(step, task, f"host {copy}", {(task + copy) % groups})

    asked = [(task, copy) for task in range(2 * groups) for copy in range(copies)]
    with ThreadPoolExecutor(len(asked)) as threads:
        answers = set(threads.map(ask, *zip(*asked, strict=True)))
    assert len(answers) == 2 * groups
    assert sorted(group for _, group in answers if group is not None) == list(range(groups))
