"""Memory and open handles of a process tree, by kind of process. Linux only: it reads `/proc`.

The memory is the proportional set size: a page that three processes share counts a third for each, so the
kinds add up to what the whole tree takes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
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
