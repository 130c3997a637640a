"""From a slicer's tasks to the log: what tasks have written, and the commits that make it exist."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from dovetail.crash_points import crash_point
from dovetail.log.category import Category
from dovetail.log.commit import SegmentInfo
from dovetail.model import json_values as said
from dovetail.model.promise import Promise
from dovetail.model.validity import Validity
from dovetail.slicing.covered_commits import ASIDE, last_of, saying
from dovetail.slicing.invalid_rows import Screen, invalid_category
from dovetail.slicing.placement import HASH, TIME, Placement
from dovetail.slicing.write_rows import bucket_of, hash_of, time_of


class Written(NamedTuple):
    """Segments that a task wrote: of the category, and of its rows without a usable time."""

    segments: Sequence[SegmentInfo]
    invalid: Sequence[SegmentInfo] = ()

    def to_json(self) -> str:
        return json.dumps([[info.to_json() for info in part] for part in self])

    @classmethod
    def from_json(cls, text: str) -> Written:
        return cls(*([SegmentInfo.from_json(info) for info in part] for part in json.loads(text)))


def write_rows(
    category: Category, batches: Iterable[pa.RecordBatch], placement: Placement, *, packed: bool = True
) -> Written:
    """Rows as segments, for `append_written` to name. Not `packed`: they are never compressed, unless they
    are a join's side."""
    if placement.validity is not None:
        return write_side(category, batches, placement.validity)
    bucket = bucket_of(placement.hash, category.buckets)
    return Written(category.write_segments(batches, bucket, time_of(placement.time), packed=packed))


def write_side(category: Category, batches: Iterable[pa.RecordBatch], validity: Validity) -> Written:
    """Rows of a join's side as segments; those whose time is not believed once more, aside."""
    screen = Screen(category, validity)
    keyed = HASH in category.schema.names
    segments = category.write_segments(
        screen.passed(batches),
        bucket_of(HASH if keyed else None, category.buckets),
        time_of(TIME),
        hash_of=hash_of(HASH) if keyed else None,
    )
    return Written(segments, screen.written())


def append_written(
    category: Category, written: Iterable[str], producer: str, batch: int, promise: Promise | None = None
) -> None:
    """Let what the tasks of a micro-batch have written exist. Done again, it changes nothing. `promise` is
    what holds once the batch is there."""
    append_parts(category, [Written.from_json(text) for text in written], producer, batch, promise)


def append_parts(
    category: Category,
    parts: Sequence[Written],
    producer: str,
    batch: int,
    promise: Promise | None,
    covers: Mapping[str, Any] | None = None,
) -> None:
    crash_point("sink", "written")
    aside = [info for part in parts for info in part.invalid]
    segments = [info for part in parts for info in part.segments]
    if covers is None:  # of Spark, which runs a batch again with the same rows: what was set aside is theirs
        _set_aside(category, aside, producer, batch)
    elif aside:
        # Who starts again may cut its source into other batches. So the rows count with their batch, or not
        # at all: its commit names them, and `settle_aside` finishes what was begun.
        covers = {**covers, ASIDE: [info.to_json() for info in aside]}
    category.append(segments, producer=producer, batch=batch, promise=promise, covers=covers)
    if covers is not None:
        _set_aside(category, aside, producer, batch)


def settle_aside(category: Category, producer: str) -> None:
    """Before a producer goes on: set aside what the last batch that is in the log has to set aside, if its
    process died in between."""
    last = last_of(category, producer)
    if last is None or last.batch is None or last.covers is None or ASIDE not in last.covers:
        return
    with saying(category, last.number, "which rows are set aside"):
        aside = [SegmentInfo.from_json(info) for info in said.items(last.covers[ASIDE])]
    _set_aside(category, aside, producer, last.batch)


def _set_aside(category: Category, aside: Sequence[SegmentInfo], producer: str, batch: int) -> None:
    if aside:
        invalid = Category.open(category.home, invalid_category(category.name))
        invalid.append(aside, producer=producer, batch=batch)
