"""The processes of a run on Spark, by their roles, from `/proc`: to choose which to kill.

A run is started as a session of its own, and all that it starts stays in that session; nobody else is in it.
A process that the nursery has forked has the nursery's arguments; its name says what it is
(`spark/nursery.py`).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal, NamedTuple

Role = Literal["driver", "JVM", "source", "daemon", "worker", "other"]
"""driver: the command; JVM: Spark; source: a Python source's driver side, the coordinator among them; daemon:
what workers are forked from; worker: where tasks run."""


_SOURCE = "pyspark.sql.streaming.python_streaming_source_runner"


class Running(NamedTuple):
    pid: int
    parent: int
    role: Role


class _Found(NamedTuple):
    parent: int
    name: str
    arguments: list[str]

    @property
    def forks_workers(self) -> bool:
        return self.name == "dovetail-daemon" or self.arguments[1:3] == ["-m", "dovetail.spark.daemon"]

    @property
    def is_client(self) -> bool:
        return any(argument.endswith("nursery_client.py") for argument in self.arguments)


def processes_of(session: int) -> list[Running]:
    """All that run in a session, those that are about to go left out."""
    found: dict[int, _Found] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name, in brackets, may hold anything: what follows the last bracket does not.
                named, _, rest = (entry / "stat").read_text().rpartition(")")
                state, parent, _, its_session = rest.split()[:4]
                if int(its_session) == session and state not in "ZX":
                    arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    found[int(entry.name)] = _Found(int(parent), named.partition("(")[2], arguments)
            except (OSError, ValueError):
                continue  # it has gone while we looked
    daemons = {pid for pid, process in found.items() if _is_daemon(process, found)}
    return [
        Running(pid, process.parent, _role(pid, process, session, daemons)) for pid, process in found.items()
    ]


def kill(process: int) -> bool:
    """SIGKILL; False if there was nobody left to kill."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_session(session: int) -> None:
    """Everything at once, as when a machine goes down."""
    for process in processes_of(session):
        kill(process.pid)


def _is_daemon(process: _Found, found: dict[int, _Found]) -> bool:
    """Its workers look the same, but are its children."""
    parent = found.get(process.parent)
    return process.forks_workers and not (parent is not None and parent.forks_workers)


def _role(pid: int, process: _Found, session: int, daemons: set[int]) -> Role:
    if pid == session:
        return "driver"
    if pid in daemons:
        return "daemon"
    if process.parent in daemons:
        return "worker"
    if Path(process.arguments[0]).name == "java":
        return "JVM"
    if process.is_client:  # the process that it stands for is another one
        return "other"
    if process.name == "dovetail-source" or _SOURCE in process.arguments:
        return "source"
    return "other"
