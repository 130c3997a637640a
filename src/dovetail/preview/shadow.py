"""A new version beside the running one: it follows the steps that are done, and never holds them up.

Law: what is compared, and what is put aside, does not depend on how often the shadow was stopped or killed.
A row is compared once both versions can put out no other for the event time it belongs to. A shadow that
starts again runs both versions over the log once more, from before that time on, and leaves out what it has
compared (`shadow_files.py`).

The running application is only read. A mark with a lease keeps the log for the shadow: if it dies, the mark
counts no more after ten minutes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from dovetail.changes.leftovers import remove_category
from dovetail.engine.home_snapshots import HomeSnapshots
from dovetail.engine.step_log import read_records
from dovetail.errors import CategoryNotFound, PreviewError, StateError
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import open_store
from dovetail.model.offset import NEVER
from dovetail.model.step_record import StepRecord
from dovetail.plan.application_file import read_current
from dovetail.plan.configure import join_config
from dovetail.plan.physical import JoinStage, Plan
from dovetail.preview.compare import Difference, between, compare
from dovetail.preview.identity import columns
from dovetail.preview.preview import counted_from, paired_tables
from dovetail.preview.reach import base_slicer, newest_us, recorded
from dovetail.preview.replay import Replay
from dovetail.preview.shadow_files import (
    Progress,
    ShadowPosition,
    aside,
    read_progress,
    read_shadow,
    shadow_of,
)
from dovetail.slicing.write_rows import bucket_of, time_of

LEASE_S = 600.0
RENEWED_S = 60.0


@dataclass(frozen=True)
class _Came:
    """Rows of a table that came out of a step of a join."""

    join: str
    step: int
    rows: pa.Table


class Shadow:
    """`work`: a folder of this process. `version`: the one of the application that is followed."""

    def __init__(self, home: str, work: str, running: Plan, new: Plan, version: int) -> None:
        self._home, self._work, self._running, self._new, self._version = home, work, running, new, version
        self._app = running.application
        for join in (*running.joins, *new.joins):
            if join.join_kind.apart is None:
                raise PreviewError(
                    f"join {join.name} has no bounds of event time, so no row is ever known to be the last",
                    expected="an interval join, or tumbling or hopping windows",
                    hint="`dovetail preview` compares the two versions over the log",
                )
        self._raw: frozenset[str] = frozenset()
        self._marked_s = -RENEWED_S
        self._starts = 0
        self._start()

    def follow(self) -> bool:
        """Take what is done by now and compare what can be; whether there was anything."""
        self._require_unchanged()
        news = self._news()
        for join, record in news:
            self._take(join, record)
        needs = frozenset().union(*(replay.needs_spark for replay in self._replays))
        if not needs <= self._raw:
            self._raw = needs  # both versions are compared at the same place, from the start on
            self._start()
            return True
        compared = self._compare()
        self._mark()
        return bool(news) or compared

    @property
    def progress(self) -> Progress:
        return self._progress

    def _start(self) -> None:
        known = {join.name: recorded(self._home, self._running, join) for join in self._running.joins}
        found = read_progress(self._home, self._app)
        exact = counted_from(self._running, self._new, known)
        if found is None:
            since = max(exact, *(newest_us(one.steps) for one in known.values()))
            found = Progress(0, since, {}, {}, written_at_us=time.time_ns() // 1000)
            found.write(self._home, self._app)  # from now on it is known what counts
        reached = [one.until_us for one in found.at.values() if one.until_us != NEVER]
        if found.at and exact > max(min(reached, default=exact), found.since_us):
            raise StateError(
                "the log no longer reaches back to where the shadow stopped",
                where=self._home,
                expected="what it had not compared yet",
                hint=f"`dovetail shadow {self._app} --drop`, and start it again",
            )
        self._progress = found
        self._pending: tuple[dict[str, list[_Came]], ...] = ({}, {})
        self._starts += 1
        folders = [f"{self._work}/{self._starts}/{name}" for name in ("old", "new")]
        self._replays = tuple(
            Replay(plan, self._running, self._home, folder, known, put, self._raw)
            for plan, folder, put in zip(
                (self._running, self._new), folders, (self._put_old, self._put_new), strict=True
            )
        )
        self._last: dict[str, StepRecord] = {}
        self._closed: dict[str, int] = {}
        done = [(join, record) for join, one in known.items() for record in self._done(join, one.steps)]
        for join, record in sorted(done, key=lambda step: step[1].planned_at_us):
            self._take(join, record)
        self._put_aside_again()

    def _take(self, join: str, record: StepRecord) -> None:
        self._now = join, record.step
        for replay in self._replays:
            replay.take(join, record)
        self._last[join] = record
        if record.ended:
            self._closed[join] = record.step

    def _put_old(self, table: str, rows: pa.Table) -> None:
        self._keep(0, table, rows)

    def _put_new(self, table: str, rows: pa.Table) -> None:
        self._keep(1, table, rows)

    def _keep(self, version: int, table: str, rows: pa.Table) -> None:
        """What has not been compared before the last batch."""
        join, step = self._now
        before = self._progress.before
        rows = between(rows, self._progress.since_us, None)
        came = _after(_Came(join, step, rows), before)
        self._pending[version].setdefault(table, []).append(_Came(join, step, came))

    def _news(self) -> list[tuple[str, StepRecord]]:
        found = []
        for stage in self._running.joins:
            last = self._last.get(stage.name)
            config = join_config(self._running, stage, self._home, tasks=1)
            records = read_records(config, 0 if last is None else last.step)
            if last is not None and (not records or records[0] != last):
                raise StateError(
                    f"the steps of join {stage.name} are not those that the shadow has followed",
                    where=self._home,
                    expected=f"step {last.step} as it was",
                    hint=f"`dovetail shadow {self._app} --drop`, and start it again",
                )
            new = records if last is None else records[1:]
            found += [(stage.name, record) for record in self._done(stage.name, new)]
        return sorted(found, key=lambda step: step[1].planned_at_us)

    def _done(self, join: str, records: Sequence[StepRecord]) -> list[StepRecord]:
        """A step that was planned may be planned otherwise after a crash; not so once its snapshots are
        there, or the next one is planned."""
        stage = next(one for one in self._running.joins if one.name == join)
        config = join_config(self._running, stage, self._home, tasks=1)
        ran = max((int(version[:12]) for version in HomeSnapshots(config).whole_in_home()), default=0)
        last = records[-1].step if records else 0
        return [record for record in records if record.step < last or record.step <= ran]

    def _bound(self, join: str) -> int:
        """Rows that belong to an earlier event time have all come out, of both versions."""
        found = []
        for replay in self._replays:
            at = replay.joins[join].at if join in replay.joins else None
            if at is None or at.step == 0:
                return NEVER
            apart = replay.joins[join].stage.join_kind.apart
            assert apart is not None
            low = min(at.times)
            wide = max(0, apart.before_us) + max(0, apart.after_us)
            found.append(low if low == NEVER else low - wide)
        return min(found)

    def _compare(self) -> bool:
        at = {join: self._position(join, record.step) for join, record in self._last.items()}
        olds, news = (self._cut(version, at) for version in range(2))
        if not any(rows.num_rows for rows in (*olds.values(), *news.values())):
            return False
        pairs, alone = paired_tables(self._running, self._new, set(olds), set(news))
        notes = dict.fromkeys(note for replay in self._replays for note in replay.unseen())
        notes |= dict.fromkeys(f"table {name} is {what}: its rows are not compared" for name, what in alone)
        tables = dict(self._progress.tables)
        for old, new in pairs:
            tables[new] = tables.get(new, Difference()).plus(compare(olds[old], news[new]))
        self._progress = replace(
            self._progress,
            batch=self._progress.batch + 1,
            at=at,
            before=self._progress.at,
            tables=tables,
            notes=tuple(notes),
            written_at_us=time.time_ns() // 1000,
        )
        self._progress.write(self._home, self._app)
        self._put_aside(news)
        self._pending = self._rest(0, at), self._rest(1, at)
        return True

    def _position(self, join: str, step: int) -> ShadowPosition:
        """Where a batch ends that is cut now. Event time starts over when both streams have ended."""
        known = self._progress.at.get(join, ShadowPosition(0, NEVER))
        closed = max(known.closed, self._closed.get(join, 0))
        until = self._bound(join)
        return ShadowPosition(step, max(until, known.until_us) if closed == known.closed else until, closed)

    def _cut(self, version: int, at: Mapping[str, ShadowPosition]) -> dict[str, pa.Table]:
        """What a batch that ends there takes of the rows that wait, by table."""
        return {
            table: pa.concat_tables(_upto(came, at) for came in waiting)
            for table, waiting in self._pending[version].items()
        }

    def _rest(self, version: int, at: Mapping[str, ShadowPosition]) -> dict[str, list[_Came]]:
        return {
            table: [replace(came, rows=_after(came, at)) for came in waiting if _after(came, at).num_rows]
            or [replace(waiting[-1], rows=waiting[-1].rows.slice(0, 0))]
            for table, waiting in self._pending[version].items()
        }

    def _put_aside(self, news: Mapping[str, pa.Table]) -> None:
        for table, rows in news.items():
            made = rows.select(columns(rows.schema)).combine_chunks()
            if not made.num_rows:
                continue
            name, batch = aside(self._app, table), self._progress.batch
            category = Category.create(self._home, name, made.schema, buckets=1, role="view", evolve=True)
            if category.last_batch(shadow_of(self._app)) < batch:
                segments = category.write_segments(made.to_batches(), bucket_of(None, 1), time_of(None))
                category.append(segments, producer=shadow_of(self._app), batch=batch)

    def _put_aside_again(self) -> None:
        """The last batch, if it was noted and not put aside before the shadow was killed."""
        at = self._progress.at
        if at and self._pending[1]:
            self._put_aside(self._cut(1, at))
            self._pending = self._rest(0, at), self._rest(1, at)

    def _mark(self) -> None:
        """Keep what a shadow that starts again here has to read."""
        now_s = time.monotonic()
        if now_s - self._marked_s < RENEWED_S:
            return
        self._marked_s = now_s
        reached = [self._progress.since_us, *(one.until_us for one in self._progress.at.values())]
        low = min(time_us for time_us in reached if time_us != NEVER) if max(reached) != NEVER else NEVER
        wide = sum(
            max(_wide(plan, join.name) for plan in (self._running, self._new)) for join in self._running.joins
        )
        for category in _read(self._home, self._running):
            first = category.first_commit()
            needed = (
                first
                if low == NEVER
                else category.first_with_time(first, category.next_commit(), low - 2 * wide)
            )
            category.set_reader(
                shadow_of(self._app), max(first, needed), application=shadow_of(self._app), lease_s=LEASE_S
            )

    def close(self) -> None:
        """The log is kept no longer for this shadow."""
        drop_marks(self._home, self._app)

    def _require_unchanged(self) -> None:
        now = read_current(self._home, self._app).version
        if now != self._version:
            raise StateError(
                f"application {self._app} is now at version {now}",
                where=self._home,
                expected=f"version {self._version}, which the shadow follows",
                hint=f"`dovetail shadow {self._app} --drop`, and start another",
            )
        if read_shadow(self._home, self._app).version != self._version:
            raise StateError(f"the shadow of {self._app} was replaced", where=self._home)


def end_shadow(home: str, application: str) -> None:
    """A process that follows sees that it is over."""
    open_store(home).delete(f"apps/{shadow_of(application)}/shadow.json")


def drop_shadow(home: str, application: str) -> None:
    """Everything of it: marks, files, and the rows that it has put aside. Nothing of the application."""
    end_shadow(home, application)
    store = open_store(home)
    drop_marks(home, application)
    for name in list_categories(home):
        if name.startswith(f"{shadow_of(application)}."):
            remove_category(store, name)
    store.delete(f"apps/{shadow_of(application)}/progress.json")


def drop_marks(home: str, application: str) -> None:
    for name in list_categories(home):
        try:
            Category.open(home, name).drop_reader(shadow_of(application))
        except CategoryNotFound:
            continue


def _upto(came: _Came, at: Mapping[str, ShadowPosition]) -> pa.Table:
    """What is compared with a batch that ends there."""
    end = at.get(came.join, ShadowPosition(0, NEVER))
    if came.step <= end.closed:
        return came.rows
    return between(came.rows, None, end.until_us) if came.step <= end.step else came.rows.slice(0, 0)


def _after(came: _Came, at: Mapping[str, ShadowPosition]) -> pa.Table:
    """What is not."""
    end = at.get(came.join, ShadowPosition(0, NEVER))
    if came.step <= end.closed:
        return came.rows.slice(0, 0)
    return between(came.rows, end.until_us, None) if came.step <= end.step else came.rows


def _wide(plan: Plan, join: str) -> int:
    stage: JoinStage | None = next((one for one in plan.joins if one.name == join), None)
    apart = None if stage is None else stage.join_kind.apart
    return 0 if apart is None else max(0, apart.before_us) + max(0, apart.after_us)


def _read(home: str, plan: Plan) -> list[Category]:
    names = {name for join in plan.joins for name in (join.left, join.right)}
    return [Category.open(home, name) for name in sorted(names) if base_slicer(plan, name) is not None]
