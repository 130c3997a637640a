"""Memory, open handles and CPU time of a process tree, by kind of process. Linux only: it reads `/proc`.

The memory is the proportional set size: a page that three processes share counts a third for each, so the
kinds add up to what the whole tree takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.measure import Peak, cpu_s

Kind = Literal["driver", "jvm", "workers", "other"]


@dataclass(frozen=True)
class Held:
    """What the processes of one kind hold, and have used."""

    processes: int
    pss_bytes: int
    handles: int
    cpu_s: float


def held_by(root: int) -> dict[Kind, Held]:
    """Look once at a process and its descendants. One that ends meanwhile is left out."""
    found: dict[Kind, list[Held]] = {}
    for pid in _tree(root):
        with suppress(OSError):
            handles = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            found.setdefault(_kind(pid, root), []).append(Held(1, _pss_bytes(pid), handles, cpu_s(pid)))
    return {kind: _sum(ones) for kind, ones in found.items()}


def _sum(ones: list[Held]) -> Held:
    return Held(
        len(ones),
        sum(one.pss_bytes for one in ones),
        sum(one.handles for one in ones),
        sum(one.cpu_s for one in ones),
    )


def _tree(root: int) -> list[int]:
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += _children(pid)
    return found


def _children(pid: int) -> Iterator[int]:
    """Those of all its threads. The process, or a thread of it, may end while we look."""
    with suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            with suppress(OSError):
                yield from map(int, (thread / "children").read_text().split())


def _kind(pid: int, root: int) -> Kind:
    if pid == root:
        return "driver"
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    if Path(command[0].decode(errors="replace")).name == "java":
        return "jvm"
    # What the nursery has forked has the nursery's command, and a name of its own (`spark/nursery.py`).
    words = [*command, Path(f"/proc/{pid}/comm").read_bytes()]
    theirs = (b"daemon", b"worker", b"dovetail-python")
    return "workers" if any(part in word for word in words for part in theirs) else "other"


def _pss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def peak_pss(root: int) -> Peak:
    """For a process tree. A look at a large JVM takes milliseconds of its time, so looks are rare."""
    return Peak(lambda: sum(one.pss_bytes for one in held_by(root).values()), every_s=0.5)
