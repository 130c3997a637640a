"""All schedules of a small chain of cores: driver and cores take turns in every possible order.

A state is what lies in channels and windows and which pairs are out; states that were seen are not followed
again.
"""

import numpy as np

import sliding_oracle as oracle
from dovetail.model.sliding import Window
from dovetail.sliding.driver import Driver
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.kernels import ends
from dovetail.sliding.kernels.channel import SENT, TAKEN
from dovetail.sliding.kernels.layout import KIND, PAIR_R, PAIR_S, ROW
from dovetail.sliding.kernels.subwindow import BEGIN, END
from dovetail.sliding.topology import SlidingJob


class SmallChain:
    """A join in which every row matches every other, with all of its memory at hand. `sides` are l and r, in
    the order in which rows come; `room` is that of a channel."""

    def __init__(self, make, driver, sides, left, right, cores, room):
        column = {"x": np.dtype(np.int32)}
        encoding = Encoding(parsed("left.x == right.x"), column, column, "scan")
        windows = (Window(**{kind: size}) for kind, size in (left, right))
        job = SlidingJob(encoding, *windows, cores=cores, inbox_rows=room, outbox_pairs=16)
        self.join = make(job)
        self.driver = driver(self.join)
        rights = np.array([side == "r" for side in sides])
        self.messages = np.zeros((len(rights), encoding.layout.words), np.int64)
        for side, which in (("left", ~rights), ("right", rights)):
            ones = {"x": np.ones(which.sum(), np.int32)}
            self.messages[which] = encoding.messages(side, ones, None, which.sum())
        Driver(job, wants_first=True).number(self.messages, np.arange(len(rights)))
        names = {"l": "left", "r": "right"}
        arrivals = [oracle.Arrival(names[side], n, {}) for n, side in enumerate(sides)]
        self.expected = frozenset(oracle.pairs(arrivals, left, right, lambda *_: True))
        self.offered, self.tail = 0, encoding.layout.words
        self.banks = [self.join.to_right, self.join.to_left]
        self.memory = [array for bank in self.banks for array in bank]
        self.memory += [self.driver.ends.state, self.driver.ends.blocks]
        for core in self.cores:
            self.memory.append(core.state)
            for kept in self.windows(core):
                places = slice(0, len(sides))  # no more of a window are ever used
                window = kept.window
                self.memory += [window.keys[:, places], window.rows[places], window.times[places]]
                self.memory += [window.marks, kept.messages[places]]

    @property
    def cores(self):
        return [part.core for part in self.join.cores]

    def windows(self, core):
        return core.r, core.s

    def saved(self):
        return self.offered, [array.copy() for array in self.memory]

    def restore(self, saved):
        self.offered = saved[0]
        for array, before in zip(self.memory, saved[1], strict=True):
            array[...] = before

    def key(self):
        """All that decides what can happen next, but for what a core has in mind: see `mind`."""
        parts = [self.offered, *self.driver.ends.state.tolist()]
        for bank in self.banks:
            for slots, marks in zip(bank.slots, bank.marks, strict=True):
                parts += [int(marks[SENT]), int(marks[TAKEN])]
                for n in range(marks[TAKEN], marks[SENT]):
                    parts += slots[n % len(slots), [KIND, ROW, self.tail]].tolist()
        for core in self.cores:
            parts += self.mind(core)
            for kept in self.windows(core):
                parts += kept.window.marks[[BEGIN, END]].tolist()
        return tuple(parts)

    def moves(self):
        """Each as a function that says whether it did anything."""
        yield self._offer
        yield lambda: self.driver.step(1)
        for core in self.join.cores:
            for turn in range(self.turns):
                yield lambda core=core, turn=turn: self.step(core, turn)

    def _offer(self):
        if self.driver.ends.state[ends.STAGE] != ends.GATHERING:
            return False
        if self.offered < len(self.messages):
            self.offered += self.join.offer(self.messages[: self.offered + 1], self.offered)
            return True
        return self.finish()

    def finish(self):
        return False

    def pairs_out(self):
        """Pairs since the last look; it empties the outboxes."""
        pairs, out = [], self.join.results
        for slots, marks in zip(out.slots, out.marks, strict=True):
            for n in range(marks[TAKEN], marks[SENT]):
                pairs.append(tuple(slots[n % len(slots), [PAIR_R, PAIR_S]].tolist()))
            marks[:] = 0
        return pairs


def explore(chain):
    """Every schedule; how many states there are, and what went wrong in any: none if all is well. Wherever a
    schedule ends, each pair must have met exactly once, and nothing may be left under way."""
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
