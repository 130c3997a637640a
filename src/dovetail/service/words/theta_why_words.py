"""The fate of a row of a theta join, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.joins.known import Known
from dovetail.joins.theta.fate import Outside, ThetaFate, ThetaMiss
from dovetail.service.cli.log_output import iso_time
from dovetail.service.units import span
from dovetail.service.words.why_pieces import (
    SHOWN_MATCHES,
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


def theta_lines(fate: ThetaFate, known: Known) -> Iterator[str]:
    if fate.taken is None:
        yield not_taken(fate.left, known)
        return
    yield from match_lines(fate.matches[:SHOWN_MATCHES])
    if fate.matched > SHOWN_MATCHES:
        yield f"and {fate.matched - SHOWN_MATCHES} more"
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


def _open(fate: ThetaFate, known: Known) -> str:
    if fate.until_rows is not None:
        text = f"open until {_rows(fate.until_rows, 'more left ')} entered"
    else:
        closing, now = iso_time(known.window(fate.left)[1]), stream_time(known.times(-1).right)
        text = f"open until the right stream's time passes {closing}; it is {now}"
    if fate.matches:
        return f"{text}; more may match"
    if known.spec.defers_pick and fate.fitting:
        return f"{text}; then one of {_rows(fate.fitting)} in its window is picked"
    return text


def _why(fate: ThetaFate, miss: ThetaMiss, known: Known) -> Iterator[str]:
    match miss.reason:
        case "invalid_time":
            yield f"it can match nothing: {fate.invalid}"
            return
        case "right_late":
            assert miss.by_us is not None
            yield written_late(miss.by_us, miss.at)
        case "left_late":
            late = "after the streams had ended" if miss.by_us is None else f"{span(miss.by_us)} late"
            yield f"it came {late}: a right row in its window had been let go in {at_words(miss.at)}"
        case "condition_fails":
            yield f"of {_rows(fate.in_window)} in its window the condition holds for none"
            for text, count in (part for part in fate.failing if part.rows):
                yield f"{text} fails for {'all of them' if count == fate.in_window else f'{count:,}'}"
        case "outside_window":
            yield "no right row is in its window"
        case "no_right_row":
            yield "no right row is in its window, and the condition holds for none that the log has"
    if miss.right is not None:
        what = {"right_late": "too late", "left_late": "let go", "condition_fails": "closest"}[miss.reason]
        yield f"{what}: {row_words(miss.right)}"
    if miss.outside is not None:
        yield from _outside(fate, miss.outside)
    if fate.window is not None:
        low, high = fate.window
        yield f"its window is {iso_time(low)} to {iso_time(high)}"


def _outside(fate: ThetaFate, outside: Outside) -> Iterator[str]:
    side = "before" if outside.by < 0 else "after"
    far = _rows(abs(outside.by), "") if fate.counts_rows else span(outside.by)
    yield f"the condition holds for a right row that is {far} outside the window, {side} it"
    yield f"nearest: {row_words(outside.right)}"


def _rows(count: int, side: str = "right ") -> str:
    return f"{count:,} {side}row{'' if count == 1 else 's'}"


def theta_json(fate: ThetaFate) -> dict[str, Any]:
    miss = fate.miss
    outside = miss.outside if miss else None
    return {
        "window": [iso_time(edge) for edge in fate.window] if fate.window else None,
        "closed": at_json(fate.closed),
        "in_window": fate.in_window,
        "failing": [{"condition": text, "rows": count} for text, count in fate.failing],
        "matched": fate.matched,
        "matches": match_json(fate.matches),
        **({} if fate.comparison is None else {"pick": comparison_json(fate.comparison)}),
        "open_for_rows": fate.until_rows,
        "miss": {
            "reason": miss.reason,
            "right": row_json(miss.right) if miss.right else None,
            "by_us": miss.by_us,
            "at": at_json(miss.at),
            "outside": {
                "right": row_json(outside.right),
                "by_rows" if fate.counts_rows else "by_us": outside.by,
            }
            if outside
            else None,
        }
        if miss
        else None,
    }
