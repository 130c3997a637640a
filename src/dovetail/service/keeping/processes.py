"""Processes that run applications, and outlive the daemon that started them.

    service/processes/<application>/<revision>-<pid>.json    written by the process itself when it begins
    service/ends/<application>.json                          how the last one ended, in its own words

A process may run one application, or be a pool that runs several (`pools.py`): then each of them has a record
that names it.

A process is known by its number, the moment it started and the boot of its host: a number alone may belong to
another process by now.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dovetail.errors import DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.keeping.wanted import Wanted

KIND, VERSION = "dovetail.process", 2
ENDED, ENDED_VERSION = "dovetail.process.end", 1
FOLDER, ENDS = "service/processes", "service/ends"
LOG_BYTES = 8 << 20
"""A log that is longer when a process starts becomes the old one, and the old one goes."""
_NAME = re.compile(r"\d+-\d+\.json")
_REMEDY = "delete the file: it says which process runs an application, and is written at its next start"


@dataclass(frozen=True)
class Process:
    application: str
    revision: int
    host: str
    boot: str
    pid: int
    born: int
    """Ticks of the host's clock since its boot; 0 where the system does not say."""
    started_at_us: int
    query: str
    restarts: int
    pool: str = ""
    """The pool that it is; empty: it has one application."""
    master: str = ""

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.application}/{self.revision}-{self.pid}.json"

    @property
    def here(self) -> bool:
        """It belongs to this host as it was booted, so that it can be looked at and stopped from here."""
        return (self.host, self.boot) == (this_host(), boot())

    @property
    def alive(self) -> bool:
        return self.here and born(self.pid) == self.born


@dataclass(frozen=True)
class End:
    """`error` as errors print themselves for programs; None: it ended as it should."""

    application: str
    revision: int
    at_us: int
    error: dict[str, Any] | None


def this_process(wanted: Wanted, pool: str = "") -> Process:
    pid, now_us = os.getpid(), time.time_ns() // 1000
    host, birth = socket.gethostname(), born(pid) or 0
    name, revision = wanted.application, wanted.revision
    return Process(
        name, revision, host, boot(), pid, birth, now_us, wanted.query, wanted.restarts, pool, wanted.master
    )


def launch(home: str, application: str, revision: int) -> subprocess.Popen[bytes]:
    """Start a process that runs a revision."""
    return spawn(home, application, "dovetail.service.keeping.child", application, str(revision))


def spawn(home: str, name: str, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """It has a session of its own, so no signal to its starter reaches it, and one signal reaches all that it
    starts. What it prints goes to the log of that name."""
    command = [sys.executable, "-m", module, home, *arguments]
    with open(rotated_log(home, name), "ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def enter(home: str, process: Process) -> None:
    store = open_store(home)
    store.make_folder(f"{FOLDER}/{process.application}")
    store.replace(process.path, record_of(process))


def record_of(process: Process) -> bytes:
    return document.encode(KIND, VERSION, asdict(process))


def leave(home: str, process: Process, error: DovetailError | None) -> None:
    """Say how the process ends, then that it is gone."""
    now_us = time.time_ns() // 1000
    end = End(process.application, process.revision, now_us, error.to_json()["error"] if error else None)
    write_end(home, end)
    open_store(home).delete(process.path)


def write_end(home: str, end: End) -> None:
    store = open_store(home)
    store.make_folder(ENDS)
    store.replace(f"{ENDS}/{end.application}.json", document.encode(ENDED, ENDED_VERSION, asdict(end)))


def processes_of(home: str, application: str) -> list[Process]:
    """Those that are alive, or on another host. Records of others, which ended silently, are removed."""
    store, found = open_store(home), []
    for entry in store.files(f"{FOLDER}/{application}"):
        if not _NAME.fullmatch(entry.name):
            continue
        path = f"{FOLDER}/{application}/{entry.name}"
        process = read_process(home, path)
        if process is not None and (process.alive or process.host != socket.gethostname()):
            found.append(process)
        else:
            store.delete(path)
    return sorted(found, key=lambda process: process.started_at_us)


def end_of(home: str, application: str) -> End | None:
    path = f"{ENDS}/{application}.json"
    try:
        body = document.decode(open_store(home).read(path), ENDED, ENDED_VERSION, where=path, remedy=_REMEDY)
        fields = said.fields(body, End.__dataclass_fields__)
        error = fields["error"]
        return End(
            said.text(fields["application"]),
            said.whole(fields["revision"]),
            said.time_us(fields["at_us"]),
            None if error is None else said.fields(error),
        )
    except (FileNotFoundError, DovetailError, ValueError):
        return None  # it explains an end, no more


def forget_end(home: str, application: str) -> None:
    open_store(home).delete(f"{ENDS}/{application}.json")


def ask_to_end(process: Process) -> None:
    _signal(process, signal.SIGTERM)


def kill(process: Process) -> None:
    """The process with its JVM and workers: its whole session."""
    if process.alive:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            _signal(process, signal.SIGKILL)


def _signal(process: Process, number: int) -> None:
    if process.alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def log_path(home: str, application: str) -> Path:
    """What a process prints: beside the home's documents if they are on this machine."""
    if "://" in home:
        from dovetail.engine.process_folder import hosts_folder

        return hosts_folder() / f"service-{application}.log"
    return Path(home) / "service" / "logs" / f"{application}.log"


def rotated_log(home: str, application: str) -> Path:
    path = log_path(home, application)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".old.log"))
    return path


def this_host() -> str:
    return socket.gethostname()


def trim_logs(home: str) -> None:
    """Cut logs that have grown while their processes run. They are appended to, so the process goes on at the
    new end; a line that is written just now may be lost."""
    if "://" in home:
        return
    root = Path(home)
    for path in (*root.glob("service/logs/*.log"), *root.glob("apps/*/spark.log")):
        with contextlib.suppress(OSError):  # its application may just go
            if path.stat().st_size > LOG_BYTES and not path.name.endswith(".old.log"):
                shutil.copyfile(path, path.with_suffix(".old.log"))
                os.truncate(path, 0)


@cache
def boot() -> str:
    """Which boot of this host it is; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def born(pid: int) -> int | None:
    """When a process started, by the ticks of its host; None: there is none, or only what is left of it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])
    except FileNotFoundError:
        if boot():
            return None
    except (OSError, ValueError, IndexError):
        return None
    try:  # a system without /proc
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return 0


def read_process(home: str, path: str) -> Process | None:
    """None: there is none, or it cannot be read."""
    try:
        body = document.decode(open_store(home).read(path), KIND, (1, VERSION), where=path, remedy=_REMEDY)
        fields = said.fields({"pool": "", "master": "", **body}, Process.__dataclass_fields__)
        return Process(
            application=said.text(fields["application"]),
            revision=said.whole(fields["revision"], 1),
            host=said.text(fields["host"]),
            boot=said.text(fields["boot"]),
            pid=said.whole(fields["pid"], 1),
            born=said.whole(fields["born"]),
            started_at_us=said.time_us(fields["started_at_us"]),
            query=said.text(fields["query"]),
            restarts=said.whole(fields["restarts"]),
            pool=said.text(fields["pool"]),
            master=said.text(fields["master"]),
        )
    except (FileNotFoundError, DovetailError, ValueError):
        return None
