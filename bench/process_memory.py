"""Memory and open handles of a process tree, by kind of process. Linux only: it reads `/proc`.

The memory is the proportional set size: a page that three processes share counts a third for each, so the
kinds add up to what the whole tree takes.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

Kind = Literal["driver", "jvm", "workers", "other"]


@dataclass(frozen=True)
class Held:
    """What the processes of one kind hold."""

    processes: int
    pss_bytes: int
    handles: int


def held_by(root: int) -> dict[Kind, Held]:
    """Look once at a process and its descendants. One that ends meanwhile is left out."""
    processes, sizes, handles = Counter[Kind](), Counter[Kind](), Counter[Kind]()
    for pid in _tree(root):
        try:
            kind = _kind(pid, root)
            size, open_files = _pss_bytes(pid), len(list(Path(f"/proc/{pid}/fd").iterdir()))
        except OSError:
            continue
        processes[kind] += 1
        sizes[kind] += size
        handles[kind] += open_files
    return {kind: Held(processes[kind], sizes[kind], handles[kind]) for kind in processes}


def _tree(root: int) -> list[int]:
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                waiting += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _kind(pid: int, root: int) -> Kind:
    if pid == root:
        return "driver"
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    if Path(command[0].decode(errors="replace")).name == "java":
        return "jvm"
    return "workers" if any(b"daemon" in word or b"worker" in word for word in command) else "other"


def _pss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


class PeakPss:
    """Samples a process tree in the background: `with PeakPss(pid) as peak: ...; peak.bytes`. A look at a
    large JVM takes milliseconds of its time, so looks are rare."""

    def __init__(self, root: int, every_s: float = 1.0) -> None:
        self.bytes = 0
        self._root = root
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_sampling, daemon=True, name="peak-pss")

    def _keep_sampling(self) -> None:
        while not self._stop.is_set():
            now = sum(one.pss_bytes for one in held_by(self._root).values())
            self.bytes = max(self.bytes, now)
            self._stop.wait(self._every_s)

    def __enter__(self) -> PeakPss:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
