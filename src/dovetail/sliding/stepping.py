"""A core with a kernel of its own: it is stepped or run, and where the kernel needs more room it gets that
and goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dovetail.sliding.kernels.channel import SENT, TAKEN, Bank, Channel
from dovetail.sliding.kernels.join_core import NEEDS_ROOM, WORKED
from dovetail.sliding.kernels.patience import FOR_LONG

FIRST_FOUND = 4096
_GO_ON = np.zeros(1, np.int64)


class SteppedCore(ABC):
    """A kernel takes a budget and a word that stops it, and says what it needs by a number from NEEDS_ROOM
    on."""

    kernel: ClassVar[Callable[..., int]]

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]: ...

    @abstractmethod
    def _grow(self, what: int) -> None: ...

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether it has something under way that lies in no channel."""

    def step(self, budget: int) -> bool:
        while True:
            came_to = type(self).kernel(*self._arguments(), budget, _GO_ON)
            if came_to < NEEDS_ROOM:
                return bool(came_to == WORKED)
            self._grow(came_to)

    def run(self, stop: npt.NDArray[np.int64]) -> None:
        came_to = type(self).kernel(*self._arguments(), FOR_LONG, stop)
        if came_to >= NEEDS_ROOM:
            self._grow(came_to)


def quiet(channels: list[Channel | Bank], cores: list[SteppedCore]) -> bool:
    """Whether nothing is under way. Threads may be at work meanwhile: what moved while this was looking has
    been sent somewhere."""
    sent = _sent(channels)
    for of in channels:
        if (of.marks[..., SENT] != of.marks[..., TAKEN]).any():
            return False
    return not any(core.busy for core in cores) and sent == _sent(channels)


def _sent(channels: list[Channel | Bank]) -> int:
    return sum(int(of.marks[..., SENT].sum()) for of in channels)
