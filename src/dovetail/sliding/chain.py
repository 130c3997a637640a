"""Cores in a chain between the driver's two ends: R goes to the right, S to the left. What both handshake
joins are made of.

      driver ──►  core 0  ──►  core 1  ──►  ...   R
         ...  ◄──  core 0  ◄──  core 1  ◄── driver   S
                     │            │
                     └── results ─┴──►  collector
"""

from __future__ import annotations

from dovetail.sliding.kernels import ends as kernels
from dovetail.sliding.kernels.channel import Channel, bank, of_bank
from dovetail.sliding.kernels.layout import PAIR_WORDS, R, S
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.merger import Merger
from dovetail.sliding.release import Stage, taken_from, when
from dovetail.sliding.stepping import quiet
from dovetail.sliding.topology import Messages, SlidingJob, Topology

SIDES = (R, S)


class ChainEnds:
    """The driver of a chain as a part that can be stepped: see `sliding/kernels/ends.py`."""

    def __init__(self, rules: Rules, left: Channel, right: Channel) -> None:
        self.left, self.right, self._rules = left, right, rules
        self.ends = kernels.ends(rules.layout.words, rules.block_rows)

    def offer(self, messages: Messages, first: int) -> int:
        return int(kernels.feed(self.ends, messages, first, self.left, self.right, self._rules))

    def step(self, budget: int) -> bool:
        before = self.ends.state[kernels.STAGE]
        kernels.push(self.ends, self.left, self.right, self._rules)
        return bool(self.ends.state[kernels.STAGE] != before)

    def end(self) -> bool:
        """Let everything expire; whether that is said at both ends. Called again until it is."""
        state = self.ends.state
        if not state[kernels.ENDED] and not self.pending:
            kernels.end(self.ends, self._rules)
        self.step(1)
        return bool(state[kernels.ENDED]) and not self.pending

    @property
    def pending(self) -> bool:
        """Whether something is due that had no room yet."""
        return bool(self.ends.state[kernels.STAGE] != kernels.GATHERING)

    @property
    def ended(self) -> bool:
        return bool(self.ends.state[kernels.ENDED])

    def entered(self, side: int) -> int:
        return int(self.ends.state[kernels.ENTERED + side])

    def next_row(self, side: int) -> int:
        return int(self.ends.state[kernels.NEXT_ROW + side])


class Chain(Topology):
    wants_first = True

    def __init__(self, job: SlidingJob, rules: Rules) -> None:
        super().__init__(job)
        cores, width = job.cores, rules.block_rows * rules.layout.words + 1
        room = max(1, job.inbox_rows // rules.block_rows)
        # One channel more than there are cores: the first of those to the right, and the last of those to the
        # left, are the driver's.
        self.to_right, self.to_left = (bank(cores + 1, room, width) for _ in SIDES)
        self.results = bank(cores, job.outbox_pairs, PAIR_WORDS)
        self.ends = ChainEnds(rules, of_bank(self.to_right, 0), of_bank(self.to_left, cores))
        self.network = [self.ends, Merger(self.results, self._outlet)]

    def links_of(self, number: int) -> tuple[Channel, Channel, Channel, Channel, Channel]:
        """For a core: from the left and to the left, from the right and to the right, and for results."""
        return (
            of_bank(self.to_right, number),
            of_bank(self.to_left, number),
            of_bank(self.to_left, number + 1),
            of_bank(self.to_right, number + 1),
            of_bank(self.results, number),
        )

    def offer(self, messages: Messages, first: int) -> int:
        return self.ends.offer(messages, first)

    def settled(self) -> bool:
        if self.ends.pending:
            return False
        return quiet([self.to_right, self.to_left, self.results], [*self.cores])

    def flow(self) -> list[Stage]:
        """Each core sends a row on before it takes it, and notes the pairs before it takes the next."""
        cores = range(self.to_right.slots.shape[0])
        return [
            when(lambda: not self.ends.pending),
            *(taken_from(of_bank(self.to_right, core)) for core in cores),
            *(taken_from(of_bank(self.to_left, core)) for core in reversed(cores)),
            *self._idle_once(),
            *self._way_out(),
        ]

    def _idle_once(self) -> list[Stage]:
        """For a row that a core has taken, some pairs may still be in the core's own hands."""
        return [when(lambda core=core: not core.busy) for core in self.cores]  # type: ignore[misc]

    def _way_out(self) -> list[Stage]:
        return [taken_from(self.results), taken_from(self._outlet)]
