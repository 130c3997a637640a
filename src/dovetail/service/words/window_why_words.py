"""The fate of a row of a join within windows, a window at a time: in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.joins.known import Known
from dovetail.joins.windowed.fate import InWindow, WindowFate, WindowMiss
from dovetail.model.time_codes import unusable
from dovetail.service.cli.log_output import iso_time
from dovetail.service.units import span
from dovetail.service.words.why_pieces import (
    at_json,
    at_words,
    leaving,
    match_json,
    match_lines,
    not_taken,
    row_json,
    row_words,
    stream_time,
    written_late,
)


def window_lines(fate: WindowFate, known: Known) -> Iterator[str]:
    if fate.taken is None:
        yield not_taken(fate.left, known)
    elif fate.invalid is not None:
        yield f"it can match nothing, and is in no window: {fate.invalid}"
        yield f"it came in {at_words(fate.taken)}, and {leaving(known)}"
    for window in fate.windows:
        yield from _window_lines(fate, window, known)


def _window_lines(fate: WindowFate, window: InWindow, known: Known) -> Iterator[str]:
    yield f"{_name(known)} {iso_time(window.start_us)} to {iso_time(window.end_us)}: {_state(window, known)}"
    yield from match_lines(window.matches)
    if window.miss is not None:
        yield from _why(window.miss, known)
        came = f"it came in {at_words(fate.taken)}, " if fate.taken != window.over else ""
        yield f"{came}and {leaving(known)}" if came else f"it {leaving(known)}"
    elif window.over is not None and known.spec.how == "anti":
        yield "so it does not come out: the join is an anti join"


def _state(window: InWindow, known: Known) -> str:
    if window.over is not None:
        return f"over in {at_words(window.over)}"
    if not known.window_join.is_session:
        text = f"open until both stream times have come to {iso_time(window.end_us)}"
    else:
        text = f"open until both stream times have passed {iso_time(window.end_us)}, or longer if rows come"
    times = known.times(-1)
    text += f"; left is {stream_time(times.left)}, right is {stream_time(times.right)}"
    return f"{text}; more may match" if window.matches else text


def _why(miss: WindowMiss, known: Known) -> Iterator[str]:
    name = _name(known)
    match miss.reason:
        case "left_late":
            yield f"it came {_late(miss)}: the {name} was over, and it is alone in it"
            yield (
                f"missed: {row_words(miss.right)}"
                if miss.right
                else f"no right row with this key was in the {name}"
            )
        case "right_late":
            assert miss.by_us is not None
            yield written_late(miss.by_us, miss.at, "over")
        case "right_late_for_any":
            yield f"a right row that is near enough came {_late(miss)}: any session of its own was over"
        case "right_let_go":
            left = "in its window had been let go"
            if known.window_join.is_session:
                left = "that is near enough had left with its own session"
            yield f"it came {_late(miss)}: a right row {left} in {at_words(miss.at)}"
        case "session_cut":
            longest = span(known.window_join.longest_us)
            yield f"the session was cut where it would last longer than {longest}: a right row began another"
        case "outside_window":
            assert miss.by_us is not None
            side = "before" if miss.by_us < 0 else "after"
            beyond = f"{span(miss.by_us)} outside the {name}, {side} it"
            if known.window_join.is_session:
                beyond = f"{span(miss.by_us)} too far {side} the session for its gap"
            yield f"no right row with this key is in it; the nearest is {beyond}"
        case "right_invalid_time":
            assert miss.right is not None
            yield f"the right rows with this key can match nothing: {unusable(miss.right.time_us)}"
        case "no_right_row":
            yield "no right row has this key"
    if miss.right is not None and miss.reason not in ("left_late", "right_invalid_time"):
        what = {"outside_window": "nearest", "session_cut": "began another", "right_let_go": "let go"}
        yield f"{what.get(miss.reason, 'too late')}: {row_words(miss.right)}"


def _late(miss: WindowMiss) -> str:
    return "after the streams had ended" if miss.by_us is None else f"{span(miss.by_us)} late"


def _name(known: Known) -> str:
    return "session" if known.window_join.is_session else "window"


def window_json(fate: WindowFate) -> dict[str, Any]:
    return {"windows": [_in_window_json(window) for window in fate.windows]}


def _in_window_json(window: InWindow) -> dict[str, Any]:
    miss = window.miss
    return {
        "start": iso_time(window.start_us),
        "end": iso_time(window.end_us),
        "status": window.status,
        "over": at_json(window.over),
        "matches": match_json(window.matches),
        "miss": {
            "reason": miss.reason,
            "right": row_json(miss.right) if miss.right else None,
            "by_us": miss.by_us,
            "at": at_json(miss.at),
        }
        if miss
        else None,
    }
