"""The driver of a chain of cores as a part that can be stepped: see `sliding/kernels/ends.py`."""

from __future__ import annotations

from dovetail.sliding.kernels import ends as kernels
from dovetail.sliding.kernels.channel import Channel
from dovetail.sliding.kernels.layout import R, S
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.topology import Messages

SIDES = (R, S)


class ChainEnds:
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
