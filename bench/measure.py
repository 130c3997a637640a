"""What a run gave and cost: the figures a system reports, and the memory of its processes seen from outside.

Memory is read from `/proc` (Linux). Resident pages that several processes share are counted once for each of
them, so the figure is an upper bound, most of all for a system of many processes.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SETTLED_S = 2.0


@dataclass(frozen=True)
class Figures:
    """One run of one system over one dataset. `first_result_at` is in seconds since the epoch."""

    elapsed_s: float
    input_rows: int
    matched: int
    unmatched: int
    first_result_at: float | None
    state_rows: int
    state_bytes: int
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def rows_per_s(self) -> float:
        return self.input_rows / self.elapsed_s

    @property
    def state_bytes_per_row(self) -> float | None:
        return self.state_bytes / self.state_rows if self.state_rows else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TreeUse:
    """What a process and its descendants hold and have used, with the ended children they waited for."""

    rss_bytes: int
    cpu_s: float


def tree_use(root: int) -> TreeUse:
    """Look once. A process that was forked a moment ago and runs no program of its own yet holds its parent's
    memory, not its own (a JVM that spawns a command shows twice its size for a blink): it counts for nothing.
    """
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    seen: dict[int, _Process] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                seen[int(entry.name)] = _Process.parse((entry / "stat").read_text())
            except OSError:  # ended while we looked
                continue
    rss_bytes, cpu_s = 0, 0.0
    for pid, process in seen.items():
        if not _descends(pid, root, seen):
            continue
        cpu_s += process.cpu_s
        parent = seen.get(process.parent)
        forked = parent is not None and process.stack == parent.stack
        if not (forked and pid != root and now_s - process.started_s < _SETTLED_S):
            rss_bytes += process.rss_bytes
    return TreeUse(rss_bytes, cpu_s)


def cpu_s(pid: int) -> float:
    """For one process, with the ended children it waited for."""
    return _Process.parse(Path(f"/proc/{pid}/stat").read_text()).cpu_s


class _Process(NamedTuple):
    """One line of /proc/<pid>/stat. `stack` is where its stack starts: a new program has a new place."""

    parent: int
    cpu_s: float
    started_s: float
    rss_bytes: int
    stack: int

    @classmethod
    def parse(cls, stat: str) -> _Process:
        fields = stat[stat.rindex(")") + 2 :].split()  # fields[0] is the third one of proc(5)
        ticks = sum(map(int, fields[11:15]))
        return cls(
            parent=int(fields[1]),
            cpu_s=ticks / _TICKS_PER_S,
            started_s=int(fields[19]) / _TICKS_PER_S,
            rss_bytes=int(fields[21]) * _PAGE_BYTES,
            stack=int(fields[25]),
        )


def _descends(pid: int, root: int, seen: dict[int, _Process]) -> bool:
    while pid in seen and pid != root:
        pid = seen[pid].parent
    return pid == root


class Peak:
    """The most bytes that `look` has found, asked every so often in the background: `with Peak(look, 0.1) as
    peak: ...; peak.bytes`."""

    def __init__(self, look: Callable[[], int], every_s: float) -> None:
        self.bytes = 0
        self._look = look
        self._every_s = every_s
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True, name="peak")

    def look(self) -> None:
        now = self._look()
        with self._lock:  # two may look at once
            self.bytes = max(self.bytes, now)

    def _keep_looking(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self._every_s)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()


def peak_rss(root: int, every_s: float = 0.1) -> Peak:
    """For a process tree."""
    return Peak(lambda: tree_use(root).rss_bytes, every_s)
