"""Rows that came after their window had closed, kept aside: the category `<application>.<table>.late`.

Law: a row is here once for every window for which it was late, with the window and the stream time that had
passed it. The category is made when the first such row comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import pyarrow as pa

from dovetail.engine.window_step import END, HASH, MOMENT, MOST_PAIRS, START, TIME, gathered, times_of
from dovetail.joins.rows.gather import Rows
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.window_config import WindowConfig
from dovetail.slicing.write_rows import bucket_of, time_of
from dovetail.windows.pairs import late

REASON, EVENT_TIME, STREAM_TIME = "_reason", "_event_time", "_stream_time"
WORDS = "its window had closed"


def set_aside(config: WindowConfig, category: Category, commit: Commit, before_us: int) -> None:
    """Append the late rows of a commit, once."""
    kept = [field for field in category.schema if field.name not in (HASH, TIME, *config.keys)]
    added = [(REASON, pa.string()), (EVENT_TIME, MOMENT), (START, MOMENT), (END, MOMENT)]
    made = [pa.field(*one) for one in (*added, (STREAM_TIME, MOMENT))]
    names = {field.name for field in made}
    schema = pa.schema([*made, *(field for field in kept if field.name not in names)])
    found = _late(config, category, commit, before_us, schema)
    first = next(found, None)
    if first is None:
        return
    aside = Category.create(config.home, config.late, schema, buckets=1, role="invalid", evolve=True)
    if aside.last_batch(config.late_producer) < commit.number:
        infos = aside.write_segments(chain([first], found), bucket_of(None, 1), time_of(EVENT_TIME))
        aside.append(infos, producer=config.late_producer, batch=commit.number)


def _late(
    config: WindowConfig, category: Category, commit: Commit, before_us: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    rows = Rows(category, commit.number, commit.number + 1)
    # The time is a column of the log, and the reason is the same for all.
    read = pa.schema(
        [
            field.with_name(TIME).with_type(pa.int64()) if field.name == EVENT_TIME else field
            for field in schema
            if field.name not in (REASON, STREAM_TIME)
        ]
    )
    most_rows = max(1, MOST_PAIRS // config.window.windows_per_row)
    for info in commit.segments:
        if not info.sketch.count or info.sketch.min_us >= before_us:
            continue
        segment = category.open_segment(info)
        times = times_of(segment)
        for at in range(0, len(times), most_rows):
            some = times[at : at + most_rows]
            pairs = late(config.window, some, np.full(len(some), before_us, np.int64))
            for batch in gathered(rows, pairs._replace(row=pairs.row + segment.first_row + at), read):
                yield _explained(batch, before_us, schema)


def _explained(batch: pa.RecordBatch, before_us: int, schema: pa.Schema) -> pa.RecordBatch:
    added = {
        REASON: pa.repeat(pa.scalar(WORDS), batch.num_rows),
        EVENT_TIME: batch.column(TIME).cast(MOMENT),
        STREAM_TIME: pa.array(np.full(batch.num_rows, before_us, np.int64)).cast(MOMENT),
    }
    columns = [added[name] if name in added else batch.column(name) for name in schema.names]
    return pa.record_batch(columns, schema=schema)
