"""Law: a process born here is the one that Spark asked for, with the same arguments, environment, working
directory and standard streams; only its imports are done.

For one join Spark starts five Python processes, each with its own arguments: they create a source, plan with
it, plan its reads, and fork workers, twice. Each would import Arrow, pandas, PySpark and our package again:
seconds of a cold start, and most of the memory of a small application. So the driver starts one process that
imports all of it while the JVM still starts, and then forks one child for each order:

    JVM ── starts ──► nursery_client ── arguments, environment, streams ──► nursery ── forks ──► child
                      waits, and ends as the child ends  ◄────────────── status ──────────────┘

The client stands for the child where Spark looks: if Spark ends the client, the nursery ends the child. The
nursery ends when the driver has ended and no child is left. A client whose order nobody takes becomes the
process that Spark asked for (`exec`), as it would have been without us.

`python -m dovetail.spark.nursery SOCKET PIPE`; the driver holds the other end of PIPE, and nobody else does.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

SOURCE = str(Path(__file__).resolve().parents[2])
VARIABLE = "DOVETAIL_NURSERY"
"""Names the socket, in the environment of the JVM."""
STREAMS = 3
MOST_HELD = 8
OPENS_S = 5.0
CLIENT_S = 10.0
"""How long a client may take to say its order. It has it ready when it connects."""
TAKEN = b"+"
"""Said to a client before its child is forked. If it came after, a nursery that dies in between would leave a
child and a client that becomes the same process."""
MAX_ORDER_BYTES = 1 << 20
MAX_SOCKET_PATH = 100
READ_AT_START = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
"""What an interpreter and its libraries read once. These are the values that Spark gives its workers. Where
the user has another seed, workers get that, and there is no nursery. The number of threads that a driver has
is not passed on: Spark sets that of its workers, unless a setting for executors names another."""

_NAMES = {
    "dovetail.spark.daemon": "dovetail-daemon",
    "pyspark.sql.streaming.python_streaming_source_runner": "dovetail-source",
    "dovetail.spark.head_start_process": "dovetail-early",
}
"""A forked process has the command line of the nursery. The system shows these names instead."""

_FIRST = ("pyarrow.parquet", "dovetail.engine.join_step", "dovetail.spark.head_start_process")
"""What steps before Spark need, which are ordered as soon as the driver has read its query."""
_LATER = (
    "pandas",  # PySpark's Arrow path imports it in every worker
    "pyspark.worker",
    "pyspark.daemon",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "dovetail.spark.join_source",
    "dovetail.spark.window_source",
    "dovetail.spark.category_source",
    "dovetail.spark.slicer",
    "dovetail.slicing.direct",
)
"""What the processes of Spark import besides. A child that is ordered before that imports it by itself."""

_opened: list[subprocess.Popen[bytes]] = []
"""The nursery of this process, if it has one."""


def open_nursery() -> str | None:
    """Start the nursery of this process, unless it has one, and let every JVM started from now on use it.
    Gives its socket, which is there a moment later; None where there is no nursery."""
    seed = "PYTHONHASHSEED"
    if _opened or os.environ.get(seed, READ_AT_START[seed]) != READ_AT_START[seed]:
        return os.environ.get(VARIABLE)
    folder = tempfile.mkdtemp(prefix="dovetail-nursery-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "orders")
    if len(path) > MAX_SOCKET_PATH:
        return None
    theirs, _ = os.pipe()  # our end stays open until this process ends, however it ends
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, path, str(theirs)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs],
        env=os.environ | READ_AT_START | {"PYTHONPATH": os.pathsep.join(with_source())},
        process_group=0,  # Ctrl-C is for the driver
    )
    _opened.append(process)
    # It ends after us, when our end of the pipe is closed: Python would warn of a process that still runs.
    atexit.register(setattr, process, "returncode", 0)
    os.close(theirs)
    os.environ[VARIABLE] = path
    return path


def with_source() -> list[str]:
    """PYTHONPATH with the place of this package, which the driver may have found by other means."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return paths if SOURCE in paths else [SOURCE, *paths]


def await_nursery(path: str) -> None:
    """Until it takes orders: a process that is started before that imports everything by itself."""
    deadline = time.monotonic() + OPENS_S
    while not os.path.exists(path) and _opened[0].poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


