"""The fate of a row in words, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.model.offset import ENDED, NEVER
from dovetail.model.time_codes import unusable
from dovetail.service.log_output import cell, iso_time, plain
from dovetail.service.units import instant, span
from dovetail.state.fate import At, Fate, Known, Miss
from dovetail.state.key_rows import KeyRow, KeyRows
from dovetail.state.why import Answer

SHOWN_CHARACTERS = 120
SHOWN_MATCHES = 5


def heading(answer: Answer, application: str) -> str:
    return f"{application} · join {answer.join} · key {', '.join(map(cell, answer.key))}"


def preface(answer: Answer) -> Iterator[str]:
    """What is to be known before the rows."""
    if not answer.fates:
        yield from _nothing(answer)
    elif answer.known.sure_since is not None:
        yield f"certain for rows that came after {_at(answer.known.sure_since)}: nothing older is on record"
    if len(answer.fates) < answer.asked:
        yield f"the newest {len(answer.fates)} of {answer.asked} left rows; --time asks for others"


def row_words(row: KeyRow) -> str:
    """A row in one line: its time and what it carries."""
    said = " ".join(f"{name}={cell(value)}" for name, value in _payload(row).items())
    time = "no time" if unusable(row.time_us) else iso_time(row.time_us)
    return f"{time}  {said if len(said) <= SHOWN_CHARACTERS else said[: SHOWN_CHARACTERS - 1] + '…'}"


def verdict(fate: Fate) -> str:
    """The fate in a word or two."""
    match fate.status:
        case "not_taken":
            return "not taken yet"
        case "unmatched":
            return "not matched"
    return fate.status


def fate_lines(fate: Fate, known: Known) -> list[str]:
    """What became of the row, a sentence a line."""
    return [*_what(fate, known), *(_doubt(doubt, known) for doubt in fate.doubts)]


def _what(fate: Fate, known: Known) -> Iterator[str]:
    if fate.taken is None:
        yield f"it is in the log since {instant(fate.left.written_at_us)}; " + (
            "the join has not come to it" if known.records else "no step of the join is on record"
        )
        return
    for match in fate.matches[:SHOWN_MATCHES]:
        yield f"with {row_words(match.right)}  in {_at(match.at)}"
    if len(fate.matches) > SHOWN_MATCHES:
        yield f"and {len(fate.matches) - SHOWN_MATCHES} more"
    if fate.miss is not None:
        yield from _why(fate, fate.miss, known)
    if fate.closed is None:
        yield _open(fate, known)
    elif fate.miss is not None:
        came = f"it came in {_at(fate.taken)}, " if fate.taken != fate.closed else "it came and "
        yield f"{came}closed in {_at(fate.closed)}, and {_leaving(known)}"
    elif known.spec.how == "anti":
        yield "so it does not come out: the join is an anti join"


def _open(fate: Fate, known: Known) -> str:
    closing = iso_time(known.window(fate.left)[1])
    text = f"open until the right stream's time passes {closing}; it is {_stream_time(known)}"
    if fate.status == "open" and known.spec.defers_pick and fate.in_window:
        return f"{text}; then one of {fate.in_window} right rows in its window is picked"
    return f"{text}; more may match" if fate.matches else text


def _why(fate: Fate, miss: Miss, known: Known) -> Iterator[str]:
    low, high = known.window(fate.left)
    window = f"its window is {iso_time(low)} to {iso_time(high)}" if fate.invalid is None else ""
    about = row_words(miss.right) if miss.right else ""
    match miss.reason:
        case "invalid_time":
            yield f"it can match nothing: {fate.invalid}"
        case "no_right_row":
            yield "no right row has this key"
            yield window
        case "right_invalid_time":
            assert miss.right is not None
            yield f"the right rows with this key can match nothing: {unusable(miss.right.time_us)}"
        case "outside_window":
            assert miss.by_us is not None
            side = "before" if miss.by_us < 0 else "after"
            yield f"the nearest right row with this key is {span(miss.by_us)} outside the window, {side} it"
            yield f"nearest: {about}"
            yield window
        case "right_late":
            assert miss.by_us is not None
            if miss.by_us >= 0:
                yield f"a right row in its window came {span(miss.by_us)} after it was closed"
            else:
                yield (
                    f"a right row in its window was written {span(miss.by_us)} before it was closed, "
                    f"but was not taken until {_at(miss.at) if miss.at else 'now'}"
                )
            yield f"too late: {about}"
        case "left_late":
            late = "after the streams had ended" if miss.by_us is None else f"{span(miss.by_us)} late"
            yield f"it came {late}: the right row in its window had been let go in {_at(miss.at)}"
            yield f"let go: {about}"
        case "left_capped":
            yield "it had to make room for newer left rows before its window was over: the cap per key"
        case "right_capped":
            yield "a right row in its window had made room for newer right rows: the cap per key"
            yield f"missed: {about}"


def _leaving(known: Known) -> str:
    return (
        "came out alone" if known.spec.keeps_left else "does not come out: the join keeps matched rows only"
    )


def _doubt(doubt: str, known: Known) -> str:
    if doubt == "steps_gone":
        return "not certain: the step in which it came is no longer on record, nor what it met then"
    return f"not certain: {_gone(known.right, 'right')}; a partner may have been there"


def _nothing(answer: Answer) -> Iterator[str]:
    known = answer.known
    yield "no left row with this key is in the log"
    if known.left.first_commit:
        yield f"it may have been there: {_gone(known.left, 'left')}"
    count = len(known.right.rows)
    if count:
        yield f"right rows with this key: {count}, the last {row_words(known.right.rows[-1])}"
    else:
        yield "no right row has it either"
    if answer.similar:
        yield f"left keys look like this: {' | '.join(', '.join(map(cell, key)) for key in answer.similar)}"


def _gone(rows: KeyRows, side: str) -> str:
    since = f", written before {instant(rows.since_us)}" if rows.since_us else ""
    return f"retention has removed commits below {rows.first_commit} of the {side} stream{since}"


def _stream_time(known: Known) -> str:
    time_us = known.times(-1).right
    if time_us == NEVER:
        return "not known yet"
    return "at its end" if time_us == ENDED else f"at {iso_time(time_us)}"


def _at(at: At | None) -> str:
    if at is None:
        return "no step"
    return f"step {at.step}{' or before' if at.or_before else ''} (planned {instant(at.planned_at_us)})"


def _payload(row: KeyRow) -> dict[str, Any]:
    """The columns under the names they had before the join told the sides apart."""
    names = {name: name[3:] if name.startswith(("_l_", "_r_")) else name for name in row.values}
    return {plain_: row.values[name] for name, plain_ in names.items() if not name.startswith("_key_")}


def to_json(answer: Answer, application: str) -> dict[str, Any]:
    """The same for programs: times in ISO 8601, lengths in microseconds."""
    known = answer.known
    last = known.records[-1] if known.records else None
    return {
        "application": application,
        "join": answer.join,
        "key": plain(answer.key),
        "left_rows": len(known.left.rows),
        "right_rows": len(known.right.rows),
        "asked_rows": answer.asked,
        "sure_since": _at_json(known.sure_since),
        "last_step": last.step if last else None,
        "left_time": _time_json(last.left.time_us) if last else None,
        "right_time": _time_json(last.right.time_us) if last else None,
        "left_removed_commits": known.left.first_commit,
        "right_removed_commits": known.right.first_commit,
        "similar_keys": plain(answer.similar),
        "rows": [_fate_json(fate, known) for fate in answer.fates],
    }


def _fate_json(fate: Fate, known: Known) -> dict[str, Any]:
    miss = fate.miss
    window = None if fate.invalid else [iso_time(edge) for edge in known.window(fate.left)]
    return {
        "left": _row_json(fate.left),
        "status": fate.status,
        "window": window,
        "taken": _at_json(fate.taken),
        "closed": _at_json(fate.closed),
        "in_window": fate.in_window,
        "matches": [{"right": _row_json(match.right), "at": _at_json(match.at)} for match in fate.matches],
        "miss": {
            "reason": miss.reason,
            "right": _row_json(miss.right) if miss.right else None,
            "by_us": miss.by_us,
            "at": _at_json(miss.at),
        }
        if miss
        else None,
        "doubts": list(fate.doubts),
        "words": fate_lines(fate, known),
    }


def _row_json(row: KeyRow) -> dict[str, Any]:
    return {
        "row": row.row,
        "commit": row.commit,
        "written_at": iso_time(row.written_at_us),
        "time": None if unusable(row.time_us) else iso_time(row.time_us),
        "values": plain(_payload(row)),
    }


def _at_json(at: At | None) -> dict[str, Any] | None:
    if at is None:
        return None
    return {"step": at.step, "planned_at": iso_time(at.planned_at_us), "or_before": at.or_before}


def _time_json(time_us: int) -> str | None:
    return {NEVER: None, ENDED: "ended"}.get(time_us, iso_time(time_us))
