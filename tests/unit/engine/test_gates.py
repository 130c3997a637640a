"""A join waits at its gate, passes when it opens, and is turned away with the error that shut it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail.engine.gates import Gates, look_at, rests_at, wait_at
from dovetail.errors import CorruptFile, DovetailError, RunError


@pytest.fixture
def gates() -> Iterator[Gates]:
    made = Gates()
    yield made
    made.remove()


def test_an_open_gate_lets_through_and_stays_open(gates: Gates) -> None:
    gates.open("join")
    wait_at(gates.path("join"))
    gates.shut(["join", "other"])
    look_at(gates.path("join"))
    with pytest.raises(RunError, match="the run has ended"):
        wait_at(gates.path("other"))


def test_an_error_shuts_a_gate_that_was_passed(gates: Gates) -> None:
    gates.open("join")
    gates.remove()  # whatever cleans up temporary files in a long run
    look_at(gates.path("join"))
    gates.fail("join", CorruptFile("bad bytes", where="there", hint="mend them"))
    with pytest.raises(CorruptFile) as caught:
        look_at(gates.path("join"))
    assert (caught.value.where, caught.value.hint) == ("there", "mend them")


def test_a_join_that_is_asked_to_rest_says_that_it_does(gates: Gates) -> None:
    gates.open("join")
    assert not rests_at(gates.path("join"))
    gates.rest("join")
    assert not gates.rests("join"), "the step that it has begun may not be done"
    assert rests_at(gates.path("join"))
    assert gates.rests("join")
    wait_at(gates.path("join"))  # it rests, and is not turned away
    gates.fail("join", RunError("a slicer has failed"))
    with pytest.raises(RunError, match="a slicer has failed"):
        rests_at(gates.path("join"))


def test_gates_of_a_run_that_has_ended_bind_nobody(gates: Gates) -> None:
    gates.rest("join")
    gates.remove()
    assert not rests_at(gates.path("join"))


def test_no_gate_no_wait() -> None:
    wait_at(None)
    look_at(None)
    assert not rests_at(None)


def test_every_kind_of_error_is_read_back_as_itself() -> None:
    for kind in (DovetailError, *DovetailError.__subclasses__()):
        back = DovetailError.from_json(kind("what", where="where", expected="that").to_json())
        assert type(back).condition == kind.condition
        assert (back.what, back.where, back.expected, back.hint) == ("what", "where", "that", None)
