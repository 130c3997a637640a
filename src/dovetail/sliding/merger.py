"""Results of several channels into one. Without order it is the collector of both handshake joins
(that of the low-latency one is linear: SplitJoin, 6.1), and the combiner of SplitJoin (5.1): results of one
channel keep their order, between channels there is none."""

from __future__ import annotations

import numpy as np

from dovetail.sliding.kernels import network as kernels
from dovetail.sliding.kernels.channel import Bank, Channel
from dovetail.sliding.kernels.subwindow import Words

NOBODY: Words = np.zeros(0, np.int64)


class Merger:
    """For inputs `first..last`, or all of them. `dead`: of each input, whether it has nothing more to say."""

    def __init__(
        self,
        inputs: Bank,
        out: Channel,
        order: int = kernels.NONE,
        first: int = 0,
        last: int | None = None,
        dead: Words = NOBODY,
    ) -> None:
        last = inputs.slots.shape[0] if last is None else last
        state = np.full(kernels.PASSED_AT + 2 * (last - first), -1, np.int64)
        state[: kernels.PASSED_AT] = 0
        self._arguments = inputs, first, last, out, order, state, dead

    def step(self, budget: int) -> int:
        return int(kernels.merge(*self._arguments, budget))
