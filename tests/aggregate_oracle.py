"""What an aggregate over time windows must put out, row by row in plain Python. Imports nothing of ours.

A commit is a list of rows `(time or None, key)`. Rows are numbered from 0 over all commits. Stream time is
`delay` behind the newest time, as of the end of a commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Row = tuple[int | None, object]
Window = tuple[int, int]
Session = list[tuple[int, int]]


@dataclass
class Expected:
    """`closed` and `late`: row number and window. `open`: rows that are in a window that has not closed."""

    closed: set[tuple[int, Window]] = field(default_factory=set)
    late: set[tuple[int, Window]] = field(default_factory=set)
    open: set[tuple[int, Window]] = field(default_factory=set)


def fixed_windows(
    commits: Sequence[Sequence[Row]], delay: int, length: int, every: int, start: int
) -> Expected:
    made, now, number = Expected(), None, 0
    for commit in commits:
        for time, _ in commit:
            if time is not None:
                for window in _windows(time, length, every, start):
                    late = now is not None and window[1] <= now
                    (made.late if late else made.open).add((number, window))
            number += 1
        now = _later(now, commit, delay)
        done = {pair for pair in made.open if now is not None and pair[1][1] <= now}
        made.closed |= done
        made.open -= done
    return made


def _windows(time: int, length: int, every: int, start: int) -> list[Window]:
    begin = start
    while begin > time:
        begin -= every
    while begin + every <= time:
        begin += every
    found = []
    while begin + length > time:
        found.append((begin, begin + length))
        begin -= every
    return found


def session_windows(commits: Sequence[Sequence[Row]], delay: int, gap: int) -> Expected:
    made, now, number = Expected(), None, 0
    waiting: dict[object, Session] = {}
    for commit in commits:
        for time, key in commit:
            if time is not None:
                if now is not None and time < now:
                    made.late.add((number, (time, time + gap)))
                else:
                    waiting.setdefault(key, []).append((time, number))
            number += 1
        now = _later(now, commit, delay)
        for key, rows in waiting.items():
            kept: Session = []
            for session in _sessions(rows, gap):
                window = session[0][0], session[-1][0] + gap
                if now is not None and window[1] <= now:
                    made.closed |= {(row, window) for _, row in session}
                else:
                    kept += session
            waiting[key] = kept
    for rows in waiting.values():
        for session in _sessions(rows, gap):
            made.open |= {(row, (session[0][0], session[-1][0] + gap)) for _, row in session}
    return made


def _sessions(rows: Session, gap: int) -> list[Session]:
    found: list[Session] = []
    for time, number in sorted(rows):
        if found and time < found[-1][-1][0] + gap:
            found[-1].append((time, number))
        else:
            found.append([(time, number)])
    return found


def _later(now: int | None, commit: Sequence[Row], delay: int) -> int | None:
    times = [time for time, _ in commit if time is not None]
    if not times:
        return now
    return max(times) - delay if now is None else max(now, max(times) - delay)
