"""The fate of a row of a join by interval, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.joins.interval.fate import Fate, Miss
from dovetail.joins.known import Known
from dovetail.model.time_codes import unusable
from dovetail.service.cli.log_output import iso_time
from dovetail.service.units import span
from dovetail.service.words.why_pieces import (
    at_json,
    at_words,
    comparison_json,
    comparison_lines,
    leaving,
    match_json,
    match_lines,
    not_taken,
    row_json,
    row_words,
    stream_time,
    written_late,
)


def interval_lines(fate: Fate, known: Known) -> Iterator[str]:
    if fate.taken is None:
        yield not_taken(fate.left, known)
        return
    yield from match_lines(fate.matches)
    if fate.comparison is not None and fate.matches:
        yield from comparison_lines(fate.comparison, decided=True)
    if fate.miss is not None:
        yield from _why(fate, fate.miss, known)
    if fate.closed is None:
        yield _open(fate, known)
        if fate.comparison is not None:
            yield from comparison_lines(fate.comparison, decided=False)
    elif fate.miss is not None:
        came = f"it came in {at_words(fate.taken)}, " if fate.taken != fate.closed else "it came and "
        yield f"{came}closed in {at_words(fate.closed)}, and {leaving(known)}"
    elif known.spec.how == "anti":
        yield "so it does not come out: the join is an anti join"


def _open(fate: Fate, known: Known) -> str:
    closing = iso_time(known.window(fate.left)[1])
    text = f"open until the right stream's time passes {closing}; it is {stream_time(known.times(-1).right)}"
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
            yield written_late(miss.by_us, miss.at)
            yield f"too late: {about}"
        case "left_late":
            late = "after the streams had ended" if miss.by_us is None else f"{span(miss.by_us)} late"
            yield f"it came {late}: the right row in its window had been let go in {at_words(miss.at)}"
            yield f"let go: {about}"
        case "left_capped":
            yield "it had to make room for newer left rows before its window was over: the cap per key"
        case "right_capped":
            yield "a right row in its window had made room for newer right rows: the cap per key"
            yield f"missed: {about}"


def interval_json(fate: Fate, known: Known) -> dict[str, Any]:
    miss = fate.miss
    window = None if fate.invalid else [iso_time(edge) for edge in known.window(fate.left)]
    return {
        "window": window,
        "closed": at_json(fate.closed),
        "in_window": fate.in_window,
        "matches": match_json(fate.matches),
        **({} if fate.comparison is None else {"pick": comparison_json(fate.comparison)}),
        "miss": {
            "reason": miss.reason,
            "right": row_json(miss.right) if miss.right else None,
            "by_us": miss.by_us,
            "at": at_json(miss.at),
        }
        if miss
        else None,
    }
