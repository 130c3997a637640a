"""Where a table goes, and how it is stored."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of, writer_of
from dovetail.changes.own_folders import HINT
from dovetail.changes.verdict import Verdict
from dovetail.plan.physical import (
    CategoryOutput,
    FileSink,
    JoinStage,
    ScribeSink,
    Stage,
)


def storage(between: Between, old: Stage, new: Stage) -> Stage:
    was, now = old.output, new.output
    if isinstance(was, CategoryOutput) and isinstance(now, CategoryOutput):
        if was.category != now.category and isinstance(new, JoinStage):
            if was.time is not None and now.time is None and writer_of(between.new, was.category) is None:
                return replace(old, output=now)  # what has read it alone goes, and `tables` says so
            _readers(between, new, was.time is not None)
            return replace(old, output=now)
        if was.compression != now.compression:
            _say(between, new, "next step", f"compression: {was.compression}, now {now.compression}")
        return replace(old, output=replace(was, compression=now.compression, promises=now.promises))
    if isinstance(was, ScribeSink) and isinstance(now, ScribeSink) and was.category == now.category:
        return replace(old, output=_log(between, new, was, now))
    if isinstance(new, JoinStage) and CategoryOutput in (type(was), type(now)):
        return replace(old, output=now)  # how tables share a join: `tables` says which came and went
    if was != now and refused_folder(between, new, part_of(new)):
        return replace(old, output=now)
    if was != now and was.place == now.place:
        _say(between, new, "next step", f"how rows are written to {now.place}")
    elif was != now:
        _say(
            between,
            new,
            "kept",
            f"rows go to {now.place}, they went to {was.place}",
            flight="what was written stays where it is; from the change on rows go to the new place",
        )
    return replace(old, output=now)


def refused_folder(between: Between, stage: Stage, part: str) -> bool:
    """Whether a table would write where others have written. Its rows would be taken for theirs, or left out
    because Spark's list in the folder has their numbers already."""
    sink = stage.output
    if not isinstance(sink, FileSink) or not between.costs.is_foreign(sink):
        return False
    between.say(
        "storage",
        part,
        "refused",
        f"{sink.place} were written by another application, or from another home",
        flight="rows would vanish: the list of files in the folder counts the batches of the earlier writer",
        instead=HINT,
        place=between.place_of(view_of(stage)),
    )
    return True


def _readers(between: Between, stage: JoinStage, alone: bool) -> None:
    """An aggregate, or a join, that reads a view alone is fed by the join of the view. `alone`: one did."""
    view = view_of(stage)
    one = f"an aggregate or a join reads view {view} alone"
    between.say(
        "storage",
        part_of(stage),
        "refused",
        f"{one} no longer" if alone else f"{one} now, and did not before",
        flight="what it has read was written by another stage",
        instead=f"let what else is to read {view} read a view of its own, with the same join"
        if alone
        else f"keep another table that reads {view}: with STORAGE NOOP, if its rows are not wanted",
        place=between.place_of(view),
    )


def _log(between: Between, stage: Stage, was: ScribeSink, now: ScribeSink) -> ScribeSink:
    if was.buckets != now.buckets or was.shard != now.shard:
        _say(
            between,
            stage,
            "refused",
            f"sharding of category {now.category} changes",
            flight="its rows are stored by bucket",
            instead="write to a category of another name",
        )
    if was.compression != now.compression:
        _say(between, stage, "next step", f"compression: {was.compression}, now {now.compression}")
    if (was.keep_us, was.keep_bytes) != (now.keep_us, now.keep_bytes):
        _say(between, stage, "next step", f"how long category {now.category} keeps rows")
    return now


def _say(
    between: Between,
    stage: Stage,
    verdict: Verdict,
    what: str,
    *,
    flight: str | None = None,
    instead: str | None = None,
) -> None:
    between.say(
        "storage",
        part_of(stage),
        verdict,
        what,
        flight=flight,
        instead=instead,
        place=between.place_of(view_of(stage)),
    )
