"""Results of several channels into one, in turn: the linear collector of the handshake papers, and the
combiner of SplitJoin. Results of one channel keep their order; between channels there is none."""

from __future__ import annotations

import numpy as np

from dovetail.sliding.kernels import network as kernels
from dovetail.sliding.kernels.channel import Bank, Channel


class Collector:
    def __init__(self, inputs: Bank, out: Channel) -> None:
        self.inputs, self._out = inputs, out
        self._state = np.zeros(kernels.PASSED_AT, np.int64)

    def step(self, budget: int) -> bool:
        return bool(kernels.combine(self.inputs, self._out, self._state, budget))
