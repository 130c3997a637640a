"""Ports of loopback for servers that need to know theirs before they start, and keep it while they are away.

Between the choice of a port and the server that binds it, and while a server is away, anybody may take it.
The system gives the ports of one range to whoever does not care which: on a machine that runs tests, to many
at any moment. So ours are below that range, where nobody is given one by chance.
"""

from __future__ import annotations

import random
import socket
from contextlib import closing
from pathlib import Path

LOWEST = 11_000
"""Above those that a browser takes for somebody else's."""
_GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 1_000


def free_port() -> int:
    """One that nobody listens at now. Two processes that choose at the same time hardly choose the same."""
    first_given = int(_GIVEN.read_text().split()[0]) if _GIVEN.exists() else LOWEST
    if first_given - LOWEST < _TRIES:  # there is no room below
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])
    chance = random.SystemRandom()
    for _ in range(_TRIES):
        port = chance.randrange(LOWEST, first_given)
        with closing(socket.socket()) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port is free from {LOWEST} to {first_given}")
