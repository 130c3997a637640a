"""Tasks that ask over the network which group they join."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from dovetail.engine.claiming import GREETED_STEPS, Claiming, ClaimServer, claimed, greet
from dovetail.engine.claims import StepClaims
from dovetail.errors import RunError


@pytest.fixture
def server() -> Iterator[ClaimServer]:
    server = ClaimServer("127.0.0.1", "127.0.0.1", StepClaims(0.0))
    yield server
    server.close()


def proved(server: ClaimServer, groups: int) -> Claiming:
    """A step after one in which all tasks have greeted."""
    first = server.begin(groups, settled=False)
    assert not first.proved
    for task in range(groups):
        greet(first, task)
    step = server.begin(groups, settled=True)
    assert step.proved
    return step


def group_of(at: Claiming, task: int, here: set[int]) -> int | None:
    with claimed(at, task, "here", here) as group:
        return group


def test_each_group_is_claimed_by_one_task(server: ClaimServer) -> None:
    step = proved(server, 2)
    assert group_of(step, 3, {1}) == 1
    assert group_of(step, 0, {1}) == 0
    assert group_of(step, 3, {0}) == 1
    assert group_of(step, 1, set()) is None


def test_steps_are_not_claimed_before_all_tasks_of_one_have_greeted(server: ClaimServer) -> None:
    first = server.begin(2, settled=False)
    greet(first, 0)
    greet(first, 0)  # a second attempt proves no more
    assert not server.begin(2, settled=True).proved


def test_where_nobody_gets_through_nobody_is_asked_to_for_ever(server: ClaimServer) -> None:
    """Each task waits for an answer that does not come."""
    for _ in range(GREETED_STEPS):
        assert not server.in_vain
        greet(server.begin(2, settled=True), 0)
    assert server.in_vain


def test_steps_that_are_claimed_are_never_in_vain(server: ClaimServer) -> None:
    for _ in range(GREETED_STEPS + 1):
        step = server.begin(1, settled=True)
        greet(step, 0)
    assert not server.in_vain


def test_who_does_not_know_the_secret_gets_no_answer(server: ClaimServer) -> None:
    step = proved(server, 1)
    with pytest.raises(RunError, match="cannot ask the driver"):
        group_of(step._replace(secret="guessed"), 0, {0})
    with socket.create_connection(step.address) as line:
        line.sendall(json.dumps(["what", "is", "this"]).encode() + b"\n")
        assert line.recv(1) == b""
    assert group_of(step, 0, {0}) == 0


def test_a_task_of_a_run_that_is_over_says_why_it_fails(server: ClaimServer) -> None:
    step = proved(server, 1)
    server.close()
    with pytest.raises(RunError, match="which bucket group is its own"):
        group_of(step, 0, {0})
    greet(step, 0)  # nothing depends on a greeting
