"""How far an aggregation has come, in event time: what Spark remembers, in this run or from one before.

A run that has seen rows may have been stopped, or have died, before their windows were ended; the next one
sees no row of them. The watermark that Spark noted with its last batch tells of them.
"""

from __future__ import annotations

import datetime
import json
import re

from pyspark.sql.streaming.query import StreamingQuery

from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import Watermark
from dovetail.spark.batch_files import checkpoint_lines, damaged
from dovetail.spark.checkpoints import Checkpoint


def unended_us(
    query: StreamingQuery, home: str, application: str, stage: str, watermark: Watermark
) -> int | None:
    """The largest event time that an aggregation has seen; None if there is none, or an end row was written
    beyond it, so that a drain without new rows moves nothing."""
    noted_us = _noted_us(home, application, stage)
    seen = [at for at in (_seen_us(query), noted_us and noted_us + watermark.delay_us) if at]
    newest_us = max(seen, default=None)
    return None if newest_us is None or newest_us <= _ended_us(home, application, stage) else newest_us


def _seen_us(query: StreamingQuery) -> int | None:
    """Over the progress Spark still remembers."""
    seen = [
        progress.eventTime["max"] for progress in query.recentProgress if "max" in (progress.eventTime or {})
    ]
    if not seen:
        return None
    newest = datetime.datetime.fromisoformat(max(seen).replace("Z", "+00:00"))
    return int(newest.timestamp() * 1_000_000)


def _noted_us(home: str, application: str, stage: str) -> int | None:
    """The watermark that Spark's last committed batch left to the next."""
    checkpoint = Checkpoint(home, application, stage)
    files = checkpoint.store.files(f"{checkpoint.folder}/commits")
    batches = [int(entry.name) for entry in files if entry.name.isdigit()]
    if not batches:
        return None
    path = f"commits/{max(batches)}"
    try:
        noted = json.loads(checkpoint_lines(checkpoint, path)[-1])
        return int(noted.get("nextBatchWatermarkMs", 0)) * 1000 or None
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise damaged(checkpoint, path, str(error)) from error


def _ended_us(home: str, application: str, stage: str) -> int:
    """The time of the last end row, 0 if there is none."""
    entries = open_store(home).files(f"apps/{application}/ends/{stage}")
    ends = [re.fullmatch(r"end-(\d+)\.parquet", entry.name) for entry in entries]
    return max((int(end[1]) for end in ends if end), default=0)
