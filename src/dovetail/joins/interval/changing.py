"""An interval join over the log becomes another one: what it reads back for that, and what is counted."""

from __future__ import annotations

from dovetail.joins.emitted import Emitted
from dovetail.joins.interval.capped_keys import with_capped_keys
from dovetail.joins.interval.change import changed
from dovetail.joins.kind import counted_totals
from dovetail.joins.read_back import read_again
from dovetail.joins.rows.gather import key_hashes
from dovetail.joins.state import retain_bound
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.streams import ENDED
from dovetail.joins.worth import worth_in
from dovetail.model.kind_change import read_back
from dovetail.model.match_offsets import MatchOffsets, without_offsets


def change(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    """Turn the state into one of the new configuration: first it gets the right rows that takes, from the
    log."""
    config, was, state = given.config, given.was, at.state
    assert was is not None
    if not given.start.ended:
        needed = read_back(was.join_kind, config.join_kind, given.end)
        until = retain_bound(was.spec, state.times) if was.spec.right_cap is None else ENDED
        read_again(config, given.share, "right", state.right, given.end, needed[1], until)
    emitted = changed(
        state,
        config.spec,
        given.same_keys,
        lambda side, rows: key_hashes(given.left, given.right, side, rows),
        given.copies,
        worth_in(config.spec, given.left, given.right),
    )
    totals = counted_totals(at, emitted)
    if MatchOffsets.of(was.spec) != MatchOffsets.of(config.spec):
        totals = without_offsets(totals)
    return emitted, with_capped_keys(totals, given, emitted.capped)
