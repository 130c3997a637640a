"""What waits in the folders of a slicer's file inputs: files that no finished batch has read.

Spark knows it too, but does not say. Its checkpoint names the files that it has read, and the folder has
all. Both are looked at only while the slicer is behind, and never for more than a small share of the time: a
folder may have a hundred thousand files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dovetail.log.source_progress import Waiting
from dovetail.plan.physical import FilesSource, InputTable
from dovetail.slicing.input_files import is_hidden, is_local, local_path
from dovetail.spark.batch_files import files_done
from dovetail.spark.checkpoints import Checkpoint

SHARE = 0.05
"""Share of the time, to be spent on counting."""


class WaitingFiles:
    """For the inputs that are files on a local path."""

    def __init__(self, tables: Sequence[InputTable], checkpoint: Checkpoint) -> None:
        sources = [table.source for table in tables]
        places = [source.path for source in sources if isinstance(source, FilesSource)]
        self._places = [Path(local_path(place)).absolute() for place in places if is_local(place)]
        # The files of a table elsewhere cannot be counted, and a part of them would not be what waits.
        self._known = bool(self._places) and len(self._places) == len(sources)
        self._checkpoint = checkpoint
        self._done: set[str] = set()
        self._reached: dict[int, int] = {}
        self._last = Waiting()
        self._again_s = 0.0

    def now(self) -> Waiting:
        """As of a moment ago, if counting takes long."""
        began_s = time.monotonic()
        if self._known and began_s >= self._again_s:
            self._last = self.count()
            ended_s = time.monotonic()
            self._again_s = ended_s + (ended_s - began_s) / SHARE
        return self._last

    def none(self) -> Waiting:
        """The source has been found empty."""
        self._last = Waiting(0, 0, newest_us=self._last.newest_us) if self._known else Waiting()
        self._again_s = 0.0
        return self._last

    def count(self) -> Waiting:
        paths, reached = files_done(self._checkpoint, self._reached)
        self._done |= {local_path(path) for path in paths}
        self._reached |= reached
        found = [stat for place in self._places for path, stat in _files(place) if path not in self._done]
        newest_us = max((stat.st_mtime_ns // 1000 for stat in found), default=self._last.newest_us)
        return Waiting(len(found), sum(stat.st_size for stat in found), newest_us=newest_us)


def _files(place: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The data files at or below a place, as `input_files` takes them. A file may go while we look."""
    if place.is_file():
        yield str(place), place.stat()
        return
    folders = [str(place)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if is_hidden(entry.name):
                        continue
                    if entry.is_dir():
                        folders.append(entry.path)
                    else:
                        yield entry.path, entry.stat()
        except FileNotFoundError:
            continue
