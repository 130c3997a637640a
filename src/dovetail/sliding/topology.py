"""Join cores and what connects them. A design says how rows reach the cores and how results leave; everything
else (threads, batches, errors) is the engine's.

Every part of a design is a state machine that does a little work when it is stepped and never waits. The
engine gives each core a thread; tests step the parts in any order they like, so that a seed is a schedule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dovetail.model.sliding import Order, Window
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.kernels import channel as channels
from dovetail.sliding.kernels.channel import Channel
from dovetail.sliding.kernels.ends import ALL_ROWS
from dovetail.sliding.kernels.layout import PAIR_WORDS
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.release import Stage

Messages = npt.NDArray[np.int64]
INBOX_ROWS = 1024
BATCH_ROWS = 16
BASIC_ROWS = 1024
OUTBOX_PAIRS = 4096


@dataclass(frozen=True)
class SlidingJob:
    """What is joined, and with what means."""

    encoding: Encoding
    left: Window
    right: Window
    cores: int = 1
    order: Order = "none"
    group: int = 1  # rows of the window that share a punctuation, with order = "inner"
    timed: bool = False
    deal_rows: int = 1  # of SplitJoin: rows of a stream in a row that one core keeps
    together: bool = True  # rows that wait scan a window four at a time
    batch_rows: int = BATCH_ROWS  # of CellJoin: rows that are dealt out together
    basic_rows: int = BASIC_ROWS  # of CellJoin: rows of the smallest piece that a worker gets
    inbox_rows: int = INBOX_ROWS
    outbox_pairs: int = OUTBOX_PAIRS

    @property
    def rules(self) -> Rules:
        def given(value: int | None) -> int:
            return -1 if value is None else value

        return Rules(
            self.encoding.layout,
            self.encoding.access,
            self.encoding.residual,
            given(self.left.rows),
            given(self.right.rows),
            given(self.left.time),
            given(self.right.time),
            self.group if self.order == "inner" else 0,
            self.timed,
            block_rows=1,
            deal_rows=self.deal_rows,
            together=self.together,
        )

    def inbox(self) -> Channel:
        return channels.channel(self.inbox_rows, self.encoding.layout.words)

    def outbox(self) -> Channel:
        return channels.channel(self.outbox_pairs, PAIR_WORDS)


class SteppedPart(Protocol):
    """Something that can be stepped."""

    def step(self, budget: int) -> int:
        """Do about `budget` units of work at most; how many were done."""


class Topology(ABC):
    """One design at work. Rows come in by its inlet (a chain has two ends instead), and results leave by its
    outlet."""

    wants_first = False  # whether messages must say what the oldest row is that they may meet
    cores: list[Any]  # each has a thread of its own
    network: list[SteppedPart]  # upstream first; pushes and reads step them
    _inlet: Channel

    def __init__(self, job: SlidingJob) -> None:
        self._outlet = job.outbox()
        self.network = []

    def offer(self, messages: Messages, first: int) -> int:
        """Take as many of `messages[first:]` as there is room for; how many."""
        return int(channels.send_rows(self._inlet, messages, first))

    def take_pairs(self, into: Messages) -> int:
        """Fill `into` with results that are out; how many."""
        return int(channels.take_rows(self._outlet, into))

    @abstractmethod
    def settled(self) -> bool:
        """Whether all that was offered has been worked off, but for results that are out. Nobody is offering
        meanwhile."""

    @abstractmethod
    def flow(self) -> list[Stage]:
        """The stages that a row and its results pass, in order (`sliding/release.py`)."""

    def kept_from(self, side: int) -> int:
        """No row of that side with a smaller number is in the design; where windows alone decide, a number
        that no row has."""
        return ALL_ROWS

    def finish(self) -> bool:
        """No more rows come: have every pair meet that should. Called again until it returns True."""
        return True


def empty(of: Channel) -> bool:
    return bool(channels.all_waiting(of) == 0)
