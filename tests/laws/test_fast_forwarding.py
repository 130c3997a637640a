"""Low-latency handshake join: wherever rows cross each other, in every schedule each pair meets once."""

import pytest

from dovetail.sliding.kernels import fast_forward
from dovetail.sliding.kernels.subwindow import BEGIN, END
from dovetail.sliding.low_latency_handshake import LowLatencyHandshake
from laws.all_schedules import SmallChain, explore


class Chain(SmallChain):
    turns = 2  # from the left first, or from the right

    def __init__(self, *case):
        super().__init__(LowLatencyHandshake, lambda join: join.ends, *case)

    def windows(self, core):
        return core.r, core.s, core.flight

    def mind(self, core):
        return core.state[[fast_forward.SENT_ON, fast_forward.PASSED]].tolist()

    def step(self, core, turn):
        core.core.state[fast_forward.TURN] = turn
        return core.step(1)


CASES = [
    ("lrlr", ("rows", 9), ("rows", 9), 2, 1),
    ("rrll", ("rows", 9), ("rows", 1), 2, 2),
    ("lrlrlr", ("rows", 9), ("rows", 9), 2, 2),
    ("lrlrl", ("time", 1), ("time", 2), 2, 1),
    ("rlrlrl", ("rows", 9), ("time", 9), 3, 1),
    ("llrrr", ("rows", 9), ("rows", 9), 3, 2),
    ("rlrl", ("rows", 0), ("rows", 1), 3, 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_pair_meets_once_in_every_schedule(case):
    states, wrong = explore(Chain(*case))
    assert not wrong
    assert states > 50, "the schedules were not explored"


def test_without_copies_of_rows_in_flight_a_pair_is_missed(monkeypatch):
    chain = Chain(*CASES[0])
    step = type(chain.join.cores[0]).step

    def forgetful(core, budget):
        marks = core.core.flight.window.marks
        marks[BEGIN] = marks[END]
        did = step(core, budget)
        marks[BEGIN] = min(marks[BEGIN], marks[END])
        return did

    monkeypatch.setattr(type(chain.join.cores[0]), "step", forgetful)
    _, wrong = explore(chain)
    assert "ends with" in wrong[0]


def test_without_the_number_that_s_rows_carry_a_pair_is_met_twice():
    chain = Chain(*CASES[0])
    step = chain.step

    def ignorant(core, turn):
        did = step(core, turn)
        chain.join.to_left.slots[:, :, chain.tail] = 2**40
        return did

    chain.step = ignorant
    _, wrong = explore(chain)
    assert "after" in wrong[0]
