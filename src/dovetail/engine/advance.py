"""One step of the state of one task's share, from one offset to the next: what came, and what comes out.

Law: the result depends only on the log, the two offsets and the state at the first. So it is the same whether
the step runs for the first time, runs again, or is repeated by a rebuild.
"""

from __future__ import annotations

from dovetail.engine.filling import in_silence
from dovetail.engine.index_size import most_index_bytes
from dovetail.joins.emitted import Emitted
from dovetail.joins.kind import counted_once
from dovetail.joins.kinds import verbs_of
from dovetail.joins.step_input import LiveState, StepInput, Totals


def advance(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    """Takes the state over the step; returns what came out, and the totals after it, also of what is held."""
    verbs = verbs_of(given.config.join_kind)
    emitted, totals = verbs.advance(at, given) if given.was is None else verbs.change(at, given)
    if given.config.fills(given.start):
        emitted, totals = in_silence(at.state, emitted, marks=not given.config.whole), dict(at.totals)
    totals = totals | dict(zip(("open_rows", "retained_rows"), counted_once(given, at.state), strict=True))
    totals["peak_rows"] = max(totals.get("peak_rows", 0), emitted.peak_rows)
    totals["peak_index_bytes"] = max(totals.get("peak_index_bytes", 0), most_index_bytes(at))
    return emitted, totals
