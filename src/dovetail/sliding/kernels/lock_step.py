"""The handshake join circuit, clock by clock: shift registers, a comparator a core, result FIFOs and the
network that merges them.

Law: a clock moves a result by at most one FIFO, a merger and the output take one result a clock, and a core
makes at most one comparison a clock; a row is shifted in when the comparisons of the last one are done and no
core raises its throttle.

A register holds a row's number or nothing (the paper's `valid` line). Shifting moves a mark instead of the
rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.kernels.flags import inner_kernel, kernel
from dovetail.sliding.kernels.layout import BLANK, FLAGS, KIND, ROW, Layout, R
from dovetail.sliding.kernels.probe import narrowed
from dovetail.sliding.kernels.scan import inside
from dovetail.sliding.kernels.subwindow import Probe, SubWindow, Words, take_box

WAIT, DISCARD, DROP = 0, 1, 2
_NOTHING = -1

# The circuit's state.
CYCLE, INPUT_CYCLES = 0, 1
NEXT_ROW, BUBBLES, COMPARED, ENTERED_SIDE = 2, 3, 4, 5
ADMITTED, DISCARDED, DROPPED, THROTTLED = 6, 7, 8, 9
HEADS = 10  # of each side: where in its registers the newest row is
OUT, COMPARISONS = 12, 13
STATE_WORDS = 16

HEAD, COUNT, TOKEN = (
    0,
    1,
    2,
)  # of a FIFO; a merger's arbiter gives the token to who comes after the last it has served


class Circuit(NamedTuple):
    registers: tuple[Words, Words]  # of each side
    cuts: Words  # side x core: its first register, from the end where rows of that side enter; then the end
    fifos: Words  # node x depth x 2: of the cores, then of the mergers, the last of which is the output's
    marks: Words  # node x 3
    children: Words  # merger x 2: the first of the nodes it reads, and one beyond the last
    state: Words


class Clocking(NamedTuple):
    cycles_a_row: int  # that a row's comparisons take
    cycles_between: int  # that rows come apart; 0: there is always one waiting
    merges_a_cycle: int  # clocks of the merging network in one of the shift registers
    overload: int  # WAIT, DISCARD or DROP


class CircuitRows(NamedTuple):
    """All rows of both streams, in the order in which they come, and each stream once more as something to
    compare with."""

    messages: Words
    windows: tuple[SubWindow, SubWindow]
    blank: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]
    at: tuple[Words, Words]  # which message a row is
    layout: Layout
    residual: int


@kernel
def clock(circuit: Circuit, clocking: Clocking, rows: CircuitRows, probe: Probe, out: Words) -> bool:
    """Run until all is done, or `out` is full; whether all is done. `state[OUT]` pairs are in `out`."""
    state = circuit.state
    cores = circuit.cuts.shape[1] - 1
    while True:
        if state[COMPARED] == clocking.cycles_a_row:
            _admit(circuit, clocking, rows)
        if state[COMPARED] < clocking.cycles_a_row:
            for core in range(cores):
                _compare(circuit, clocking, core, rows, probe)
            state[COMPARED] += 1
            if state[BUBBLES] == 0:
                state[INPUT_CYCLES] = state[CYCLE] + 1
        for _ in range(clocking.merges_a_cycle):
            _merge(circuit, cores, out)
        state[CYCLE] += 1
        if (
            state[NEXT_ROW] == rows.messages.shape[0]
            and state[BUBBLES] >= circuit.registers[R].shape[0]
            and state[COMPARED] == clocking.cycles_a_row
            and not circuit.marks[:, COUNT].any()
        ):
            return True
        if state[OUT] + clocking.merges_a_cycle > out.shape[0]:
            return False


@inner_kernel
def _throttled(circuit: Circuit, clocking: Clocking, cores: int) -> bool:
    """Whether a core might find more than its FIFO has room for."""
    most = circuit.fifos.shape[1] - clocking.cycles_a_row
    fullest = 0
    for core in range(cores):
        fullest = max(fullest, circuit.marks[core, COUNT])
    return fullest > most


@inner_kernel
def _admit(circuit: Circuit, clocking: Clocking, rows: CircuitRows) -> None:
    """The admission control: shift the next row in, or nothing where all rows are in and the last have yet to
    pass each other."""
    state = circuit.state
    number = state[NEXT_ROW]
    more = number < rows.messages.shape[0]
    if more and number * clocking.cycles_between > state[CYCLE]:
        return
    if not more and state[BUBBLES] >= circuit.registers[R].shape[0]:
        return
    if clocking.overload != DROP and _throttled(circuit, clocking, circuit.cuts.shape[1] - 1):
        state[THROTTLED] += 1
        if more and clocking.overload == DISCARD:
            state[NEXT_ROW] += 1
            state[DISCARDED] += 1
        return
    side, row = R, _NOTHING
    if more:
        side, row = rows.messages[number, KIND], rows.messages[number, ROW]
        state[NEXT_ROW] += 1
        state[ADMITTED] += 1
    else:
        state[BUBBLES] += 1
    registers = circuit.registers[side]
    state[HEADS + side] = (state[HEADS + side] - 1) % registers.shape[0]
    registers[state[HEADS + side]] = row
    state[ENTERED_SIDE], state[COMPARED] = side, 0


@inner_kernel
def _register(circuit: Circuit, side: int, place: int) -> int:
    registers = circuit.registers[side]
    return registers[(circuit.state[HEADS + side] + place) % registers.shape[0]]


@inner_kernel
def _compare(circuit: Circuit, clocking: Clocking, core: int, rows: CircuitRows, probe: Probe) -> None:
    """The row that was shifted into this core's segment with the next one of the opposite segment. R enters
    at core 0, S at the last."""
    state, side, last = circuit.state, circuit.state[ENTERED_SIDE], circuit.cuts.shape[1] - 2
    own, opposite = (core, last - core) if side == R else (last - core, core)
    place = circuit.cuts[1 - side, opposite] + state[COMPARED]
    if place >= circuit.cuts[1 - side, opposite + 1]:
        return
    entered = _register(circuit, side, circuit.cuts[side, own])
    met = _register(circuit, 1 - side, place)
    if min(entered, met) == _NOTHING:
        return
    state[COMPARISONS] += 1
    if not _holds(rows, side, entered, met, probe):
        return
    r, s = (entered, met) if side == R else (met, entered)
    _put(circuit, core, r, s, clocking.overload == DROP)


@inner_kernel
def _holds(rows: CircuitRows, side: int, entered: int, met: int, probe: Probe) -> bool:
    if rows.blank[side][entered] or rows.blank[1 - side][met]:
        return False
    row, window = rows.messages[rows.at[side][entered]], rows.windows[1 - side]
    take_box(row, rows.layout, probe.low, probe.width)
    if not inside(window.keys, met, probe.low, probe.width):
        return False
    probe.found[0] = met
    return narrowed(window, row, rows.layout, rows.residual, probe, 1) == 1


@inner_kernel
def _put(circuit: Circuit, node: int, r: int, s: int, makes_room: bool) -> None:
    """Into a FIFO; if it is full, its oldest result is dropped for it (the throttle keeps that from
    happening, where it is heeded)."""
    marks, depth = circuit.marks[node], circuit.fifos.shape[1]
    if makes_room and marks[COUNT] == depth:
        marks[HEAD] = (marks[HEAD] + 1) % depth
        marks[COUNT] -= 1
        circuit.state[DROPPED] += 1
    place = (marks[HEAD] + marks[COUNT]) % depth
    circuit.fifos[node, place, 0] = r
    circuit.fifos[node, place, 1] = s
    marks[COUNT] += 1


@inner_kernel
def _merge(circuit: Circuit, cores: int, out: Words) -> None:
    """One clock of the network, from the output down: what a FIFO gives up in a clock makes room in the same
    clock, and a result moves one step."""
    state, marks, depth = circuit.state, circuit.marks, circuit.fifos.shape[1]
    top = marks.shape[0] - 1
    if marks[top, COUNT]:
        out[state[OUT]] = circuit.fifos[top, marks[top, HEAD]]
        state[OUT] += 1
        _give_up(circuit, top)
    for node in range(top, cores - 1, -1):
        if marks[node, COUNT] == depth:
            continue
        first, last = circuit.children[node - cores, 0], circuit.children[node - cores, 1]
        for turn in range(last - first):
            child = first + (marks[node, TOKEN] + turn) % (last - first)
            if marks[child, COUNT]:
                pair = circuit.fifos[child, marks[child, HEAD]]
                _put(circuit, node, pair[0], pair[1], False)
                _give_up(circuit, child)
                marks[node, TOKEN] = (child - first + 1) % (last - first)
                break


@inner_kernel
def _give_up(circuit: Circuit, node: int) -> None:
    circuit.marks[node, HEAD] = (circuit.marks[node, HEAD] + 1) % circuit.fifos.shape[1]
    circuit.marks[node, COUNT] -= 1


def blank_rows(messages: Words) -> npt.NDArray[np.bool_]:
    return (messages[:, FLAGS] & BLANK) != 0
