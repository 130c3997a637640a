"""A join that begins afresh is filled with the rows that came before it, as far as its inputs reach.

    input   ─── taken by the old slicer ───┤├── taken by the new one ──
                └─► sliced once more, as the new query says ─► the first commits of the new side

Law: the rows of those commits are exactly the rows that the old slicer has taken, as far as they are still
there and the window of the join reaches back to them. The new slicer continues after them. The change counts
only after all of them are in the log: if the process dies before, the next attempt begins again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from dovetail.changes.afresh import begun_afresh, hand_over, keeps_times
from dovetail.changes.between import writer_of
from dovetail.changes.leftovers import remove_category
from dovetail.changes.takeover import Takeover
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import open_store
from dovetail.model.join_kind import JoinKind, LastRows
from dovetail.model.offset import JoinOffset
from dovetail.model.time_codes import FIRST_TIME
from dovetail.plan.configure import join_config
from dovetail.plan.physical import JoinStage, Plan, ScribeSource, SlicerStage, filed_under
from dovetail.slicing.input_files import is_local
from dovetail.slicing.placement import HASH, TIME, Placement
from dovetail.slicing.standing import CommitsRead, Standing
from dovetail.spark.append import append_batch
from dovetail.spark.batch_files import last_planned, offsets_at
from dovetail.spark.building import Builder, BuiltStage, Wanted
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.inputs import BATCH_BYTES, BATCH_ROWS, Portion
from dovetail.spark.new_readings import standing_before
from dovetail.spark.rows_in_flight import with_a_key, without_an_answer


def filled(spark: SparkSession, takeover: Takeover, index_dir: str | None) -> Takeover:
    """Fill the joins that begin afresh. The plan then says with what."""
    assert takeover.before is not None
    old, plan = takeover.before.plan, takeover.plan
    for name in sorted(begun_afresh(takeover.changes)):
        known, join = (next(j for j in one.joins if j.name == name) for one in (old, plan))
        at = last_offset(takeover.home, old, known)
        if at is None:  # it has never joined: the new one takes everything itself
            continue
        stage = _fill(spark, takeover, known, join, at, index_dir)
        plan = replace(plan, stages=tuple(stage if one is join else one for one in plan.stages))
    return replace(takeover, plan=plan)


def last_offset(home: str, plan: Plan, join: JoinStage) -> JoinOffset | None:
    """Where a join has come to: the end of the last step that was planned."""
    checkpoint = Checkpoint(home, plan.application, filed_under(join))
    batch = last_planned(checkpoint)
    return JoinOffset.from_json(offsets_at(checkpoint, batch)[0]) if batch >= 0 else None


def _fill(
    spark: SparkSession,
    takeover: Takeover,
    known: JoinStage,
    join: JoinStage,
    at: JoinOffset,
    index_dir: str | None,
) -> JoinStage:
    assert takeover.before is not None
    old, plan, home = takeover.before.plan, takeover.plan, takeover.home
    how, same_times = hand_over(old, plan, known, join), keeps_times(old, plan, known, join)
    sides = [(known.left, join.left), (known.right, join.right)]
    writers: list[SlicerStage] = []
    portions: list[list[Portion]] = []
    wanted: dict[str, Wanted] = {}
    for was, now in sides:
        writer, before = writer_of(plan, now), writer_of(old, was)
        assert isinstance(writer, SlicerStage)
        assert isinstance(before, SlicerStage)
        writers.append(writer)
        nothing = at.ended or (how == "closed" and now == join.left)
        standing = standing_before(home, old.application, before)
        portions.append([] if nothing else list(_portions(home, standing)))
        if how == "open" and now == join.left and not nothing:
            config = join_config(old, known, home, tasks=1, index_dir=index_dir)
            wanted[writer.name] = without_an_answer(spark, before, config, at)
        elif how == "whole":
            wanted[writer.name] = with_a_key(before)
    _forget(home, [now for _, now in sides])
    begins = _begins(known.join_kind, at) if how == "open" else at
    bounds = _bounds(known.join_kind, join.join_kind, at, begins) if same_times else None
    for number in range(max(1, *map(len, portions))):
        only = {
            writer.name: some[number] if number < len(some) else _none_of(writer)
            for writer, some in zip(writers, portions, strict=True)
        }
        tasks = spark.sparkContext.defaultParallelism
        builder = Builder(spark, plan, home, tasks, index_dir=None, drain=False, only=only, wanted=wanted)
        for writer in writers:
            builder.build_stage(writer)
        made = {stage.name: stage for stage in builder.stages}
        for side, (writer, (was, now)) in enumerate(zip(writers, sides, strict=True)):
            since = FIRST_TIME if bounds is None else max(FIRST_TIME, bounds[side])
            _append(made[writer.name], plan.application, number, home, (was, now), since)
    commits = [Category.open(home, now).next_commit() for _, now in sides]
    if how == "open":
        commits[0] = 0  # what comes out of these left rows is still to come
    times = list(begins.times) if same_times else []
    return replace(join, filled=(*commits, *times), whole=how in ("whole", "open"))


def _append(
    built: BuiltStage, application: str, number: int, home: str, side: tuple[str, str], since: int
) -> None:
    """Rows without a time or a key have come out already, if they come out at all."""
    before, category = (Category.open(home, name) for name in side)
    stop, producer = before.next_commit(), f"{application}.{built.name}"
    promise = before.commit(stop - 1).promises.get(producer) if stop else None
    placement = Placement(HASH, TIME, built.validity)
    rows = built.rows.where(f"{TIME} >= {since}")
    append_batch(rows, number, category, producer, placement, lambda batch: promise)


def _portions(home: str, standing: Standing) -> Iterator[Portion]:
    """What was read of a source, in parts that make a commit each."""
    if isinstance(standing, CommitsRead):
        category = Category.open(home, standing.category)
        first, rows = category.first_commit(), 0
        for commit in category.commits(first, max(first, standing.commit)):
            if rows and rows + commit.rows > BATCH_ROWS:
                yield first, commit.number
                first, rows = commit.number, 0
            rows += commit.rows
        if rows:
            yield first, standing.commit
        return
    there = [file for file in standing.files if not is_local(file) or os.path.exists(file)]
    some: list[str] = []
    size = 0
    for file in sorted(there, key=lambda one: (_written(one), one)):
        more = os.path.getsize(file) if is_local(file) else 0
        if some and size + more > int(BATCH_BYTES):
            yield tuple(some)
            some, size = [], 0
        some.append(file)
        size += more
    if some:
        yield tuple(some)


def _written(file: str) -> int:
    return os.stat(file).st_mtime_ns if is_local(file) else 0


def _none_of(writer: SlicerStage) -> Portion:
    return (0, 0) if isinstance(writer.inputs[0].source, ScribeSource) else ()


def _begins(was: JoinKind, at: JoinOffset) -> JoinOffset:
    """Where a join begins that left rows come to which another one has open: at a left time that they are not
    behind, so that the right rows which they may meet are still there."""
    needed = was.needed(at)
    if at.ended or isinstance(needed, LastRows):
        return at
    return at.moved(left_time=min(at.left_time, max(FIRST_TIME, needed.left_us)))


def _bounds(was: JoinKind, now: JoinKind, at: JoinOffset, begins: JoinOffset) -> tuple[int, int] | None:
    """From which event times on left and right rows are of use to the new join, which begins there. A left
    row that the old one has closed stays closed."""
    before, after = was.needed(at), now.needed(begins)
    if isinstance(before, LastRows) or isinstance(after, LastRows):
        return None
    return max(before.left_us, after.left_us), after.right_us


def _forget(home: str, names: Sequence[str]) -> None:
    """What an attempt before this one has left there: it never counted."""
    for name in names:
        for one in (name, f"{name}.invalid"):
            if one in list_categories(home):
                remove_category(open_store(home), one)
