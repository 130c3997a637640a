"""Lock-step handshake join: the circuit for FPGAs, emulated clock by clock.

Idea
    All cores share a clock, so rows can be shifted through the whole chain at once, and nothing needs queues
    or acknowledgements. A core compares the row that was shifted into its segment with those of the opposite
    segment, one a clock.
Paper
    Teubner, Mueller, SIGMOD 2011, sections 4.1 and 6; circuit, throttle, merging network and throughput:
    appendix A of the earlier version.
Vocabulary
    segment -> the registers of a core; valid line -> a register that holds a row; hit -> result. A bubble is
    our word: a shift without a valid row.
Differs
    - Streams are admitted one row at a time: if both were shifted in one clock, two rows could change places
      without having met.
    - Segments differ by one register where the window cannot be divided, so that a row leaves its window
      exactly in time.
    - When the streams end, bubbles shift R past S, so that all pairs come out.
    - Where the throttle is raised rows wait, unless the chip is set to discard them or to drop results (A.3).
Law
    Over count windows the pairs of Kang's procedure, unless rows are discarded or results dropped: those are
    counted. While nothing throttles, a row every max(ceil(W_R/n), ceil(W_S/n)) cycles (A.5).
Cost
    The emulation makes every comparison of the circuit, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dovetail.errors import SettingError
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.kernels import lock_step as kernels
from dovetail.sliding.kernels.layout import KIND, R, S
from dovetail.sliding.kernels.lock_step import Circuit, CircuitRows, Clocking
from dovetail.sliding.kernels.subwindow import SCAN, SubWindow, insert, probe_room, sub_window
from dovetail.sliding.topology import Messages

Overload = Literal["wait", "discard", "drop"]
"""What happens while a core raises its throttle: rows wait; new rows are discarded; the oldest results in
full FIFOs are dropped."""

_OVERLOAD = {"wait": kernels.WAIT, "discard": kernels.DISCARD, "drop": kernels.DROP}
_FAN_IN = range(2, 9)
_OUT_PAIRS = 65536
MOST_COUNT = 1 << 30


@dataclass(frozen=True)
class Chip:
    """What is built: cores, registers, FIFOs, and the clock of the merging network in clocks of the shift
    registers."""

    cores: int
    rows_r: int
    rows_s: int
    fan_in: int = 2
    fifo_depth: int = 1024  # of the chip's block RAM
    merges_a_cycle: int = 1
    overload: Overload = "wait"

    def __post_init__(self) -> None:
        for name in ("cores", "rows_r", "rows_s", "fan_in", "fifo_depth", "merges_a_cycle"):
            check_whole(name, getattr(self, name))
        if self.overload not in tuple(_OVERLOAD):
            raise SettingError(
                f"there is no overload {self.overload!r}",
                where="overload",
                expected=", ".join(_OVERLOAD),
                hint="leave it out to have rows wait",
            )
        if not 1 <= self.cores <= min(self.rows_r, self.rows_s):
            raise SettingError(
                "a core has at least one register for each stream",
                where=f"cores={self.cores}, windows of {self.rows_r} and {self.rows_s} rows",
                expected=f"1 to {min(self.rows_r, self.rows_s)} cores",
                hint="take fewer cores, or larger windows",
            )
        if self.fan_in not in _FAN_IN:
            raise SettingError(
                f"a merger reads {_FAN_IN.start} to {_FAN_IN.stop - 1} FIFOs",
                where=f"fan_in={self.fan_in}",
                expected=f"{_FAN_IN.start} to {_FAN_IN.stop - 1}",
                hint="more cores make the network deeper, not wider",
            )
        if self.fifo_depth < self.cycles_a_row or self.merges_a_cycle < 1:
            raise SettingError(
                "a FIFO has room for all that one row may find, and its network a clock",
                where=f"fifo_depth={self.fifo_depth}, merges_a_cycle={self.merges_a_cycle}",
                expected=f"a depth of {self.cycles_a_row} or more, one merge or more a cycle",
                hint="with less depth the throttle would never be lifted",
            )

    @property
    def cycles_a_row(self) -> int:
        """Formula A.5 below the line: the longest segment, compared one register a clock."""
        return max(-(-self.rows_r // self.cores), -(-self.rows_s // self.cores))


def check_whole(name: str, value: Any) -> None:
    """The circuit counts clocks and registers."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_COUNT:
        raise SettingError(
            f"{name} cannot be {value!r}",
            where=name,
            expected=f"a whole number up to {MOST_COUNT:,}",
            hint="leave it out, or take a smaller one",
        )


