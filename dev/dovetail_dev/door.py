"""An address on loopback before a server that keeps what it has in memory: shut, the server is away for
whoever asks there, and open again it has everything that it had.

Law: once `shut` returns, nobody is connected and nobody can connect.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dovetail_dev.ports import free_port

_PIECE_BYTES = 1 << 16


class Door:
    def __init__(self, behind: int) -> None:
        """`behind`: the server's port."""
        self._behind, self.port = behind, free_port()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._connected: list[socket.socket] = []

    def open(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port))
        with self._lock:
            self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def shut(self) -> None:
        with self._lock:
            gone, self._listener = [self._listener, *self._connected], None
            self._connected = []
        for one in gone:
            if one is not None:
                with suppress(OSError):  # the other end may have gone first
                    one.shutdown(socket.SHUT_RDWR)
                one.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # shut
            while True:
                outer, _ = listener.accept()
                inner = socket.create_connection(("127.0.0.1", self._behind))
                with self._lock:
                    if self._listener is not listener:
                        outer.close()
                        inner.close()
                        return
                    self._connected += [outer, inner]
                for one, other in ((outer, inner), (inner, outer)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):  # either end has gone
        while piece := one.recv(_PIECE_BYTES):
            other.sendall(piece)
        other.shutdown(socket.SHUT_WR)


@contextmanager
def door_to(port: int) -> Iterator[Door]:
    door = Door(port)
    door.open()
    try:
        yield door
    finally:
        door.shut()
