"""The processes of a run on Spark, by what they are, from `/proc`: whom to kill.

A run is started as a session of its own, and all that it starts stays in that session; nobody else is in it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal, NamedTuple

Role = Literal["driver", "JVM", "source", "daemon", "worker", "other"]
"""driver: the command; JVM: Spark; source: a Python source's driver side, the coordinator among them; daemon:
what workers are forked from; worker: where tasks run."""


class Running(NamedTuple):
    pid: int
    parent: int
    role: Role


def processes_of(session: int) -> list[Running]:
    """All that run in a session, those that are about to go left out."""
    found: dict[int, tuple[int, list[str]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name, in brackets, may hold anything: what follows the last bracket does not.
                state, parent, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(its_session) == session and state not in "ZX":
                    arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    found[int(entry.name)] = int(parent), arguments
            except (OSError, ValueError):
                continue  # it has gone while we looked
    daemons = {pid for pid, (parent, arguments) in found.items() if _is_daemon(parent, arguments, found)}
    return [
        Running(pid, parent, _role(pid, parent, arguments, session, daemons))
        for pid, (parent, arguments) in found.items()
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


def _is_daemon(parent: int, arguments: list[str], found: dict[int, tuple[int, list[str]]]) -> bool:
    """Its workers have the same arguments, but are its children."""
    ours = ["-m", "dovetail.spark.daemon"]
    return ours == arguments[1:3] and found.get(parent, (0, [""]))[1][1:3] != ours


def _role(pid: int, parent: int, arguments: list[str], session: int, daemons: set[int]) -> Role:
    if pid == session:
        return "driver"
    if pid in daemons:
        return "daemon"
    if parent in daemons:
        return "worker"
    if Path(arguments[0]).name == "java":
        return "JVM"
    if "pyspark.sql.streaming.python_streaming_source_runner" in arguments:
        return "source"
    return "other"
