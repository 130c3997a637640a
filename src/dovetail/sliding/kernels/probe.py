"""Which stored rows a row meets: candidates from the sub-window, then the conditions as they are written.

The conditions are compiled by themselves and called by their address, with many candidates at a time: what is
compiled here does not depend on them.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels.address import call
from dovetail.kernels.flags import folded_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.candidates import candidates
from dovetail.sliding.kernels.channel import Channel
from dovetail.sliding.kernels.layout import KIND, Layout, R
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.kernels.subwindow import RUNS, Probe, SubWindow, Words
from dovetail.sliding.kernels.together import Pass, candidates_together


@inner_borrowing_kernel
def meets(window: SubWindow, message: Words, access: int, rules: Rules, probe: Probe) -> int:
    """Fill `probe.found` with the positions of what `message` meets in the other side's window; their number,
    or -1 if there is no room."""
    count = candidates(window, message, rules.layout, access, probe)
    return narrowed(window, message, rules.layout, rules.residual, probe, count)


@inner_borrowing_kernel
def meets_together(
    window: SubWindow, message: Words, inbox: Channel, rules: Rules, made: Pass, probe: Probe
) -> int:
    """The same for a row that is the next in its inbox: in one pass with others that wait there, where the
    window is scanned or has cells. -3 if the pass needs more room."""
    count = -2
    if rules.together and rules.access != RUNS:
        count = candidates_together(window, message, inbox, rules, made, probe)
        count = narrowed(window, message, rules.layout, rules.residual, probe, count)
    return meets(window, message, rules.access, rules, probe) if count == -2 else count


@folded_kernel
def narrowed(
    window: SubWindow, message: Words, layout: Layout, residual: int, probe: Probe, count: int
) -> int:
    """Keep those of the `count` candidates in `probe.found` that meet all of the predicate. `residual` is the
    address of what checks that, or 0. A count below 0 says why there are none, and stays."""
    if residual == 0 or count <= 0:
        return count
    values = message[layout.values_at : layout.values_at + layout.values]
    return call(
        residual,
        (
            window.values.ctypes.data,
            window.rows.shape[0],
            probe.found.ctypes.data,
            count,
            values.ctypes.data,
            np.int64(message[KIND] != R),
        ),
    )
