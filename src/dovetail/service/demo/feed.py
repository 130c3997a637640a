"""The demo's two producers: one thread that appends what arrives each second to two categories of the log.

Law: one commit per second and stream, on time or as soon as possible after; never ahead of the clock. The
rest of the demo reads only what is in the log.
"""

from __future__ import annotations

import threading
import time

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.log.category import Category
from dovetail.service.demo.streams import CLIENT, SERVER, DemoStreams

LEFT, RIGHT = "client_events", "server_events"
PRODUCER = "demo"


def create_categories(home: str) -> tuple[Category, Category]:
    """Both categories. The demo is a reader of them, so that nothing is trimmed before the batch join."""
    left = Category.create(home, LEFT, CLIENT, buckets=1, time_column="eventtime")
    right = Category.create(home, RIGHT, SERVER, buckets=1, time_column="eventtime")
    for category in (left, right):
        category.set_reader(PRODUCER, 0)
    return left, right


def append(category: Category, rows: pa.Table, second: int) -> None:
    """Append one commit. Input categories are not sharded by key: slicers do that."""
    segments = category.write_segments(rows.to_batches(), _one_bucket, _event_times)
    category.append(segments, producer=PRODUCER, batch=second)


def _one_bucket(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.zeros(batch.num_rows, dtype=np.int64)


def _event_times(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.asarray(batch.column("eventtime").cast(pa.int64()))


class Feeder(threading.Thread):
    """Feeds for `seconds`, then sets `done`. Set `done` earlier to stop it."""

    def __init__(
        self, streams: DemoStreams, left: Category, right: Category, seconds: int, done: threading.Event
    ) -> None:
        super().__init__(name="demo feeder", daemon=True)
        self.streams, self.left, self.right = streams, left, right
        self.seconds, self.done = seconds, done
        self.error: Exception | None = None

    def start_once(self) -> None:
        """Start, unless it has started already."""
        if self.ident is None:
            self.start()

    def finish(self) -> None:
        """Wait for the end, and raise the error of the thread, if any."""
        if self.ident is not None:
            self.join()
        if self.error is not None:
            raise self.error

    def run(self) -> None:
        try:
            started = time.monotonic()
            for second in range(self.seconds):
                client, server = self.streams.batches(second)
                append(self.right, server, second)
                append(self.left, client, second)
                if self.done.wait(max(0.0, started + second + 1 - time.monotonic())):
                    return
        except Exception as error:  # raised by `finish`
            self.error = error
        finally:
            self.done.set()
