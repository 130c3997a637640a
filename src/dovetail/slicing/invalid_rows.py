"""Rows whose event time is not believed, written aside: the category `<side>.invalid`.

Law: a row without a usable time is in its side's category as any other (the join lets it out alone, or counts
it), and once more here, with the time it had and the reason. Both are there, or none (`sides.py`). The
category is made when the first such row comes. Null keys are no fault and are not kept here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.log.category import Category
from dovetail.log.commit import SegmentInfo
from dovetail.model.time_codes import FIRST_TIME, NO_TIME, NULL_KEY, REASONS
from dovetail.model.validity import Validity
from dovetail.slicing.placement import HASH, TIME
from dovetail.slicing.write_rows import bucket_of, time_of

REASON, EVENT_TIME = "_reason", "_event_time"


def invalid_category(category: str) -> str:
    return f"{category}.invalid"


class Screen:
    """Passes batches on with times judged; keeps what must be written aside."""

    def __init__(self, category: Category, validity: Validity) -> None:
        self._category = category
        self._validity = validity
        self._aside: list[pa.RecordBatch] = []

    def passed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            column = batch.schema.get_field_index(TIME)
            times = batch.column(column).to_numpy()
            judged = self._validity.judged(times, time.time_ns() // 1000)
            bad = (judged < FIRST_TIME) & (judged != NULL_KEY)
            if bad.any():
                self._aside.append(_explained(batch, times, judged, bad))
            if judged is times:
                yield batch
            else:
                yield batch.set_column(column, batch.schema.field(column), pa.array(judged))

    def written(self) -> list[SegmentInfo]:
        """Segments with the rows set aside, for the driver to append."""
        if not self._aside:
            return []
        name = invalid_category(self._category.name)
        schema = self._aside[0].schema
        aside = Category.create(self._category.home, name, schema, buckets=1, role="invalid", evolve=True)
        return aside.write_segments(self._aside, bucket_of(None, 1), time_of(EVENT_TIME))


def _explained(
    batch: pa.RecordBatch, times: NDArray[np.int64], judged: NDArray[np.int64], bad: NDArray[np.bool_]
) -> pa.RecordBatch:
    codes, when = judged[bad], times[bad]
    reasons = pa.array(codes).dictionary_encode()
    words = pa.array([REASONS[code] for code in reasons.dictionary.to_pylist()], pa.string())
    moments = pa.array(when, pa.timestamp("us", "UTC"), mask=when == NO_TIME)
    rows = batch.filter(pa.array(bad))
    added = {REASON: words.take(reasons.indices), EVENT_TIME: moments}
    columns = {name: rows.column(name) for name in rows.schema.names if name not in (HASH, TIME, *added)}
    return pa.record_batch(added | columns)
