"""How much memory an application takes: this process and all below it, Spark's JVM and its Python workers.

Python workers are forks and share most of their pages; a JVM that starts a process is there twice for a
moment. Resident sizes would count a shared page once for each process, so proportional set sizes are added
up: a page that n processes share counts 1/n in each of them. Where the kernel has no `smaps_rollup`, or does
not let us read it, resident sizes are added up instead, and the kind says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from dovetail.service.figures import MemoryUse

CGROUP = Path("/sys/fs/cgroup/memory.max")
EVERY_S = 2.0
SHARE = 0.01
"""For a proportional size the kernel walks through all pages of a process, which meanwhile gets no new ones:
a tenth of a second for an application of some gigabytes. So looking takes at most this share of the time."""


def machine_bytes(cgroup: Path = CGROUP) -> int:
    """What processes here may take together: the memory of the machine, or of its container."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(physical, int(cgroup.read_text()))
    except (OSError, ValueError):  # there is none, or it says `max`
        return physical


class MemoryMeter:
    """Measures now and then, and gives the last value in between."""

    def __init__(self, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._due: float | None = None
        self._last = MemoryUse()

    def read(self, root: int | None = None) -> MemoryUse:
        began = self._clock()
        if self._due is None or began >= self._due:
            self._last = self._measure(os.getpid() if root is None else root)
            took_s = self._clock() - began
            self._due = began + max(EVERY_S, took_s / SHARE)
        return self._last

    def _measure(self, root: int) -> MemoryUse:
        processes = self._descendants(root)
        proportional = [self._pss_bytes(process) for process in processes]
        if any(proportional) and None not in proportional:
            return MemoryUse(sum(size or 0 for size in proportional), "PSS")
        return MemoryUse(sum(processes.values()), "RSS")

    def _descendants(self, root: int) -> dict[int, int]:
        """The resident bytes of `root` and of every process below it."""
        parents, resident = {}, {}
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        for name in os.listdir(self._proc) if self._proc.is_dir() else []:
            if name.isdigit():
                try:
                    fields = (self._proc / name / "stat").read_text().rsplit(")", 1)[1].split()
                    parents[int(name)], resident[int(name)] = int(fields[1]), int(fields[21]) * page_bytes
                except (OSError, IndexError):
                    continue  # it ended in the meantime
        found, todo = {}, [root]
        while todo:
            process = todo.pop()
            found[process] = resident.get(process, 0)
            todo += [child for child, parent in parents.items() if parent == process]
        return found

    def _pss_bytes(self, process: int) -> int | None:
        """None: the kernel does not say."""
        try:
            text = (self._proc / str(process) / "smaps_rollup").read_text()
        except ProcessLookupError:
            return 0  # it has ended, and its parent has not noticed yet
        except FileNotFoundError:
            return None if (self._proc / str(process)).exists() else 0
        except OSError:
            return None
        return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0)
