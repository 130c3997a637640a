"""How a join is doing, read from its home: the log, the records of its steps and its snapshots.

Law: measuring only reads. The join may be running, here or elsewhere, or stopped. A file that is just being
replaced is read as it was before or after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dovetail.engine.asked_tasks import Origin, asked
from dovetail.engine.idle import SILENT_US
from dovetail.engine.row_cost import row_cost_us
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.engine.step_log import StepLog
from dovetail.errors import DovetailError
from dovetail.joins.interval.capped_keys import worst
from dovetail.joins.kind import add_totals
from dovetail.joins.rebuild_progress import Rebuilding, rebuilding
from dovetail.joins.step_input import Totals
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.log.source_progress import SourceReport, WriterState, read_reports
from dovetail.model.frequent_key import FrequentKey, most_frequent
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.share import Side
from dovetail.model.step_record import SideRecord, StepRecord

RECENT_US = 60 * 1_000_000
RECENT_STEPS = 256
LOOKED_AT = 64
"""How many of the newest commits rates and frequent keys are taken from, at most."""
FREQUENT_SHARE = 0.01


@dataclass(frozen=True)
class KeyShare:
    """A key as people write it, and the share of recent rows that have it."""

    key: tuple[str, ...]
    share: float


SourceState = WriterState | Literal["silent"]


@dataclass(frozen=True)
class SourceMeasure:
    """How far a slicer is in its source, by its last report. `silent`: it makes none any more. What is not
    sliced yet, None where that is not known; `newest_us`: when the source last grew."""

    state: SourceState
    since_us: int
    looked_at_us: int
    files: int | None
    bytes: int | None
    rows: int | None
    newest_us: int | None
    trouble: str | None = None  # why the source cannot be read now


@dataclass(frozen=True)
class StreamMeasure:
    """One side of a join. `rows` counts everything that its slicer ever wrote. The backlog is what the join
    has not taken, in rows and in event time. What its slicer has not read either is in `source`, where a
    slicer reports. `behind_us`: how far its stream time is behind the clock. `rows_per_event_s`: rows per
    second of event time. `held_back`: recent rows that are too far ahead of the others to move fixed stream
    time (None: it is estimated). The last three say what an estimate rests on."""

    side: Side
    category: str
    rows: int
    rows_per_s: float
    backlog_rows: int
    backlog_us: int | None
    time_us: int | None
    behind_us: int | None
    rows_per_event_s: float | None
    paused_share: float
    carried: bool
    late: int
    null_keys: int
    invalid: int
    capped: int
    held_rows: int
    log_bytes: int
    frequent: tuple[KeyShare, ...]
    capped_keys: dict[str, int]
    held_back: int | None
    window: int | None
    values: tuple[int, ...]
    accuracy: float | None
    source: SourceMeasure | None = None

    @property
    def unsliced_files(self) -> int | None:
        return self.source.files if self.source else None

    @property
    def unsliced_bytes(self) -> int | None:
        return self.source.bytes if self.source else None

    @property
    def unsliced_rows(self) -> int | None:
        return self.source.rows if self.source else None

    @property
    def source_newest_us(self) -> int | None:
        return self.source.newest_us if self.source else None


@dataclass(frozen=True)
class JoinMeasure:
    """`tasks`: of the last planned step (None: not known). Also the number asked for the next one (None: one
    per core of Spark), and who asked."""

    name: str
    step: int
    measured_at_us: int
    left: StreamMeasure
    right: StreamMeasure
    totals: Totals
    planning_share: float | None  # of the time from step to step, over the steps on record
    tasks: int | None = None
    tasks_asked: int | None = None
    tasks_from: Origin = "cores"
    replay: Rebuilding | None = None  # a rebuild that is under way
    row_us: float | None = None  # what a row costs, see `row_cost.py`
    splits_keys: bool = True  # a frequent key is shared out to several tasks

    @property
    def streams(self) -> tuple[StreamMeasure, StreamMeasure]:
        return self.left, self.right

    @property
    def match_rate(self) -> float | None:
        """Share of left rows with a partner, among those that are no longer waiting for one."""
        return match_rate(self.totals)


def match_rate(totals: Totals) -> float | None:
    settled = totals.get("left_in", 0) - totals.get("open_rows", 0) - totals.get("left_split", 0)
    if settled <= 0 or "left_matched" not in totals:  # left rows are spread over several tasks: not known
        return None
    return min(1.0, totals["left_matched"] / settled)


def measure(config: JoinConfig, now_us: int) -> JoinMeasure:
    records = StepLog(config.home, config.state_path).recent(RECENT_STEPS)
    totals = latest_totals(config)
    tasks = records[-1].tasks if records else None
    wanted = asked(config, tasks)
    return JoinMeasure(
        config.join,
        records[-1].step if records else 0,
        now_us,
        _stream(config, "left", records, totals, now_us),
        _stream(config, "right", records, totals, now_us),
        totals,
        _planning(records),
        tasks,
        wanted.tasks,
        wanted.origin,
        rebuilding(config, now_us),
        row_cost_us(records),
        config.splits_hot_keys,
    )


def _planning(records: Sequence[StepRecord]) -> float | None:
    spent_us = records[-1].planned_at_us - records[0].planned_at_us if records else 0
    return sum(record.planning_us for record in records[1:]) / spent_us if spent_us else None


def latest_totals(config: JoinConfig) -> Totals:
    """The running totals of the last step whose snapshots of all tasks are in the home."""
    files = SnapshotFiles(config)
    for names in reversed(files.whole_in_home().values()):
        totals: Totals = {}
        try:
            for name in names:
                totals = add_totals(totals, files.totals_in_home(name))
        except FileNotFoundError:
            continue  # replaced meanwhile
        return totals
    return {}


def _stream(
    config: JoinConfig, side: Side, records: Sequence[StepRecord], totals: Totals, now_us: int
) -> StreamMeasure:
    category = Category.open(config.home, config.left if side == "left" else config.right)
    stop, first = category.next_commit(), category.first_commit()
    recent = category.commits(max(first, stop - LOOKED_AT), stop)
    steps: list[SideRecord] = [getattr(record, side) for record in records]
    last = steps[-1] if steps else None
    taken = last.stop if last else first
    backlog = category.commits(max(first, taken), stop)
    time_us = last.time_us if last and last.time_us not in (NEVER, ENDED) else None
    explained = [step.taken[-1] for step in steps if step.taken]
    needed = category.readers().get(config.reader, first)
    return StreamMeasure(
        side=side,
        category=category.name,
        rows=recent[-1].next_row if recent else 0,
        rows_per_s=_rate(recent, now_us),
        backlog_rows=sum(commit.rows for commit in backlog),
        backlog_us=_backlog_us(backlog, time_us),
        time_us=time_us,
        behind_us=now_us - time_us if time_us is not None else None,
        rows_per_event_s=_density(steps),
        paused_share=_paused(records, side, now_us),
        carried=bool(last and last.carried),
        late=totals.get(f"{side}_late", 0),
        null_keys=totals.get(f"{side}_void", 0),
        invalid=totals.get(f"{side}_invalid", 0),
        capped=totals.get(f"{side}_capped", 0),
        held_rows=totals.get("open_rows" if side == "left" else "retained_rows", 0),
        log_bytes=sum(commit.bytes for commit in category.commits(max(first, needed), stop)),
        frequent=_frequent(category, config.keys, recent),
        capped_keys=worst(totals, side, 5),
        held_back=explained[-1].held_back if explained else None,
        window=explained[-1].window if explained else None,
        values=explained[-1].values if explained else (),
        accuracy=explained[-1].accuracy if explained else None,
        source=source_of(category, now_us),
    )


def source_of(category: Category, now_us: int) -> SourceMeasure | None:
    """For the side's slicer, as its last report says; None where none reports, or a report cannot be read:
    the coordinator says so."""
    try:
        reports = read_reports(category)
    except DovetailError:
        return None
    return _measured(reports[0], now_us) if reports else None


def _measured(report: SourceReport, now_us: int) -> SourceMeasure:
    silent = report.state != "stopped" and abs(now_us - report.looked_at_us) > SILENT_US
    return SourceMeasure(
        "silent" if silent else report.state,
        report.looked_at_us if silent else report.since_us,
        report.looked_at_us,
        report.files,
        report.bytes,
        report.rows,
        report.newest_us,
        report.trouble,
    )


def _backlog_us(backlog: Sequence[Commit], time_us: int | None) -> int | None:
    newest = [commit.sketch.max_us for commit in backlog if commit.sketch.count]
    if not newest:
        return 0
    return None if time_us is None else max(0, max(newest) - time_us)


def _rate(commits: Sequence[Commit], now_us: int) -> float:
    """Rows per second over the last minute, or over the part of it that the given commits cover."""
    recent = [commit for commit in commits if commit.written_at_us > now_us - RECENT_US]
    since_us = now_us - RECENT_US
    if len(recent) == LOOKED_AT:
        since_us = recent.pop(0).written_at_us
    return sum(commit.rows for commit in recent) / max(1e-6, (now_us - since_us) / 1e6)


def _density(steps: Sequence[SideRecord]) -> float | None:
    """Rows per second of event time, over the recorded steps in which the stream had a time."""
    timed = [step for step in steps if step.time_us not in (NEVER, ENDED)]
    if len(timed) < 2 or timed[-1].time_us <= timed[0].time_us:
        return None
    return sum(step.rows for step in timed[1:]) / ((timed[-1].time_us - timed[0].time_us) / 1e6)


def _paused(records: Sequence[StepRecord], side: Side, now_us: int) -> float:
    """Share of the time since the first record in which the stream had to wait for the other."""
    if not records:
        return 0.0
    ends = [*(later.planned_at_us for later in records[1:]), now_us]
    spans = [max(0, end - record.planned_at_us) for record, end in zip(records, ends, strict=True)]
    paused = sum(span for record, span in zip(records, spans, strict=True) if getattr(record, side).paused)
    return paused / sum(spans) if sum(spans) else 0.0


def _frequent(category: Category, keys: Sequence[str], commits: Sequence[Commit]) -> tuple[KeyShare, ...]:
    rows = sum(commit.rows for commit in commits)
    placed = {}
    for commit in commits:
        for info in commit.segments:
            for key in info.frequent:
                placed[key.hash] = info, key.at
    shares = []
    every = (key for commit in commits for info in commit.segments for key in info.frequent)
    for found in most_frequent(every, 5):
        if _share(found, rows) < FREQUENT_SHARE:
            continue
        info, at = placed[found.hash]
        batch = category.open_segment(info).mapped
        shares.append(
            KeyShare(tuple(str(batch.column(key)[at].as_py()) for key in keys), _share(found, rows))
        )
    return tuple(shares)


def _share(key: FrequentKey, rows: int) -> float:
    return key.rows / rows if rows else 0.0
