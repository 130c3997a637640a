"""Records that cannot become rows, in a category of their own: their place in the topic, and why.

They are appended before the rows of their batch. If the run dies in between, the next run cuts a batch
that may be another one. So the commits here say how far they go, too, and what they have is not appended
again."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from dovetail.kafka.covered_offsets import CoveredOffsets, covered
from dovetail.kafka.decoding import Reject
from dovetail.log.category import Category
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("reason", pa.string()),
        ("raw", pa.string()),
    ]
)


class Rejects:
    """For one input table. The category is made when the first record comes that needs it."""

    def __init__(self, home: str, category: str, producer: str, topic: str) -> None:
        self._home, self._name, self._producer, self._topic = home, category, producer, topic
        self._category: Category | None = None

    def append(self, rejects: Sequence[Reject], now: CoveredOffsets) -> None:
        """Those of a batch that goes up to there."""
        if not rejects:
            return
        if self._category is None:
            self._category = Category.create(
                self._home, self._name, SCHEMA, buckets=1, role="rejects", evolve=True
            )
        before = covered(self._category, self._producer, self._topic)
        done = before.offsets if before is not None and before.id == now.id else {}
        new = [one for one in rejects if one.offset >= done.get(one.partition, 0)]
        if not new:
            return
        columns = [
            [self._topic] * len(new),
            [one.partition for one in new],
            [one.offset for one in new],
            [one.reason for one in new],
            [None if one.raw is None else one.raw.decode(errors="backslashreplace") for one in new],
        ]
        rows = pa.record_batch(columns, schema=SCHEMA)
        segments = self._category.write_segments([rows], bucket_of(None, 1), time_of(None))
        batch = self._category.last_batch(self._producer) + 1
        self._category.append(segments, producer=self._producer, batch=batch, covers=now.to_json())