@dataclass(frozen=True)
class Order:
    """What to run: `-m MODULE ARGUMENT...`, and where. `held`: descriptors that are to be open as long as it
    runs, such as those of locks."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]
    held: list[int]

    def close(self) -> None:
        for descriptor in (*self.streams, *self.held):
            os.close(descriptor)


@dataclass
class _Nursery:
    """Takes orders until the driver has ended and the last child is gone."""

    listening: socket.socket
    driver: int
    children: dict[int, socket.socket | None] = field(default_factory=dict)  # with their clients, if alive
    later: list[str] = field(default_factory=lambda: list(_LATER))  # to be imported between orders

    def serve(self) -> Order | None:
        """None in the nursery, once nothing is left to do; in a child, what it must run."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        taking = True
        while taking or self.children:
            clients = {client: pid for pid, client in self.children.items() if client is not None}
            watched: list[Any] = [woken, *clients, *([self.listening, self.driver] if taking else [])]
            ready, _, _ = select.select(watched, [], [], 0 if self.later else None)
            if self.later and not ready:
                self._import_next()
            for client in clients.keys() & ready:
                self._end(clients[client], client)
            if woken in ready:
                os.read(woken, 512)
                self._reap()
            if self.driver in ready:
                taking = False
                self.listening.close()  # later clients are refused, and do not wait for the last child
            elif self.listening in ready and (order := self._take()) is not None:
                signal.set_wakeup_fd(-1)
                os.close(woken)
                os.close(wake)
                return order
        return None

    def _import_next(self) -> None:
        import_module(self.later.pop(0))
        if not self.later:
            gc.collect()
            gc.freeze()  # what is loaded now stays: collections in children need not walk through it

    def _take(self) -> Order | None:
        """Fork a child for one order; the order, in the child."""
        client, _ = self.listening.accept()
        order = _received(client)
        if order is None:
            client.close()
            return None
        try:
            client.sendall(TAKEN)
        except OSError:  # it has gone
            order.close()
            client.close()
            return None
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self.driver)
            for other in (self.listening, client, *self.children.values()):
                if other is not None:
                    other.close()
            return order
        order.close()
        self.children[pid] = client
        return None

    def _reap(self) -> None:
        for pid, client in list(self.children.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self.children[pid]
                if client is not None:
                    with suppress(OSError):
                        client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
                    client.close()

    def _end(self, child: int, client: socket.socket) -> None:
        """A client says nothing after its order. So it is gone, and Spark wants the child to go too."""
        client.close()
        self.children[child] = None
        os.kill(child, signal.SIGTERM)  # ours until we have waited for it: the number is nobody else's


def _received(client: socket.socket) -> Order | None:
    """One order; None if the client died before it had said all of it."""
    client.settimeout(CLIENT_S)
    size = array.array("i").itemsize
    given = array.array("i")
    text = b""
    while not text.endswith(b"\0"):
        try:
            part, passed, _, _ = client.recvmsg(
                MAX_ORDER_BYTES, socket.CMSG_SPACE((STREAMS + MOST_HELD) * size)
            )
        except OSError:
            part, passed = b"", []
        for level, kind, data in passed:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                given.frombytes(data[: len(data) - len(data) % size])
        if not part:
            for descriptor in given:
                os.close(descriptor)
            return None
        text += part
    said: dict[str, Any] = json.loads(text[:-1])
    return Order(
        said["arguments"], said["environment"], said["folder"], list(given[:STREAMS]), list(given[STREAMS:])
    )


def _become(order: Order) -> None:
    """Take the place of the process that was ordered; returns when its module has run."""
    for number, stream in enumerate(order.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in whatever the JVM starts
    paths = [path for path in order.environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [order.folder, *paths, *(path for path in sys.path[1:] if path not in paths)]
    _, module, *arguments = order.arguments
    with suppress(OSError):
        Path("/proc/self/comm").write_text(_NAMES.get(module, "dovetail-python"))
    sys.argv[:] = [module, *arguments]
    sys.modules.pop(module, None)  # it runs as `__main__`
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _import_first() -> None:
    for module in _FIRST:
        import_module(module)
    from dovetail.engine.warm import warm

    warm()


def main(path: str, driver: int) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(path)
    except FileNotFoundError:
        return  # the driver has ended meanwhile, and removed the folder: nobody will come
    listening.listen(socket.SOMAXCONN)  # later clients wait for these imports
    _import_first()
    order = _Nursery(listening, driver).serve()
    if order is None:
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)  # a driver that was killed could not
    else:
        _become(order)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
