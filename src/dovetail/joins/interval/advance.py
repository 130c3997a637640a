"""One step of an interval join over the log: the new rows of a task, what they meet, and what is counted."""

from __future__ import annotations

from dovetail.joins.emitted import Emitted
from dovetail.joins.interval.capped_keys import with_capped_keys
from dovetail.joins.interval.step import step
from dovetail.joins.kind import add_totals, counted_totals
from dovetail.joins.rows.gather import key_hashes
from dovetail.joins.sample import look
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.worth import worth_in
from dovetail.model.match_offsets import labelled


def advance(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    config, state, before = given.config, at.state, at.state.times
    new_left, new_right = given.new("left"), given.new("right")
    emitted = step(
        state,
        new_left,
        new_right,
        given.until,
        given.same_keys,
        lambda side, rows: key_hashes(given.left, given.right, side, rows),
        given.copies,
        worth_in(config.spec, given.left, given.right),
    )
    seen = look(at.sample, config.spec, new_left, new_right, before, state.times)
    totals = counted_totals(at, emitted)
    totals = add_totals(
        totals, {"missed": seen.missed, "missed_variance": seen.missed_variance, **labelled(seen.offsets)}
    )
    return emitted, with_capped_keys(totals, given, emitted.capped)
