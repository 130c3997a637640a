"""How a join is doing, in words: the same for the live view, `dovetail status` and `dovetail scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.service import units

if TYPE_CHECKING:
    from dovetail.engine.asked_tasks import Origin
    from dovetail.engine.measure import SourceMeasure
    from dovetail.service.metrics import MeasuredJoin
    from dovetail.service.topics import IntakeMeasure

QUIET_US = 10_000_000
"""A stream without a new commit for this long is what its join waits for."""


def rebuild_words(share: float, rows_per_s: float, left_s: float | None) -> str:
    """A rebuild in progress."""
    said = f"rebuilding the join state: {int(share * 100)} %, {units.count(round(rows_per_s))} rows/s"
    return said if left_s is None else f"{said}, {units.span(max(1, round(left_s)) * 1_000_000)} left"


def task_words(now: int | None, wanted: int | None, origin: Origin) -> str:
    """`now`: tasks of the last step (None: there was none); `wanted` None: one for each of Spark's cores."""
    has = "no step yet" if now is None else f"{now} task{'' if now == 1 else 's'}"
    if origin == "unreadable":
        return f"{has} (the number set by dovetail scale cannot be read)"
    if wanted is None:
        return f"{has} (auto: one per core)"
    by = "dovetail scale" if origin == "command" else "the query's option tasks"
    if wanted == now:
        return f"{has} (set by {by})"
    return f"{has}, {wanted} from the next step on (set by {by})"


def age_words(join: MeasuredJoin) -> str:
    """How old the figures of a join are."""
    if join.stepped_at_us is None:
        return "no step yet"
    age_us = max(0, join.measure.measured_at_us - join.stepped_at_us)
    return f"step {join.measure.step}, {units.span(age_us // 1_000_000 * 1_000_000) if age_us else '0 s'} ago"


def unsliced_words(source: SourceMeasure | None) -> str:
    """What a slicer has not read yet: a dash where that is not known."""
    if source is None:
        return "—"
    if source.files is not None:
        size = f", {units.size(source.bytes)}" if source.bytes else ""
        return f"{source.files:,} file{'' if source.files == 1 else 's'}{size}"
    return "—" if source.rows is None else f"{source.rows:,} row{'' if source.rows == 1 else 's'}"


def source_words(source: SourceMeasure) -> str:
    """What a slicer last said of its source."""
    since = f"since {units.instant(source.since_us)} UTC"
    if source.trouble is not None:
        return f"{source.trouble}, {since}"
    if source.state == "empty":
        return f"source empty {since}"
    if source.state == "waiting":
        return f"source waits for its own sources {since}"
    unsliced = unsliced_words(source) if source.state == "behind" else "—"
    return f"slicer {source.state} {since}" + ("" if unsliced == "—" else f", {unsliced} waiting")


def intake_words(intake: IntakeMeasure) -> str:
    """What waits outside of the log for an input table."""
    source = intake.source
    words = f"input {intake.table} ({intake.place}): "
    if source.trouble is not None:
        words += f"{source.trouble}, since {units.instant(source.since_us)} UTC"
    elif source.state == "empty":
        words += f"read to its end since {units.instant(source.since_us)} UTC"
    elif source.state in ("stopped", "silent", "starting"):
        words += f"{source.state} since {units.instant(source.since_us)} UTC"
    else:
        words += "being read"
    unsliced = unsliced_words(source)
    return words if unsliced == "—" or source.state == "empty" else f"{words}, {unsliced} not sliced yet"


def waiting_words(join: MeasuredJoin) -> str:
    """What a running join waits for, or nothing. Open left rows wait for the right stream's time to pass
    their windows; a backlog waits while the other stream is behind in event time."""
    found = join.measure
    if found.replay is not None:
        return rebuild_words(found.replay.share, found.replay.rows_per_s, found.replay.left_s)
    needed_by = {"left": found.right.backlog_rows, "right": found.left.backlog_rows + found.left.held_rows}
    for stream, last_us in zip(found.streams, join.newest_commit_us, strict=True):
        if not needed_by[stream.side] or stream.backlog_rows or stream.carried:
            continue
        if last_us is not None and found.measured_at_us - last_us <= QUIET_US:
            continue
        if stream.source is not None and stream.source.state not in ("empty", "stopped"):
            return f"waiting for the {stream.side} stream: {source_words(stream.source)}"
        if last_us is None:
            return f"waiting for the {stream.side} stream: it has no rows yet"
        idle = units.span((found.measured_at_us - last_us) // 1_000_000 * 1_000_000)
        return f"{stream.side} stream idle since {units.instant(last_us)} UTC ({idle}), see idle_timeout"
    return ""
