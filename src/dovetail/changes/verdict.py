"""What a change means for the rows that an application has read, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Verdict = Literal["next step", "kept", "replayed", "afresh", "let go", "refused"]
"""From harmless to strict. `next step`: nothing that was seen is affected. `kept`: the state stays as it
is, and rows in flight are explained. `replayed`: the state is read from the log again, in the step of the
change. `afresh`: the join lets go what it holds, and begins again with what its inputs still have.
`let go`: a join or an aggregate is removed, and rows that it holds do not come out. `refused`: there is no
way from the old state to the new query."""

ORDER = get_args(Verdict)


@dataclass(frozen=True)
class Cost:
    """Rows and bytes that are read for a change, and how many seconds that takes. None: not known."""

    rows: int | None
    bytes: int | None
    seconds: float | None = None

    def __add__(self, other: Cost) -> Cost:
        """What is not known of one is not known of both."""
        rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        size = None if self.bytes is None or other.bytes is None else self.bytes + other.bytes
        seconds = None if self.seconds is None or other.seconds is None else self.seconds + other.seconds
        return Cost(rows, size, seconds)


def total(costs: Iterable[Cost | None]) -> Cost | None:
    """The sum of several; None if there are none, or nothing is known of one of them."""
    found = list(costs)
    known = [cost for cost in found if cost is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(found) else None


@dataclass(frozen=True)
class Change:
    """One difference, in the terms of the query. `part` is the part of the plan it is in. `flight` says
    what becomes of rows that have come but not gone yet; `instead` names a way that works. `place` shows
    where in the text it is."""

    rule: str
    part: str
    verdict: Verdict
    what: str
    flight: str | None = None
    cost: Cost | None = None
    instead: str | None = None
    place: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def strictest(changes: Iterable[Change]) -> Verdict | None:
    """The verdict on all of them; None if nothing changes."""
    return max((change.verdict for change in changes), key=ORDER.index, default=None)
