"""The progress of a rebuild, for users who wait: rows read of all rows to read, in the home while it lasts.

Law: reporting does not slow the rebuild. The rebuild counts; a thread looks at the count every half second
and writes `<state>/replay/<task>-of-<tasks>.json`, so a shorter rebuild leaves no trace. The file is deleted
when the rebuild is done. One left behind by a process that died is ignored once it is some seconds old, and
deleted by the next long rebuild of that task. Only a progress bar depends on it, so a file that cannot be
written or read is no error.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

from dovetail.errors import DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import Entry, open_store
from dovetail.model import json_values as said
from dovetail.model.join_config import JoinConfig
from dovetail.model.share import Share

KIND, VERSION = "dovetail.replay", 1
EVERY_S = 0.5
STALE_US = 10_000_000
_REMEDY = "delete the file: it only shows the progress of a rebuild"


class RebuildProgress:
    """Counts what a task has read back, and shows it to others. `rows`: about how many it will be."""

    def __init__(self, config: JoinConfig, share: Share, rows: int) -> None:
        self._store = open_store(config.home)
        self._folder = _folder(config)
        self._path = f"{self._folder}/{share.task}-of-{share.tasks}.json"
        self._of = rows
        self._rows = 0
        self._began_us = _now_us()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_reporting, name="dovetail-rebuild", daemon=True)
        self.reports = 0

    def add(self, rows: int) -> None:
        self._rows += rows

    def __enter__(self) -> RebuildProgress:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self.reports:
            with contextlib.suppress(DovetailError, OSError):
                self._store.delete(self._path)

    def report(self) -> bool:
        """Show the count as it is now. False where nothing can be written."""
        body = {
            "rows": self._rows,
            "of": max(self._of, self._rows),
            "began_us": self._began_us,
            "now_us": _now_us(),
        }
        try:
            if not self.reports:
                self._store.make_folder(self._folder)
            self.reports += 1
            self._store.replace(self._path, document.encode(KIND, VERSION, body))
        except (DovetailError, OSError):
            return False
        return True

    def _keep_reporting(self) -> None:
        while not self._over.wait(EVERY_S):
            if not self.report():
                return


@dataclass(frozen=True)
class Rebuilding:
    """All tasks that rebuild now, together. `share` is the lowest share of any task, so it does not fall when
    another task is done and stops reporting. `left_s`: until the last is done; None: not known yet."""

    rows: int
    of: int
    share: float
    rows_per_s: float
    left_s: float | None


def rebuilding(config: JoinConfig, now_us: int | None = None) -> Rebuilding | None:
    """The progress of the tasks of a join that are rebuilding now; None if there are none."""
    now_us = _now_us() if now_us is None else now_us
    return _together([task for task in _reports(config) if abs(now_us - task.now_us) < STALE_US])


@dataclass(frozen=True)
class _Task:
    rows: int
    of: int
    began_us: int
    now_us: int

    @property
    def rows_per_s(self) -> float:
        return self.rows / max(1e-6, (self.now_us - self.began_us) / 1e6)


def _together(tasks: Iterable[_Task]) -> Rebuilding | None:
    found = list(tasks)
    if not found:
        return None
    left = [(task.of - task.rows) / task.rows_per_s if task.rows else None for task in found]
    return Rebuilding(
        sum(task.rows for task in found),
        sum(task.of for task in found),
        min(task.rows / max(1, task.of) for task in found),
        sum(task.rows_per_s for task in found),
        None if None in left else max(one for one in left if one is not None),
    )


def _reports(config: JoinConfig) -> Iterator[_Task]:
    store, folder = open_store(config.home), _folder(config)
    entries: list[Entry] = []
    with contextlib.suppress(DovetailError):
        entries = store.files(folder)
    for entry in entries:
        if not entry.name.endswith(".json"):
            continue
        path = f"{folder}/{entry.name}"
        with contextlib.suppress(DovetailError, FileNotFoundError, ValueError):
            body = document.decode(
                store.read(path), KIND, VERSION, where=f"{store.root}/{path}", remedy=_REMEDY
            )
            fields = said.fields(body, ("rows", "of", "began_us", "now_us"))
            of = said.whole(fields["of"])
            yield _Task(
                said.whole(fields["rows"], high=of),
                of,
                said.time_us(fields["began_us"]),
                said.time_us(fields["now_us"]),
            )


def _folder(config: JoinConfig) -> str:
    return f"{config.state_path}/replay"


def _now_us() -> int:
    return time.time_ns() // 1000
