"""One join of a version, over recorded steps, with its state in memory.

Law: a step takes the commits that the running application took in it, and no others. Stream times are those
on record for a side about which nothing differs; otherwise the version's own clock says what they would have
been. So what differs between two versions comes from their difference alone."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from dovetail.engine.advance import advance
from dovetail.engine.driver import joined_schema
from dovetail.engine.floors import with_floors
from dovetail.engine.join_step import gather
from dovetail.engine.planner import pace_of, summary
from dovetail.joins.rows.gather import Rows
from dovetail.joins.sample import Sample
from dovetail.joins.state import JoinState
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.streams import Times
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.step_record import StepRecord
from dovetail.plan.configure import join_config
from dovetail.plan.physical import JoinStage, Plan
from dovetail.preview.identity import carried, with_identity
from dovetail.preview.side_rows import SideRows
from dovetail.time.coordinator import Both, plan

_MOST_ROWS = 1 << 62


class JoinReplay:
    """`follows`: for which sides the recorded stream times hold. `before`: the record before the first that
    is taken, None if the join begins with it."""

    def __init__(
        self,
        plan: Plan,
        stage: JoinStage,
        sides: tuple[SideRows, SideRows],
        follows: Both,
        before: StepRecord | None,
    ) -> None:
        self.stage, self._sides, self._follows = stage, sides, follows
        config = join_config(plan, stage, "", tasks=1)
        settings = replace(config.settings, splits_hot_keys=False)
        self._config = replace(
            config, columns=(*config.columns, *carried(config.keys)), tasks=1, settings=settings
        )
        self._pace = pace_of(self._config, 1)._replace(max_step_rows=_MOST_ROWS)
        self.at = self._begin(before)
        self._live = _fresh(self._config, self.at)

    @property
    def totals(self) -> Totals:
        return self._live.totals

    def take(self, record: StepRecord | None) -> pa.Table | None:
        """The rows of a recorded step. Without one: of all that is there, and then every window closes. None:
        one of the sides has nothing yet, or nothing happens."""
        recorded = (record.left.stop, record.right.stop) if record else (0, 0)
        stops = [side.stop(max(side.first, stop)) for side, stop in zip(self._sides, recorded, strict=True)]
        found = [side.category() for side in self._sides]
        if found[0] is None or found[1] is None:
            return None
        left, right = found[0], found[1]
        start = self.at
        new = [
            [summary(commit) for commit in category.commits(at, max(at, stop))]
            for category, at, stop in zip(found, (start.left, start.right), stops, strict=True)
            if category is not None
        ]
        final = record is None or record.ended
        idle = (record.left.carried, record.right.carried) if record else (False, False)
        end = plan(start, new[0], new[1], self._pace, final=final, waits=False, idle=idle).end
        end = end.moved(query=self._config.query) if end is not start else end
        end = self._as_recorded(start, end, record)
        if end is start:
            return None
        self.at = end = with_floors(self._config, end, left, right)
        return self._run(start, end, left, right)

    def _run(self, start: JoinOffset, end: JoinOffset, left: Category, right: Category) -> pa.Table:
        given = StepInput(
            self._config,
            self._config.share(0, end),
            start,
            end,
            Rows(left, start.left_floor, end.left),
            Rows(right, start.right_floor, end.right),
        )
        emitted, totals = advance(self._live, given)
        live = _fresh(self._config, end) if end.ended else self._live
        self._live = live._replace(totals=totals)
        schema = joined_schema(self._config, left, right)
        rows = pa.Table.from_batches(gather(self._config, emitted, given.left, given.right, schema), schema)
        return with_identity(rows, len(self._config.keys))

    def _begin(self, before: StepRecord | None) -> JoinOffset:
        left, right = (side.begin for side in self._sides)
        at = JoinOffset(left=left, right=right, left_floor=left, right_floor=right, query=self._config.query)
        if before is None or before.ended:
            return at
        if self._follows[0]:
            at = at.moved(left_time=before.left.time_us)
        return at.moved(right_time=before.right.time_us) if self._follows[1] else at

    def _as_recorded(self, start: JoinOffset, end: JoinOffset, record: StepRecord | None) -> JoinOffset:
        if record is None or record.ended:
            return end
        times = end.times if end is not start else start.times
        wanted = (
            max(record.left.time_us, start.times[0]) if self._follows[0] else times[0],
            max(record.right.time_us, start.times[1]) if self._follows[1] else times[1],
        )
        if wanted == times:
            return end
        if end is start:
            if start.step == 0:
                return start
            end = start.moved(step=start.step + 1, tasks=1, turns=[], ended=False)
        return end.moved(left_time=wanted[0], right_time=wanted[1])


def _fresh(config: JoinConfig, at: JoinOffset) -> LiveState:
    state = JoinState.empty(config.join_kind.state_spec)
    state.times = Times(*at.times)
    return LiveState(state, Sample.empty(), {}, {})
