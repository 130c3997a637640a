"""Merge join of two basic blocks that are sorted by the first key (the earlier version of the handshake
paper, section 5).

Law: it finds what a scan of the stored block with each row of the other would. A row with a larger key has a
box that begins no earlier, so the place in the stored block where boxes begin only moves on.
"""

from __future__ import annotations

from dovetail.kernels.flags import inner_borrowing_kernel
from dovetail.sliding.kernels.layout import WHOLE
from dovetail.sliding.kernels.meeting import Kept, note
from dovetail.sliding.kernels.probe import narrowed
from dovetail.sliding.kernels.scan import inside
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.kernels.subwindow import Probe, Words, take_box


@inner_borrowing_kernel
def merge_block(
    of: Kept, position: int, block: Words, rules: Rules, probe: Probe, meetings: Words, at: int
) -> int:
    """The stored block at `position` with another one; meetings are written down from `at` on. The new count,
    or -1 if there is no room."""
    window, layout = of.window, rules.layout
    keys, mask = window.keys[0], window.rows.shape[0] - 1
    rows, begin = of.messages[position & mask, layout.words], 0
    for n in range(block[rules.block_rows * layout.words]):
        message = block[n * layout.words : (n + 1) * layout.words]
        take_box(message, layout, probe.low, probe.width)
        while begin < rows and keys[(position + begin) & mask] < probe.low[0]:
            begin += 1
        found = 0
        for place in range(begin, rows):
            slot = (position + place) & mask
            if keys.dtype.type(keys[slot] - probe.low[0]) > probe.width[0]:
                break
            if inside(window.keys, slot, probe.low, probe.width):
                if found == probe.found.shape[0]:
                    return -1
                probe.found[found] = position + place
                found += 1
        if found:
            found = narrowed(window, message, layout, rules.residual, probe, found)
            at = note(of, message, probe, found, WHOLE, meetings, at)
            if at < 0:
                return at
    return at
