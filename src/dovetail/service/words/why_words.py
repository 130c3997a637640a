"""The answer to a question about rows, in words and as data, whatever the kind of join."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.joins.interval.fate import Fate
from dovetail.joins.known import Known
from dovetail.joins.question import Answer
from dovetail.joins.theta.fate import ThetaFate
from dovetail.joins.windowed.fate import WindowFate
from dovetail.service.cli.log_output import cell, plain
from dovetail.service.words.interval_why_words import interval_json, interval_lines
from dovetail.service.words.theta_why_words import theta_json, theta_lines
from dovetail.service.words.why_pieces import (
    at_json,
    at_words,
    doubt_words,
    gone_words,
    row_json,
    row_words,
    time_json,
)
from dovetail.service.words.window_why_words import window_json, window_lines

AnyFate = Fate | WindowFate | ThetaFate


def heading(answer: Answer, application: str) -> str:
    key = f" · key {', '.join(map(cell, answer.key))}" if answer.key else ""
    return f"{application} · join {answer.join}{key}"


def preface(answer: Answer) -> Iterator[str]:
    """What is to be known before the rows."""
    if not answer.fates:
        yield from _nothing(answer)
    elif answer.known.sure_since is not None:
        since = at_words(answer.known.sure_since)
        yield f"certain for rows that came after {since}: nothing older is on record"
    if len(answer.fates) < answer.asked:
        yield f"the newest {len(answer.fates)} of {answer.asked} left rows; --time asks for others"


def left_words(fate: AnyFate) -> str:
    """The row that was asked for, with its number, by which it can be asked for again."""
    return f"left row {fate.left.row}  {row_words(fate.left)}"


def verdict(fate: AnyFate) -> str:
    """The fate in a word or two."""
    match fate.status:
        case "not_taken":
            return "not taken yet"
        case "unmatched":
            return "not matched"
    return fate.status


def fate_lines(fate: AnyFate, known: Known) -> list[str]:
    """What became of the row, a sentence a line."""
    match fate:
        case WindowFate():
            lines = window_lines(fate, known)
        case ThetaFate():
            lines = theta_lines(fate, known)
        case _:
            lines = interval_lines(fate, known)
    return [*lines, *(doubt_words(doubt, known) for doubt in fate.doubts)]


def _nothing(answer: Answer) -> Iterator[str]:
    known = answer.known
    if not answer.key:
        yield "no left row is in the log"
        return
    yield "no left row with this key is in the log"
    if known.left.first_commit:
        yield f"it may have been there: {gone_words(known.left, 'left')}"
    count = len(known.right.rows)
    if count:
        yield f"right rows with this key: {count}, the last {row_words(known.right.rows[-1])}"
    else:
        yield "no right row has it either"
    if answer.similar:
        yield f"left keys look like this: {' | '.join(', '.join(map(cell, key)) for key in answer.similar)}"


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
        "sure_since": at_json(known.sure_since),
        "last_step": last.step if last else None,
        "left_time": time_json(last.left.time_us) if last else None,
        "right_time": time_json(last.right.time_us) if last else None,
        "left_removed_commits": known.left.first_commit,
        "right_removed_commits": known.right.first_commit,
        "similar_keys": plain(answer.similar),
        "rows": [_fate_json(fate, known) for fate in answer.fates],
    }


def _fate_json(fate: AnyFate, known: Known) -> dict[str, Any]:
    match fate:
        case WindowFate():
            details = window_json(fate)
        case ThetaFate():
            details = theta_json(fate)
        case _:
            details = interval_json(fate, known)
    return {
        "left": row_json(fate.left),
        "status": fate.status,
        "taken": at_json(fate.taken),
        **details,
        "doubts": list(fate.doubts),
        "words": fate_lines(fate, known),
    }
