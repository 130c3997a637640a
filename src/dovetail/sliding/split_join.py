"""SplitJoin: every row goes to every core from above; each stores its share and probes what it has stored.

Idea
    Storing and processing are two independent steps. A row is broadcast down a tree; all cores process it
    against their own sub-window of the other stream, and one of them stores it, each knowing by counting
    whether it is the one. No core talks to another.
Paper
    Najafi, Sadoghi, Jacobsen, *SplitJoin*, USENIX ATC 2016. Distribution: 4.3, Algorithm 1; cores: Algorithms
    2 and 3; expiration: 4.4, Algorithm 4; ordering by punctuations: 5, Algorithm 5.
Vocabulary
    left-region, right-region -> the sub-windows `s` and `r` of a core; star -> punctuation; Merger, Combiner
    -> the same.
Differs
    - Both regions of a core run in one thread, in the order of arrival.
    - Row `n` is stored by core `n mod k`: the same round robin, without a counter.
    - A time window also lets go of rows when their own stream goes on, not only when the other one does.
    - A punctuation within a probe names the rows of the window that are done, so that mergers need not start
      at the core with the oldest row, and time windows, whose sub-windows need not be alike, are merged as
      well.
    - Whether a punctuation follows a row is said in the row's message: the driver may change the precision at
      any row, and all cores change together. That is what lets it adapt (`Precision`).
    - A core that fails is taken out of the round robin by a message in the stream itself; its sub-window is
      lost, and the loss is counted.
Law
    With any number of cores it puts out the pairs of Kang's procedure. `outer`: results of a row come before
    those of later rows of its stream; `inner`: and of one row, by the age of the partner.
Cost
    k cores hold 1/k of the windows each and do 1/k of the comparisons; a row costs each core one message.
"""

from __future__ import annotations

import numpy as np

from dovetail.sliding.core_part import JoinCore
from dovetail.sliding.kernels import network as kernels
from dovetail.sliding.kernels.channel import Bank, Channel, bank, close, of_bank, unread
from dovetail.sliding.kernels.join_core import ALIVE, MEMBERS, MOST_CORES, PHASE, RANK, SENDING
from dovetail.sliding.kernels.layout import BLANK, FLAGS, KIND, PAIR_WORDS, ROW, R, S
from dovetail.sliding.merger import Merger
from dovetail.sliding.release import Stage, taken_from
from dovetail.sliding.topology import Messages, SlidingJob, Topology, empty

_ORDERS = {"none": kernels.NONE, "outer": kernels.OUTER, "inner": kernels.INNER}
FAN_OUT = 8  # of a distributor, and inputs of a merger; wider before deeper, as 4.3 has it


class _Distributor:
    def __init__(self, inbox: Channel, children: Bank, first: int, last: int, words: int) -> None:
        self.inbox, self._children, self._span, self._words = inbox, children, (first, last), words

    def step(self, budget: int) -> int:
        return int(kernels.distribute(self.inbox, self._children, *self._span, self._words, budget))


