"""One step of the state of one task's share, from one offset to the next: what came, and what comes out.

Law: the result depends only on the log, the two offsets and the state at the first. So it is the same whether
the step runs for the first time, runs again, or is repeated by a rebuild.
"""

from __future__ import annotations

from dovetail.engine.index_size import most_index_bytes
from dovetail.joins.emitted import NONE, Counts, Emitted
from dovetail.joins.kind import buffers, counted_once
from dovetail.joins.kinds import verbs_of
from dovetail.joins.state import JoinState
from dovetail.joins.step_input import LiveState, StepInput, Totals


def advance(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    """Takes the state over the step; returns what came out, and the running totals after it: with what is
    held now, and the most that was."""
    verbs = verbs_of(given.config.join_kind)
    emitted, totals = verbs.advance(at, given) if given.was is None else verbs.change(at, given)
    if given.config.fills(given.start):
        emitted, totals = in_silence(at.state, emitted, marks=not given.config.whole), dict(at.totals)
    open_rows, retained_rows = counted_once(given, at.state)
    totals = totals | {"open_rows": open_rows, "retained_rows": retained_rows}
    totals["peak_rows"] = max(totals.get("peak_rows", 0), emitted.peak_rows)
    totals["peak_index_bytes"] = max(totals.get("peak_index_bytes", 0), most_index_bytes(at))
    return emitted, totals


def in_silence(state: JoinState, emitted: Emitted, *, marks: bool) -> Emitted:
    """Of a step that only fills the state: nothing comes out, and nothing is counted. `marks`: what is held
    has had its answer as far as it comes out alone, and meets only rows that are still to come."""
    if marks:
        for _, buffer in buffers(state):
            buffer.mark(buffer.slots())
    return Emitted(NONE, NONE, NONE, NONE, Counts(), emitted.peak_rows, (NONE, NONE))
