"""Pieces of what is said of rows, steps and times: the same words for every kind of join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dovetail.joins.known import At, Doubt, Known, Match
from dovetail.joins.picking import Compared, Comparison
from dovetail.joins.rows.key_rows import KeyRow, KeyRows
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.time_codes import unusable
from dovetail.service.cli.log_output import cell, iso_time, plain
from dovetail.service.units import instant, span

SHOWN_CHARACTERS = 120
SHOWN_MATCHES = 5


def row_words(row: KeyRow) -> str:
    """A row in one line: its time and what it carries."""
    said = " ".join(f"{name}={cell(value)}" for name, value in payload_of(row).items())
    time = "no time" if unusable(row.time_us) else iso_time(row.time_us)
    return f"{time}  {said if len(said) <= SHOWN_CHARACTERS else said[: SHOWN_CHARACTERS - 1] + '…'}"


def stream_time(time_us: int) -> str:
    if time_us == NEVER:
        return "not known yet"
    return "at its end" if time_us == ENDED else f"at {iso_time(time_us)}"


def not_taken(row: KeyRow, known: Known) -> str:
    return f"it is in the log since {instant(row.written_at_us)}; " + (
        "the join has not come to it" if known.records else "no step of the join is on record"
    )


def match_lines(matches: Sequence[Match]) -> Iterator[str]:
    for match in matches[:SHOWN_MATCHES]:
        yield f"with {row_words(match.right)}  in {at_words(match.at)}"
    if len(matches) > SHOWN_MATCHES:
        yield f"and {len(matches) - SHOWN_MATCHES} more"


def comparison_lines(comparison: Comparison, *, decided: bool) -> Iterator[str]:
    """Why one of the right rows was picked by value, or would be now."""
    best, *others = comparison.compared
    of = f"of {len(comparison.compared):,} right rows" if others else "the only right row"
    what = f"{'largest' if comparison.largest else 'smallest'} {comparison.text}"
    if decided:
        yield f"picked for the {what}: {_value(best)}, {of} that it met"
    else:
        yield f"so far the {what} is {_value(best)}, {of} that it met: {row_words(best.right)}"
    for other in others[:SHOWN_MATCHES]:
        yield f"not picked: {_lost(best, other)}: {row_words(other.right)}"
    if len(others) > SHOWN_MATCHES:
        yield f"and {len(others) - SHOWN_MATCHES:,} more"


def _lost(best: Compared, other: Compared) -> str:
    if _value(best) != _value(other) and best.value != other.value:
        return _value(other)
    if best.right.time_us != other.right.time_us:
        return "the same, with a later time"
    return "the same at the same time, later in the log"


def _value(one: Compared) -> str:
    if one.value is None:
        return "null"
    return cell(one.value) or str(one.value)  # a cell of NaN is empty


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "of": comparison.text,
        "largest": comparison.largest,
        "compared": [
            {"right": row_json(right), "value": plain(value)} for right, value in comparison.compared
        ],
    }


def match_json(matches: Sequence[Match]) -> list[dict[str, Any]]:
    return [{"right": row_json(match.right), "at": at_json(match.at)} for match in matches]


def written_late(by_us: int, at: At | None, closing: str = "closed") -> str:
    """Of a right row that came after a closing, or was written before but taken after it."""
    if by_us >= 0:
        return f"a right row in its window came {span(by_us)} after it was {closing}"
    return (
        f"a right row in its window was written {span(by_us)} before it was {closing}, "
        f"but was not taken until {at_words(at) if at else 'now'}"
    )


def leaving(known: Known) -> str:
    """What became of a left row without a partner."""
    return (
        "came out alone" if known.spec.keeps_left else "does not come out: the join keeps matched rows only"
    )


def doubt_words(doubt: Doubt, known: Known) -> str:
    if doubt == "steps_gone":
        return "not certain: the step in which it came is no longer on record, nor what it met then"
    return f"not certain: {gone_words(known.right, 'right')}; a partner may have been there"


def gone_words(rows: KeyRows, side: str) -> str:
    since = f", written before {instant(rows.since_us)}" if rows.since_us else ""
    return f"retention has removed commits below {rows.first_commit} of the {side} stream{since}"


def at_words(at: At | None) -> str:
    if at is None:
        return "no step"
    return f"step {at.step}{' or before' if at.or_before else ''} (planned {instant(at.planned_at_us)})"


def payload_of(row: KeyRow) -> dict[str, Any]:
    """The columns under their own names, without the prefix that the join gives each side."""
    names = {name: name[3:] if name.startswith(("_l_", "_r_")) else name for name in row.values}
    return {
        plain_: row.values[name] for name, plain_ in names.items() if not name.startswith(("_key_", "_on_"))
    }


def row_json(row: KeyRow) -> dict[str, Any]:
    return {
        "row": row.row,
        "commit": row.commit,
        "written_at": iso_time(row.written_at_us),
        "time": None if unusable(row.time_us) else iso_time(row.time_us),
        "values": plain(payload_of(row)),
    }


def at_json(at: At | None) -> dict[str, Any] | None:
    if at is None:
        return None
    return {"step": at.step, "planned_at": iso_time(at.planned_at_us), "or_before": at.or_before}


def time_json(time_us: int) -> str | None:
    return {NEVER: None, ENDED: "ended"}.get(time_us, iso_time(time_us))
