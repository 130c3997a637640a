"""The answer to a question about rows, in words and as data, whatever the kind of join."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.joins.question import Answer
from dovetail.model.offset import ENDED, NEVER
from dovetail.service.cli.log_output import cell, iso_time, plain
from dovetail.service.words.fate_words import (
    AnyFate,
    at_json,
    at_words,
    fate_json,
    fate_lines,
    gone_words,
    row_json,
    row_words,
)


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
        "left_time": _time_json(last.left.time_us) if last else None,
        "right_time": _time_json(last.right.time_us) if last else None,
        "left_removed_commits": known.left.first_commit,
        "right_removed_commits": known.right.first_commit,
        "similar_keys": plain(answer.similar),
        "rows": [
            {
                "left": row_json(fate.left),
                "status": fate.status,
                "taken": at_json(fate.taken),
                **fate_json(fate, known),
                "doubts": list(fate.doubts),
                "words": fate_lines(fate, known),
            }
            for fate in answer.fates
        ],
    }


def _time_json(time_us: int) -> str | None:
    return {NEVER: None, ENDED: "ended"}.get(time_us, iso_time(time_us))
