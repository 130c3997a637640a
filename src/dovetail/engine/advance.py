"""One step of the state of one task's share, from one offset to the next: what came, and what comes out.

Law: what is done depends only on the log, the two offsets and the state at the first. So it is done the same
whether the step runs for the first time, is run again, or is one of those that a rebuild runs once more.
"""

from __future__ import annotations

from dovetail.engine.live_index import Attached
from dovetail.joins.emitted import Copies, Counts, Emitted
from dovetail.joins.interval.capped_keys import counted, pruned
from dovetail.joins.interval.step import step
from dovetail.joins.rows.arrivals import arrivals, copied_rows
from dovetail.joins.rows.gather import Rows, key_hashes, same_keys
from dovetail.joins.sample import look
from dovetail.joins.streams import Times
from dovetail.joins.theta.run import theta_step
from dovetail.joins.windowed.run import window_step, window_totals
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.match_offsets import labelled
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, Share

Totals = dict[str, int]


def rows_between(config: JoinConfig, start: JoinOffset, end: JoinOffset) -> tuple[Rows, Rows]:
    """All rows of both sides that a step may touch."""
    left, right = (Category.open(config.home, name) for name in (config.left, config.right))
    return Rows(left, start.left_floor, end.left), Rows(right, start.right_floor, end.right)


def advance(
    config: JoinConfig,
    share: Share,
    at: Attached,
    start: JoinOffset,
    end: JoinOffset,
    left_rows: Rows,
    right_rows: Rows,
) -> tuple[Emitted, Totals]:
    """Takes the state from `start` to `end`; returns what came out, and the running totals after it."""
    if config.theta is not None:
        emitted = theta_step(
            config, config.theta, share, at.state, at.indexed, start, end, left_rows, right_rows
        )
        told = _told(config.spec, emitted.counts)._asdict()
        if share.dealt == SIDES:  # each task sees only some of a left row's partners
            del told["left_matched"]
        return emitted, _after(at, emitted, add_totals(at.totals, told))
    if config.window is not None:
        outcome = window_step(config, config.window, share, at.state, start, end, left_rows, right_rows)
        told = _told(config.spec, outcome.emitted.counts)._asdict()
        if config.window.shape == "hopping" or config.window.emit == "eager":
            del told["left_matched"]  # a left row has partners in several windows, or in several steps
        totals = add_totals(add_totals(at.totals, told), window_totals(outcome))
        return outcome.emitted, _after(at, outcome.emitted, totals)
    state, before = at.state, at.state.times
    left, right = (Category.open(config.home, name) for name in (config.left, config.right))
    new_left = arrivals(left, left.commits(start.left, end.left), share, "left")
    new_right = arrivals(right, right.commits(start.right, end.right), share, "right")
    emitted = step(
        state,
        new_left,
        new_right,
        Times(end.left_time, end.right_time),
        lambda a, b: same_keys(left_rows, right_rows, config.keys, a, b),
        lambda side, rows: key_hashes(left_rows, right_rows, side, rows),
        Copies(
            copied_rows(share, "left", left_rows.buckets), copied_rows(share, "right", right_rows.buckets)
        ),
    )
    seen = look(at.sample, config.spec, new_left, new_right, before, state.times)
    totals = add_totals(at.totals, _told(config.spec, emitted.counts)._asdict())
    totals = add_totals(totals, {"missed": seen.missed, **labelled(seen.offsets)})
    for rows, side, capped in zip((left_rows, right_rows), SIDES, emitted.capped, strict=True):
        totals = pruned(add_totals(totals, counted(rows, config.keys, side, capped)))
    return emitted, _after(at, emitted, totals)


def _after(at: Attached, emitted: Emitted, totals: Totals) -> Totals:
    """With what is held now, and the most that was."""
    totals = totals | {"open_rows": at.state.left_rows, "retained_rows": at.state.right_rows}
    totals["peak_rows"] = max(totals.get("peak_rows", 0), emitted.peak_rows)
    totals["peak_index_bytes"] = max(totals.get("peak_index_bytes", 0), index_bytes(at))
    return totals


def add_totals(first: Totals, second: Totals) -> Totals:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def index_bytes(at: Attached) -> int:
    return sum(buffer.bytes for buffer in (at.state.left, at.state.right, at.sample.left, at.sample.right))


def _told(spec: IntervalSpec, counts: Counts) -> Counts:
    """As people count: what a semi join lets out are matches."""
    return counts._replace(pairs=counts.left_alone, left_alone=0) if spec.how == "semi" else counts
