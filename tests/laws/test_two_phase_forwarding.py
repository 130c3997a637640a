"""Two-phase forwarding in handshake join: in every schedule each pair meets once, and the chain empties at
the end."""

import pytest

from dovetail.sliding.handshake import Handshake
from dovetail.sliding.kernels import handshake
from dovetail.sliding.kernels.subwindow import BEGIN
from laws.all_schedules import SmallChain, explore


class Chain(SmallChain):
    """`at_will`: rows are sent on at any time, not only to neighbours that have fewer."""

    turns = handshake.DEEDS

    def __init__(self, *case, at_will=False):
        super().__init__(lambda job: Handshake(job, first_capacity=4), lambda join: join.ends, *case)
        self.at_will = at_will
        self.memory += [self.join.sizes, self.join.gone]

    def mind(self, core):
        state = core.state
        ends = state[handshake.OLDEST_ROW : handshake.OLDEST_TIME + 2].tolist()
        return [int(state[handshake.FORWARDED]), *ends]

    def key(self):
        return (*super().key(), *self.join.sizes.tolist(), *self.join.gone.tolist())

    def step(self, core, turn):
        core.core.state[handshake.TURN] = turn  # this deed, or the next that can be done
        if self.at_will:
            self.join.sizes[:] = 0
        did = core.step(1)
        if self.at_will:
            self.join.sizes[:] = 0
        return did

    def finish(self):
        if self.driver.ended:
            return False
        self.join.finish()
        return True


CASES = [
    ("lrlr", ("rows", 9), ("rows", 9), 2, 1),
    ("rrll", ("rows", 9), ("rows", 9), 2, 2),
    ("rlrlrl", ("rows", 9), ("rows", 2), 2, 1),
    ("lrrlr", ("rows", 1), ("rows", 2), 2, 1),
    ("lrlrl", ("time", 1), ("time", 2), 2, 2),
    ("llrr", ("rows", 0), ("rows", 1), 2, 2),
    ("rlrl", ("rows", 1), ("time", 9), 3, 1),
    ("lrlrlr", ("rows", 2), ("rows", 2), 1, 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_pair_meets_once_in_every_schedule(case):
    states, wrong = explore(Chain(*case))
    assert not wrong
    assert states > 50, "the schedules were not explored"


@pytest.mark.parametrize("case", CASES[:2], ids=str)
def test_it_does_not_matter_when_rows_are_sent_on(case):
    _, wrong = explore(Chain(*case, at_will=True))
    assert not wrong


def test_without_copies_of_what_is_under_way_a_pair_is_missed(monkeypatch):
    """Figure 7; and the checker finds it."""
    chain = Chain(*CASES[0])
    step = type(chain.join.cores[0]).step

    def hasty(core, budget):
        did = step(core, budget)
        core.core.s.window.marks[BEGIN] = core.core.state[handshake.FORWARDED]
        return did

    monkeypatch.setattr(type(chain.join.cores[0]), "step", hasty)
    _, wrong = explore(chain)
    assert "ends with" in wrong[0]
