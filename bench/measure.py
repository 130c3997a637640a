"""What a run gave and cost: the figures a system reports, and the memory of its processes seen from outside.

Memory is read from `/proc` (Linux). Resident pages that several processes share are counted once for each of
them, so the figure is an upper bound, most of all for a system of many processes.
"""

from __future__ import annotations

import os
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _CPU_TICKS, _RSS_PAGES = (
    1,
    slice(11, 15),
    21,
)  # fields of /proc/<pid>/stat, counted after the command's closing parenthesis


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
    parent: dict[int, int] = {}
    use: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:  # ended while we looked
            continue
        fields = stat[stat.rindex(")") + 2 :].split()
        parent[int(entry.name)] = int(fields[_PARENT])
        use[int(entry.name)] = int(fields[_RSS_PAGES]), sum(map(int, fields[_CPU_TICKS]))
    ours = [held for pid, held in use.items() if _descends(pid, root, parent)]
    return TreeUse(
        sum(pages for pages, _ in ours) * _PAGE_BYTES, sum(ticks for _, ticks in ours) / _TICKS_PER_S
    )


def _descends(pid: int, root: int, parent: dict[int, int]) -> bool:
    while pid and pid != root:
        pid = parent.get(pid, 0)
    return pid == root


class PeakRss:
    """Samples a process tree in the background: `with PeakRss(pid) as peak: ...; peak.bytes`."""

    def __init__(self, root: int, every_s: float = 0.1) -> None:
        self.bytes = 0
        self._root = root
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True, name="peak-rss")

    def _sample(self) -> None:
        while not self._stop.is_set():
            self.bytes = max(self.bytes, tree_use(self._root).rss_bytes)
            self._stop.wait(self._every_s)

    def __enter__(self) -> PeakRss:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
