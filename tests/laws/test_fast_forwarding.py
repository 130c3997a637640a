"""All schedules of small low-latency handshake joins: whatever rows cross each other where, each pair meets once.

As in `test_two_phase_forwarding.py`, states that were seen are not followed again; a move is one message of one
core from one side, or one row into the chain.
"""

import numpy as np
import pytest

import sliding_oracle as oracle
from dovetail.joins.sliding.driver import Driver
from dovetail.joins.sliding.encoding import Encoding
from dovetail.joins.sliding.expression import parsed
from dovetail.joins.sliding.low_latency_handshake import LowLatencyHandshake
from dovetail.joins.sliding.topology import Job
from dovetail.kernels.sliding import ends, fast_forward
from dovetail.kernels.sliding.channel import SENT, TAKEN
from dovetail.kernels.sliding.layout import KIND, PAIR_R, PAIR_S, ROW
from dovetail.kernels.sliding.subwindow import BEGIN, END
from dovetail.model.sliding import Window


class Chain:
    """A join in which every row matches every other, with all of its memory at hand."""

    def __init__(self, sides, left, right, cores, room):
        column = {"x": np.dtype(np.int32)}
        encoding = Encoding(parsed("left.x == right.x"), column, column, "scan")
        windows = (Window(**{kind: size}) for kind, size in (left, right))
        job = Job(encoding, *windows, cores=cores, inbox_rows=room, outbox_pairs=16)
        self.join = LowLatencyHandshake(job)
        rights = np.array([side == "r" for side in sides])
        self.messages = np.zeros((len(rights), encoding.layout.words), np.int64)
        for side, which in (("left", ~rights), ("right", rights)):
            ones = {"x": np.ones(which.sum(), np.int32)}
            self.messages[which] = encoding.messages(side, ones, None, which.sum())
        Driver(job, wants_first=True).number(self.messages, np.arange(len(rights)))
        arrivals = [oracle.Arrival({"l": "left", "r": "right"}[side], n, {}) for n, side in enumerate(sides)]
        self.expected = frozenset(oracle.pairs(arrivals, left, right, lambda *_: True))
        self.offered, self.words = 0, encoding.layout.words
        self.banks = [self.join._to_right, self.join._to_left]
        self.ends = self.join._ends.ends
        self.memory = [array for bank in self.banks for array in bank]
        self.memory += [self.ends.state, self.ends.blocks]
        few = len(sides)  # rows: no more than these places of a window are ever used
        for core in self.join.cores:
            self.memory.append(core.core.state)
            for kept in (core.core.r, core.core.s, core.core.flight):
                window = kept.window
                self.memory += [window.keys[:, :few], window.rows[:few], window.times[:few], window.marks]
                self.memory.append(kept.messages[:few])

    def saved(self):
        return self.offered, [array.copy() for array in self.memory]

    def restore(self, saved):
        self.offered = saved[0]
        for array, before in zip(self.memory, saved[1], strict=True):
            array[...] = before

    def key(self):
        """All that decides what can happen next."""
        parts = [self.offered, *self.ends.state.tolist()]
        for bank in self.banks:
            for slots, marks in zip(bank.slots, bank.marks, strict=True):
                parts += [int(marks[SENT]), int(marks[TAKEN])]
                for n in range(marks[TAKEN], marks[SENT]):
                    parts += slots[n % len(slots), [KIND, ROW, self.words]].tolist()
        for core in (part.core for part in self.join.cores):
            parts += core.state[[fast_forward.SENT_ON, fast_forward.PASSED]].tolist()
            for kept in (core.r, core.s, core.flight):
                parts += kept.window.marks[[BEGIN, END]].tolist()
        return tuple(parts)

    def moves(self):
        """Each as a function that says whether it did anything."""
        yield self._offer
        yield lambda: self.join._ends.step(1)
        for core in self.join.cores:
            for side in range(2):
                yield lambda core=core, side=side: self._step(core, side)

    def _offer(self):
        if self.offered == len(self.messages) or self.ends.state[ends.STAGE] != ends.GATHERING:
            return False
        self.offered += self.join.offer(self.messages[: self.offered + 1], self.offered)
        return True

    def _step(self, core, side):
        core.core.state[fast_forward.TURN] = side
        return core.step(1)

    def pairs_out(self):
        """Pairs since the last look; it empties the outboxes."""
        pairs, out = [], self.join._results
        for slots, marks in zip(out.slots, out.marks, strict=True):
            pairs += [
                tuple(slots[n % len(slots), [PAIR_R, PAIR_S]].tolist())
                for n in range(marks[TAKEN], marks[SENT])
            ]
            marks[:] = 0
        return pairs


def explore(chain):
    """Every schedule; how many states there are, and what went wrong in any: none if all is well."""
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
            if len(set(new)) < len(new) or met & set(new) or not chain.expected.issuperset(new):
                wrong.append(f"{new} after {sorted(met)}")
                break
            key = (chain.key(), met | set(new))
            if key not in seen:
                seen.add(key)
                open_states.append((chain.saved(), key[1]))
        if stuck:
            chain.restore(saved)
            if met != chain.expected or not chain.join.settled():
                wrong.append(f"ends with {sorted(met)} of {sorted(chain.expected)}")
    return len(seen), wrong


CASES = [
    ("lrlr", ("rows", 9), ("rows", 9), 2, 1),
    ("rrll", ("rows", 9), ("rows", 1), 2, 2),
    ("lrlrl", ("time", 1), ("time", 2), 2, 1),
    ("rlrl", ("rows", 1), ("time", 9), 3, 1),
    ("lrr", ("rows", 9), ("rows", 9), 3, 2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_pair_meets_once_in_every_schedule(case):
    states, wrong = explore(Chain(*case))
    assert not wrong
    assert states > 50, "the schedules were not explored"


def test_without_copies_of_rows_in_flight_the_checker_finds_a_missed_pair(monkeypatch):
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