@dataclass(frozen=True)
class Emulated:
    """What the circuit put out, and how long it took."""

    pairs: npt.NDArray[np.int64]  # left and right row, in the order in which they left the chip
    cycles: int
    input_cycles: int  # until the comparisons of the last row were done
    admitted: int
    discarded: int
    dropped: int
    throttled_cycles: int
    comparisons: int

    @property
    def rows_per_cycle(self) -> float:
        return self.admitted / self.input_cycles if self.input_cycles else 0.0


def emulate(chip: Chip, encoding: Encoding, messages: Messages, cycles_between: int = 0) -> Emulated:
    """Run rows through the circuit; they come every `cycles_between` cycles, or (0) as fast as it takes
    them."""
    circuit = _circuit(chip)
    clocking = Clocking(chip.cycles_a_row, cycles_between, chip.merges_a_cycle, _OVERLOAD[chip.overload])
    rows = _rows(encoding, messages)
    probe = probe_room(1, encoding.layout.dimensions, encoding.key_kind)
    out = np.zeros((_OUT_PAIRS, 2), np.int64)
    state, pieces, done = circuit.state, [], False
    while not done:
        done = kernels.clock(circuit, clocking, rows, probe, out)
        pieces.append(out[: state[kernels.OUT]].copy())
        state[kernels.OUT] = 0
    return Emulated(
        np.concatenate(pieces),
        int(state[kernels.CYCLE]),
        int(state[kernels.INPUT_CYCLES]),
        int(state[kernels.ADMITTED]),
        int(state[kernels.DISCARDED]),
        int(state[kernels.DROPPED]),
        int(state[kernels.THROTTLED]),
        int(state[kernels.COMPARISONS]),
    )


def _circuit(chip: Chip) -> Circuit:
    children: list[tuple[int, int]] = []
    first, width = 0, chip.cores
    while width > 1:
        end = first + width
        children += [(at, min(at + chip.fan_in, end)) for at in range(first, end, chip.fan_in)]
        first, width = end, -(-width // chip.fan_in)
    nodes = chip.cores + len(children)
    state = np.zeros(kernels.STATE_WORDS, np.int64)
    state[kernels.COMPARED] = chip.cycles_a_row
    return Circuit(
        (np.full(chip.rows_r, -1, np.int64), np.full(chip.rows_s, -1, np.int64)),
        np.arange(chip.cores + 1) * np.array([[chip.rows_r], [chip.rows_s]]) // chip.cores,
        np.zeros((nodes, chip.fifo_depth, 2), np.int64),
        np.zeros((nodes, 3), np.int64),
        np.array(children, np.int64).reshape(-1, 2),
        state,
    )


def _rows(encoding: Encoding, messages: Messages) -> CircuitRows:
    r, s = (np.flatnonzero(messages[:, KIND] == side) for side in (R, S))
    blank = kernels.blank_rows(messages)
    windows = _stored(encoding, messages[r]), _stored(encoding, messages[s])
    return CircuitRows(messages, windows, (blank[r], blank[s]), (r, s), encoding.layout, encoding.residual)


def _stored(encoding: Encoding, messages: Messages) -> SubWindow:
    """All rows of a stream, each at the place of its number."""
    capacity = 1 << max(len(messages) - 1, 0).bit_length()
    window = sub_window(encoding.layout, encoding.key_kind, capacity, SCAN)
    for message in messages:
        insert(window, message, encoding.layout)
    return window
