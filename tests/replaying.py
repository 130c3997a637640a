"""What a join of an application must have put out, by an oracle that is given the rows of each recorded step.

The records say which commits a step took, which times it came to, and which query it ran. What follows from
that, the oracle finds by brute force: see `change_oracle.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import oracle
from change_oracle import ChangingJoin
from dovetail.engine.step_log import StepLog
from dovetail.log.category import Category
from dovetail.model.join_config import state_path
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.step_record import SideRecord
from dovetail.model.time_codes import FIRST_TIME
from dovetail.plan.physical import JoinStage, filed_under

Row = tuple[Any, int | None, int]


@dataclass
class Replayed:
    """One join of an application. `became`: what the oracle makes of the change to a version. `ids`: the
    columns of the two sides that number their rows. `afresh`: the oracle of a join that begins afresh with a
    version; the one before it has taken all that was there, and ends unless the new one takes over whole.
    `waited`: the left rows that the one before had not answered by then."""

    home: str
    application: str
    ids: tuple[str, str]
    oracle: Any
    became: dict[int, Callable[[Any], list[Any]]]
    afresh: dict[int, Any] = field(default_factory=dict)
    waited: set[int] = field(default_factory=set)
    _begun: int = 1
    _seen: int = 0
    _queries: list[int] = field(default_factory=lambda: [1])

    def rows(self, version: int, stage: JoinStage) -> list[Any]:
        """What came out in the steps since the last look, the last of which are of this version."""
        out: list[Any] = []
        if stage.begun != self._begun:
            if not stage.whole:
                out += self.oracle.step([], [], (oracle.ENDED, oracle.ENDED))
            if isinstance(self.oracle, ChangingJoin):
                self.waited = self.oracle.waiting()
            self.oracle, self._begun, self._seen, self._queries = self.afresh[version], stage.begun, 0, [1]
        steps = StepLog(self.home, state_path(self.application, filed_under(stage)))
        for record in steps.read(self._seen + 1):
            self._seen = record.step
            if record.query != self._queries[-1]:
                self._queries.append(record.query)
                out += self.became[version](self.oracle)
                continue
            until = tuple(_time(side.time_us) for side in (record.left, record.right))
            lefts = self._taken(stage.left, self.ids[0], record.left)
            rights = self._taken(stage.right, self.ids[1], record.right)
            if stage.filled and (record.left.start < stage.filled[0] or record.right.start < stage.filled[1]):
                self.oracle.fill(lefts, rights, until, not stage.whole)
            else:
                out += self.oracle.step(lefts, rights, until)
        return out

    def _taken(self, name: str, number: str, record: SideRecord) -> list[Row]:
        category = Category.open(self.home, name)
        found: list[Row] = []
        for commit in category.commits(record.start, record.stop):
            for info in commit.segments:
                batch = category.open_segment(info).batch
                value = "_key_0" if "_key_0" in batch.schema.names else "_on_0"
                columns = [batch.column(name).to_pylist() for name in (value, "_time", number)]
                found += [
                    (key, time if time >= FIRST_TIME else None, row)
                    for key, time, row in zip(*columns, strict=True)
                ]
        return found


def _time(time_us: int) -> float:
    return {NEVER: oracle.NEVER, ENDED: oracle.ENDED}.get(time_us, time_us)
