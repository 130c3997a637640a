"""Tasks of a cluster ask the driver's side of their source which group they join (`engine/claims.py`).

A task connects, says what its place has, and gets its group. The connection stays open while the task
runs: so the driver knows how many run at a place, and notices at once when one is lost. In the first steps of
a run tasks only greet. When all tasks of one got through, later steps are claimed. In a network that lets
nobody connect to the driver's side, tasks have the groups of their numbers, as on a single host, and after
`GREETED_STEPS` none waits for an answer any more.
"""

from __future__ import annotations

import hmac
import json
import socket
import socketserver
import threading
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from dovetail.engine.claims import StepClaims, UnknownStep
from dovetail.errors import RunError

GREETING_S = 2.0
GREETED_STEPS = 8
ANSWER_S = 60.0
_GREETING = -1
"""In place of a task's number."""


class Claiming(NamedTuple):
    """Where to claim the groups of a step, and what proves that one is a task of it. `proved`: tasks are
    known to get through."""

    address: tuple[str, int]
    secret: str
    step: int
    proved: bool


class ClaimServer:
    """Answers the tasks of one source. `bind` is an address of the driver, `host` the name by which executors
    know it."""

    def __init__(self, bind: str, host: str, claims: StepClaims | None = None) -> None:
        self._claims = claims or StepClaims()
        self._secret = uuid.uuid4().hex
        self._greeted: dict[int, set[str]] = {}
        self._greetings: dict[int, int] = {}  # of each step: those that are still to come
        self._proved = False
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, ValueError, KeyError, TypeError):
                    server._answer(self)

        self._server = socketserver.ThreadingTCPServer((bind, 0), Handler)
        self._server.daemon_threads = True
        self._host = host
        threading.Thread(target=self._server.serve_forever, name="claims", daemon=True).start()

    def begin(self, groups: int, *, settled: bool) -> Claiming:
        """A step; see `Claims.begin`."""
        step = self._claims.begin(groups, settled=settled)
        if self._proved:
            self._greeted.clear()
        else:
            self._greetings[step] = groups
        return Claiming((self._host, self._server.server_address[1]), self._secret, step, self._proved)

    @property
    def in_vain(self) -> bool:
        """Step after step, some of the tasks could not be heard: they will not be."""
        return not self._proved and len(self._greetings) >= GREETED_STEPS

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: socketserver.StreamRequestHandler) -> None:
        said = json.loads(handler.rfile.readline(1 << 20))
        if not hmac.compare_digest(str(said["secret"]), self._secret):
            return
        step, task, place = int(said["step"]), int(said["task"]), str(said["place"])
        if task == _GREETING:
            self._greet(step, place)
            handler.wfile.write(b"\n")
            return
        self._claims.started(place)
        try:
            group = self._claims.take(step, task, place, frozenset(map(int, said["here"])))
            handler.wfile.write(json.dumps({"group": group}).encode() + b"\n")
            handler.rfile.read(1)  # returns when the task has ended, however it did
        except UnknownStep:
            return
        finally:
            self._claims.ended(place)

    def _greet(self, step: int, greeting: str) -> None:
        greeted = self._greeted.setdefault(step, set())
        greeted.add(greeting)
        self._proved = self._proved or len(greeted) == self._greetings.get(step)


def greet(at: Claiming, task: int) -> None:
    """Show that a task can reach the driver's side. Nothing depends on it."""
    with suppress(OSError), socket.create_connection(at.address, GREETING_S) as line:
        _say(line, at, _GREETING, str(task), ())
        line.recv(1)  # it is heard


@contextmanager
def claimed(at: Claiming, task: int, place: str, here: Collection[int]) -> Iterator[int | None]:
    """The group that a task joins, or None; the driver's side knows about the task until the end."""
    try:
        line = socket.create_connection(at.address, ANSWER_S)
    except OSError as error:
        raise _unreachable(at, error) from error
    with line:
        try:
            _say(line, at, task, place, here)
            answer = line.makefile().readline()
            group: int | None = json.loads(answer)["group"]
        except (OSError, ValueError) as error:
            raise _unreachable(at, error) from error
        yield group


def _say(line: socket.socket, at: Claiming, task: int, place: str, here: Collection[int]) -> None:
    said = {"secret": at.secret, "step": at.step, "task": task, "place": place, "here": sorted(here)}
    line.sendall(json.dumps(said).encode() + b"\n")


def _unreachable(at: Claiming, error: Exception) -> RunError:
    host, port = at.address
    return RunError(
        f"a task cannot ask the driver which bucket group is its own: {error}",
        where=f"{host}:{port}",
        expected="the connection that earlier tasks had",
        hint="the task is tried again; if the driver was restarted, this one belongs to the run before",
    )
