"""All schedules of small handshake joins: cores, driver and streams take turns in every possible order, one
deed at a time.

A state is what lies in channels and windows and which pairs are out; states that were seen are not followed
again. Wherever a schedule ends, each pair must have met exactly once, and it must end with an empty chain.
"""

from typing import NamedTuple

import numpy as np
import pytest

import sliding_oracle as oracle
from dovetail.joins.sliding.driver import Driver
from dovetail.joins.sliding.encoding import Encoding
from dovetail.joins.sliding.expression import parsed
from dovetail.joins.sliding.handshake import Handshake
from dovetail.joins.sliding.topology import Job
from dovetail.kernels.sliding import ends, handshake
from dovetail.kernels.sliding.channel import SENT, TAKEN
from dovetail.kernels.sliding.layout import KIND, PAIR_R, PAIR_S, ROW
from dovetail.kernels.sliding.subwindow import BEGIN, END
from dovetail.model.sliding import Window


class Case(NamedTuple):
    arrivals: str  # l and r, in the order in which rows come
    left: tuple[str, int]
    right: tuple[str, int]
    cores: int
    room: int  # of a channel
    at_will: bool = False  # rows are sent on at any time, whoever has more of them

    def window(self, side):
        kind, size = getattr(self, side)
        return Window(**{kind: size})


class Chain:
    """A join in which every row matches every other, with all of its memory at hand."""

    def __init__(self, case):
        self.case = case
        column = {"x": np.dtype(np.int32)}
        encoding = Encoding(parsed("left.x == right.x"), column, column, "scan")
        job = Job(
            encoding,
            case.window("left"),
            case.window("right"),
            cores=case.cores,
            inbox_rows=case.room,
            outbox_pairs=16,
        )
        self.join = Handshake(job, first_capacity=4)
        rights = np.array([side == "r" for side in case.arrivals])
        self.messages = np.zeros((len(rights), encoding.layout.words), np.int64)
        for side, which in (("left", ~rights), ("right", rights)):
            self.messages[which] = encoding.messages(
                side, {"x": np.ones(which.sum(), np.int32)}, None, which.sum()
            )
        Driver(job, wants_first=True).number(self.messages, np.arange(len(rights)))
        self.offered = 0
        self.banks = [self.join._to_right, self.join._to_left]
        self.cores = [core.core for core in self.join.cores]
        self.ends = self.join.ends.ends
        self.memory = [array for bank in self.banks for array in bank]
        self.memory += [self.join._sizes, self.join._gone, self.ends.state, self.ends.blocks]
        for core in self.cores:
            self.memory += [core.state]
            for kept in (core.r, core.s):
                self.memory += [kept.window.keys, kept.window.rows, kept.window.times, kept.window.marks]
                self.memory += [kept.messages]

    def saved(self):
        return self.offered, [array.copy() for array in self.memory]

    def restore(self, saved):
        self.offered = saved[0]
        for array, before in zip(self.memory, saved[1], strict=True):
            array[...] = before

    def key(self):
        """All that decides what can happen next."""
        parts = [
            self.offered,
            *self.ends.state.tolist(),
            *self.join._gone.tolist(),
            *self.join._sizes.tolist(),
        ]
        for bank in self.banks:
            for slots, marks in zip(bank.slots, bank.marks, strict=True):
                sent, taken = int(marks[SENT]), int(marks[TAKEN])
                parts += [sent, taken]
                for n in range(taken, sent):
                    parts += slots[n % len(slots), [KIND, ROW]].tolist()
        for core in self.cores:
            state = core.state
            parts.append(int(state[handshake.FORWARDED]))
            parts += state[handshake.OLDEST_ROW : handshake.OLDEST_TIME + 2].tolist()
            parts += [int(kept.window.marks[mark]) for kept in (core.r, core.s) for mark in (BEGIN, END)]
        return tuple(parts)

    def moves(self):
        """Each as a function that says whether it did anything."""
        yield self._offer
        yield lambda: self.join.ends.step(1)
        for core in self.join.cores:
            for deed in range(handshake.DEEDS):
                yield lambda core=core, deed=deed: self._act(core, deed)

    def _act(self, core, deed):
        if self.case.at_will:
            self.join._sizes[:] = 0
        core.core.state[handshake.TURN] = deed
        did = core.step(1)  # this deed, or the next that can be done
        if self.case.at_will:
            self.join._sizes[:] = 0
        return did

    def _offer(self):
        if self.offered < len(self.messages):
            if self.ends.state[ends.STAGE] != ends.GATHERING:
                return False
            self.offered += self.join.offer(self.messages[: self.offered + 1], self.offered)
            return True
        if self.join.ends.ended or self.join.ends.pending:
            return False
        self.join.finish()
        return True

    def pairs_out(self):
        """Pairs since the last look; it empties the outboxes."""
        out = self.join._results
        pairs = []
        for slots, marks in zip(out.slots, out.marks, strict=True):
            for n in range(marks[TAKEN], marks[SENT]):
                pairs.append(tuple(slots[n % len(slots), [PAIR_R, PAIR_S]].tolist()))
            marks[:] = 0
        return pairs


def explore(chain):
    """Every schedule; how many states there are, and what went wrong in any: none if all is well."""
    case = chain.case
    arrivals = [
        oracle.Arrival({"l": "left", "r": "right"}[side], n, {}) for n, side in enumerate(case.arrivals)
    ]
    expected = frozenset(oracle.pairs(arrivals, case.left, case.right, lambda left, right: True))
    wrong, seen = [], set()
    open_states = [(chain.saved(), frozenset())]
    while open_states and not wrong:
        saved, met = open_states.pop()
        stuck = True
        for move in list(chain.moves()):
            chain.restore(saved)
            if not move():
                continue
            stuck = False
            new = chain.pairs_out()
            if len(set(new)) < len(new) or met & set(new) or not expected.issuperset(new):
                wrong.append(f"{new} after {sorted(met)}")
                break
            key = (chain.key(), met | set(new))
            if key not in seen:
                seen.add(key)
                open_states.append((chain.saved(), key[1]))
        if stuck:
            chain.restore(saved)
            if met != expected or not chain.join.settled():
                wrong.append(f"ends with {sorted(met)} of {sorted(expected)}")
    return len(seen), wrong


CASES = [
    Case("lrlr", ("rows", 9), ("rows", 9), cores=2, room=1),
    Case("rrll", ("rows", 9), ("rows", 9), cores=2, room=2),
    Case("lrrlr", ("rows", 1), ("rows", 2), cores=2, room=1),
    Case("lrlrl", ("time", 1), ("time", 2), cores=2, room=2),
    Case("llrr", ("rows", 0), ("rows", 1), cores=2, room=2),
    Case("rlrl", ("rows", 1), ("time", 9), cores=3, room=1),
    Case("lrlr", ("rows", 1), ("rows", 9), cores=2, room=1, at_will=True),
    Case("lrlrlr", ("rows", 2), ("rows", 2), cores=1, room=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_pair_meets_once_in_every_schedule(case):
    states, wrong = explore(Chain(case))
    assert not wrong
    assert states > 50, "the schedules were not explored"


def test_without_copies_of_what_is_under_way_the_checker_finds_a_missed_pair(monkeypatch):
    chain = Chain(CASES[0])

    step = type(chain.join.cores[0]).step

    def hasty(core, budget):
        did = step(core, budget)
        core.core.s.window.marks[BEGIN] = core.core.state[handshake.FORWARDED]
        return did

    monkeypatch.setattr(type(chain.join.cores[0]), "step", hasty)
    _, wrong = explore(chain)
    assert "ends with" in wrong[0]
