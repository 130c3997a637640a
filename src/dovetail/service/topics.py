"""What waits in Kafka topics, in tables of lakes and before lookups counts as not sliced yet.

A topic is taken into a category, and slicers read that. People ask how far a join's side is behind its
topic, so all parts of the way are measured as one. Not everything that reads a topic is a join: what each
input table has outside of the log is listed for the application, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dovetail.engine.measure import JoinMeasure, SourceMeasure, StreamMeasure, source_of
from dovetail.errors import CategoryNotFound
from dovetail.log.category import Category
from dovetail.plan.build import read_categories, written_category
from dovetail.plan.physical import KafkaSource, LakeSource, Plan, SlicerStage


@dataclass(frozen=True)
class IntakeMeasure:
    """What waits outside of the log for one input table, or before one lookup, by the last report of the
    thread that takes it in. `place`: for people."""

    table: str
    place: str
    source: SourceMeasure

    @property
    def unsliced_rows(self) -> int | None:
        return self.source.rows


def intakes(plan: Plan, home: str, now_us: int) -> tuple[IntakeMeasure, ...]:
    """For all threads of an application that have reported, in the order of its plan."""
    found = []
    for stage in filter(_takes_in, plan.slicers):
        category = str(written_category(stage))
        source = _taken_in(home, category, now_us)
        if source is not None:
            table = category.removeprefix(f"{plan.application}.")
            found.append(IntakeMeasure(table, _place(stage), source))
    return tuple(found)


def _place(stage: SlicerStage) -> str:
    if stage.lookup is not None:
        return f"looked up in {stage.lookup.source.place}"
    places = [
        f"topic {table.source.topic}" if isinstance(table.source, KafkaSource) else table.source.place
        for table in stage.inputs
        if isinstance(table.source, KafkaSource | LakeSource)
    ]
    return ", ".join(places)


def with_topics(found: JoinMeasure, plan: Plan, home: str, now_us: int) -> JoinMeasure:
    """The measures of a join, with what waits in the topics that its sides are made of."""
    left, right = (_stream(stream, plan, home, now_us) for stream in (found.left, found.right))
    return replace(found, left=left, right=right)


def _stream(stream: StreamMeasure, plan: Plan, home: str, now_us: int) -> StreamMeasure:
    slicer = next((one for one in plan.slicers if written_category(one) == stream.category), None)
    if slicer is None or stream.source is None:
        return stream
    source = stream.source
    for intake in intakes_before(plan, slicer):
        source = _together(source, _taken_in(home, str(written_category(intake)), now_us))
    return replace(stream, source=source)


def intakes_before(plan: Plan, slicer: SlicerStage) -> Iterator[SlicerStage]:
    """The threads that rows pass on their way to a slicer, the nearest first."""
    read = read_categories(slicer)
    for stage in plan.slicers:
        if written_category(stage) in read and _takes_in(stage):
            yield stage
            yield from intakes_before(plan, stage)


def _takes_in(stage: SlicerStage) -> bool:
    outside = any(isinstance(table.source, KafkaSource | LakeSource) for table in stage.inputs)
    return outside or stage.lookup is not None


def _taken_in(home: str, category: str, now_us: int) -> SourceMeasure | None:
    try:
        return source_of(Category.open(home, category), now_us)
    except CategoryNotFound:
        return None


def _together(slicer: SourceMeasure, topic: SourceMeasure | None) -> SourceMeasure:
    """The state is that of the part that holds up the other."""
    if topic is None:
        return slicer
    rows = None if slicer.rows is None or topic.rows is None else slicer.rows + topic.rows
    leads = topic if slicer.state in ("empty", "waiting") and topic.state != "empty" else slicer
    return replace(
        leads,
        files=None,
        bytes=None,
        rows=rows,
        newest_us=topic.newest_us,
        trouble=topic.trouble or slicer.trouble,
    )
