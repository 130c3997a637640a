"""The rows in a box by the chains of its cells: of one box, or of four at once.

Law: what is found are the rows from BEGIN to END whose keys lie in a box, each once.

A chain leads to ever older positions, and a slot is used again only for a newer one. So a link to a position
before BEGIN ends the chain, whatever is in that slot now.

In a large window each step of a walk waits for memory. So chains are followed side by side, one step of each
in turn: while one waits, the others are on their way. The cells of one box are few chains, those of four are
about as many as a processor has loads in flight.
"""

from __future__ import annotations

from dovetail.kernels.flags import folded_kernel, inner_borrowing_kernel
from dovetail.kernels.machine import prefetch
from dovetail.sliding.kernels.layout import Layout
from dovetail.sliding.kernels.scan import Keys, inside
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    CHAINED,
    CHAINED_KEYS,
    MOST_CELLS,
    Probe,
    SubWindow,
    Words,
    cell_hash,
)

# Of a window's scratch: heads of chains, then where each walk is; whose walk it is; one cell.
AT, OWNER, CELL = 0, MOST_CELLS, 2 * MOST_CELLS


@folded_kernel
def cells_of(message: Words, layout: Layout) -> int:
    """How many cells the message's box reaches into, or more than MOST_CELLS."""
    cells = 1
    for dimension in range(layout.grid):
        across = message[layout.cells_high_at + dimension] - message[layout.cells_low_at + dimension] + 1
        cells = cells * across if 0 < across <= MOST_CELLS else MOST_CELLS + 1
        if cells > MOST_CELLS:
            return MOST_CELLS + 1
    return cells


@folded_kernel
def put_chains(window: SubWindow, message: Words, layout: Layout, cells: int, owner: int, first: int) -> int:
    """Write down the chains of the box's cells from place `first` on; the place after them. Two cells may
    share a chain: it is written down once."""
    scratch, head_mask = window.scratch, window.heads.shape[0] - 1
    end = first
    for number in range(cells):
        rest = number
        for dimension in range(layout.grid):
            lowest = message[layout.cells_low_at + dimension]
            across = message[layout.cells_high_at + dimension] - lowest + 1
            scratch[CELL + dimension] = lowest + rest % across
            rest //= across
        chain = cell_hash(scratch, CELL, layout.grid) & head_mask
        known = False
        for earlier in range(first, end):
            known |= scratch[AT + earlier] == chain
        if not known:
            scratch[AT + end] = chain
            scratch[OWNER + end] = owner
            prefetch(window.heads, chain)
            end += 1
    return end


@folded_kernel
def enter_chains(window: SubWindow, chains: int) -> int:
    """Go to the newest row of each chain written down that has one; how many do."""
    scratch, mask, begin, entered = window.scratch, window.rows.shape[0] - 1, window.marks[BEGIN], 0
    for number in range(chains):
        position = window.heads[scratch[AT + number]]
        if position >= begin:
            scratch[AT + entered] = position
            scratch[OWNER + entered] = scratch[OWNER + number]
            prefetch(window.chained, CHAINED * (position & mask))
            entered += 1
    return entered


@folded_kernel
def go_on(window: SubWindow, number: int, walks: int) -> int:
    """One step of a walk to the next older row; how many walks are left. Where one ends, the last one takes
    its place."""
    scratch, mask, begin = window.scratch, window.rows.shape[0] - 1, window.marks[BEGIN]
    older = window.chained[CHAINED * (scratch[AT + number] & mask)]
    if older >= begin:
        scratch[AT + number] = older
        prefetch(window.chained, CHAINED * (older & mask))
        return walks
    scratch[AT + number] = scratch[AT + walks - 1]
    scratch[OWNER + number] = scratch[OWNER + walks - 1]
    return walks - 1


@inner_borrowing_kernel
def walk(window: SubWindow, message: Words, layout: Layout, cells: int, probe: Probe) -> int:
    """The rows in the message's box, which `probe` has, into `probe.found`; how many, or -1 if it has no
    room."""
    scratch, mask, found, count = window.scratch, window.rows.shape[0] - 1, probe.found, 0
    walks = enter_chains(window, put_chains(window, message, layout, cells, 0, 0))
    while walks:
        number = 0
        while number < walks:
            position = scratch[AT + number]
            if _inside(window, position & mask, probe.low, probe.width):
                if count == found.shape[0]:
                    return -1
                found[count] = position
                count += 1
            left = go_on(window, number, walks)
            number += left == walks
            walks = left
    return count


@inner_borrowing_kernel
def walk_all(window: SubWindow, chains: int, low: Keys, width: Keys, found: Words, counts: Words) -> bool:
    """Follow the chains written down. What lies in the box of a chain's owner, one of the rows of `low` and
    `width`, goes into its row of `found`; whether there was room."""
    scratch, mask = window.scratch, window.rows.shape[0] - 1
    walks = enter_chains(window, chains)
    while walks:
        number = 0
        while number < walks:
            position, owner = scratch[AT + number], scratch[OWNER + number]
            if _inside(window, position & mask, low[owner], width[owner]):
                if counts[owner] == found.shape[1]:
                    return False
                found[owner, counts[owner]] = position
                counts[owner] += 1
                prefetch(window.rows, position & mask)
            left = go_on(window, number, walks)
            number += left == walks
            walks = left
    return True


@folded_kernel
def _inside(window: SubWindow, slot: int, low: Keys, width: Keys) -> bool:
    """As `inside`, by what lies beside the link; further dimensions are looked at where those fit."""
    dimensions, kind = window.keys.shape[0], window.keys.dtype.type
    for dimension in range(min(dimensions, CHAINED_KEYS)):
        key = kind(window.chained[CHAINED * slot + 1 + dimension])
        if kind(key - low[dimension]) > width[dimension]:
            return False
    return dimensions <= CHAINED_KEYS or inside(window.keys, slot, low, width)
