"""Stands for a process that the nursery forks (`nursery.py`): hands it its streams, and ends as it ends.

Run by its path, without `site`: it imports nothing but the standard library, and little of that, since Spark
waits for it. Whatever the nursery cannot do, this process becomes itself.

It also ends when the JVM that started it has died. The child is the nursery's, so it cannot see that itself:
one that waits for the JVM's next word, or for a gate to open, would wait for ever, and the nursery for it.
"""

import array
import json
import os
import socket
import sys

VARIABLE = "DOVETAIL_NURSERY"
LOOK_S = 1.0


def place_order(path: str, arguments: list[str], descriptors: list[int]) -> socket.socket:
    """Ask for a process. The descriptors are its standard streams, and others that it holds as long as it
    lives. It is ended if the socket that this returns is closed before."""
    nursery = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    order = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
    text = json.dumps(order).encode() + b"\0"
    try:
        nursery.connect(path)
        passed = array.array("i", descriptors)
        sent = nursery.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
        nursery.sendall(text[sent:])
    except OSError:
        nursery.close()
        raise
    return nursery


def status_of_child(arguments: list[str]) -> int | None:
    """For the child that the nursery forked for us; None if it did not take the order."""
    if arguments[:1] != ["-m"]:
        return None
    parent = os.getppid()
    try:
        nursery = place_order(os.environ[VARIABLE], arguments, [0, 1, 2])
        taken = nursery.recv(1)  # comes when its imports are done
    except (KeyError, OSError):
        return None
    if not taken:
        return None
    # No word: the nursery was killed. The child may live on, and Spark hears from it by its own sockets.
    return int(said_while(nursery, parent) or b"1")


def said_while(nursery: socket.socket, parent: int) -> bytes:
    """All that the nursery says, or nothing once this process has another parent than it had."""
    nursery.settimeout(LOOK_S)
    said = b""
    while os.getppid() == parent:
        try:
            part = nursery.recv(16)
        except TimeoutError:
            continue
        if not part:
            return said
        said += part
    return b""


if __name__ == "__main__":
    status = status_of_child(sys.argv[1:])
    if status is None:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    sys.exit(status if status >= 0 else 128 - status)