class SplitJoin(Topology):
    def __init__(self, job: SlidingJob, fan_out: int = FAN_OUT) -> None:
        super().__init__(job)
        self._job, self._inlet = job, job.inbox()
        self._words = job.encoding.layout.words
        self._deal_rows = job.deal_rows
        self._dead = np.zeros(job.cores, np.int64)
        self._alive = list(range(job.cores))
        self._fan_in = fan_out
        self._levels: list[tuple[Messages, Messages]] = []
        self._between: list[Bank] = []
        self._tree: list[Bank] = []
        self._ways: list[list[Channel]]  # of each core: the channels from the driver to its inbox
        if job.cores == 1:  # nothing to distribute, nothing to merge
            self._ways = [[self._inlet]]
            self.cores = [JoinCore(job, 0, self._inlet, self._outlet, self._outlet)]
            return
        inboxes = self._distribution(fan_out)
        self._results = [bank(job.cores, job.outbox_pairs, PAIR_WORDS) for _ in (R, S)]
        self.cores = [
            JoinCore(job, number, *(of_bank(bank, number) for bank in (inboxes, *self._results)))
            for number in range(job.cores)
        ]
        self._between += self._results
        self._gathering(fan_out)

    def _distribution(self, fan_out: int) -> Bank:
        """A tree whose leaves are the inboxes; the inlet is the root."""
        job = self._job
        level, sources = 1, [self._inlet]
        self._ways = [[self._inlet]]
        widths = []
        while level < job.cores:
            level = min(level * fan_out, job.cores)
            widths.append(level)
        for width in widths or [1]:
            children = bank(width, job.inbox_rows, self._words)
            bounds = [round(n * width / len(sources)) for n in range(len(sources) + 1)]
            for source, first, last in zip(sources, bounds, bounds[1:], strict=False):
                self.network.append(_Distributor(source, children, first, last, self._words))
            ways = [
                way
                for way, first, last in zip(self._ways, bounds, bounds[1:], strict=False)
                for _ in range(first, last)
            ]
            sources = [of_bank(children, child) for child in range(width)]
            self._ways = [[*way, source] for way, source in zip(ways, sources, strict=True)]
            self._tree.append(children)
        return children

    def _gathering(self, fan_in: int) -> None:
        """For each kind of probe a tree of mergers, then one combiner."""
        job, order = self._job, _ORDERS[self._job.order]
        ends = bank(2, job.outbox_pairs, PAIR_WORDS)
        for side in (R, S):
            inputs, dead = self._results[side], self._dead
            while True:
                width = inputs.slots.shape[0]
                out_width = -(-width // fan_in)
                outs = bank(out_width, job.outbox_pairs, PAIR_WORDS) if out_width > 1 else None
                for number in range(out_width):
                    out = of_bank(ends, side) if outs is None else of_bank(outs, number)
                    first, last = number * fan_in, min((number + 1) * fan_in, width)
                    self.network.append(Merger(inputs, out, order, first, last, dead))
                if outs is None:
                    break
                self._between.append(outs)
                above = np.zeros(out_width, np.int64)
                self._levels.append((dead, above))
                inputs, dead = outs, above
        self._between.append(ends)
        self.network.append(Merger(ends, self._outlet))

    def settled(self) -> bool:
        distributors = [part for part in self.network if isinstance(part, _Distributor)]
        if not all(empty(part.inbox) for part in distributors):
            return False
        if not all(empty(core.links.inbox) for core in self.cores if not self._dead[core.number]):
            return False
        return all(empty(of_bank(of, n)) for of in self._between for n in range(of.slots.shape[0]))

    def flow(self) -> list[Stage]:
        """A core takes a row from its inbox when all its pairs are out."""
        ways: list[Channel | Bank] = [self._inlet, *self._tree, *self._between, self._outlet]
        return [taken_from(of) for of in ways]

    def lose(self, number: int) -> int:
        """Core `number` has failed and its thread has ended: the others go on without it. The rows that are
        lost with it: those it held, and those under way that it was to keep."""
        if number not in self._alive:
            return 0
        self._alive.remove(number)
        lost = int(self.cores[number].rows_held) + self._due(number)
        close(self.cores[number].links.inbox)
        self._dead[number] = 1
        for below, above in self._levels:  # a merger whose inputs are all dead is as good as dead
            for merger in range(len(above)):
                above[merger] = below[merger * self._fan_in : (merger + 1) * self._fan_in].all()
        return lost

    def _due(self, number: int) -> int:
        """The other cores deal these rows by the members they know of, and leave them to this one: the
        message that takes it out comes after them."""
        state = self.cores[number].core.state
        alive, rank, due = int(state[ALIVE]), int(state[RANK]), 0
        under_way = [row for way in reversed(self._ways[number]) for row in unread(way)]
        if under_way and state[PHASE] == SENDING:  # stored already, its pairs not all sent
            del under_way[0]
        for row in under_way:
            if row[KIND] == MEMBERS:
                living = [core for core in range(MOST_CORES) if (int(row[ROW]) >> core) & 1]
                alive, rank = len(living), living.index(number) if number in living else -1
            elif row[KIND] in (R, S) and not row[FLAGS] & BLANK:
                due += int(row[ROW]) // self._deal_rows % alive == rank
        return due

    def members(self) -> Messages | None:
        """The message that tells the cores who is left, to be sent before the next row; None if nobody is."""
        if not self._alive:
            return None
        message = np.zeros((1, self._words), np.int64)
        message[0, KIND], message[0, ROW] = MEMBERS, sum(1 << core for core in self._alive)
        return message
