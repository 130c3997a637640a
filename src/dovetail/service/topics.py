"""What waits in Kafka topics counts as not sliced yet.

A topic is taken into a category, and slicers read that. People ask how far a join's side is behind its
topic, so both parts of the way are measured as one."""

from __future__ import annotations

from dataclasses import replace

from dovetail.engine.measure import JoinMeasure, SourceMeasure, StreamMeasure, source_of
from dovetail.errors import CategoryNotFound
from dovetail.log.category import Category
from dovetail.plan.build import read_categories, written_category
from dovetail.plan.physical import KafkaSource, LakeSource, Plan, SlicerStage


def with_topics(found: JoinMeasure, plan: Plan, home: str, now_us: int) -> JoinMeasure:
    """The measures of a join, with what waits in the topics that its sides are made of."""
    left, right = (_stream(stream, plan, home, now_us) for stream in (found.left, found.right))
    return replace(found, left=left, right=right)


def _stream(stream: StreamMeasure, plan: Plan, home: str, now_us: int) -> StreamMeasure:
    slicer = next((one for one in plan.slicers if written_category(one) == stream.category), None)
    if slicer is None or stream.source is None:
        return stream
    read = read_categories(slicer)
    source = stream.source
    for intake in plan.slicers:
        if written_category(intake) in read and _reads_topic(intake):
            source = _together(source, _taken_in(home, str(written_category(intake)), now_us))
    return replace(stream, source=source)


def _reads_topic(stage: SlicerStage) -> bool:
    return any(isinstance(table.source, KafkaSource | LakeSource) for table in stage.inputs)


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
    return replace(leads, files=None, bytes=None, rows=rows, newest_us=topic.newest_us, trouble=topic.trouble)
