"""Runs the daemon of a home until it is asked to end. Applications go on without it."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from dovetail.engine.hold import holding
from dovetail.errors import SettingError
from dovetail.log.homes.filesystem import open_store
from dovetail.service.server.app import make_app
from dovetail.service.server.ledger import ledger_path
from dovetail.service.server.state import Daemon


def serve_home(home: str, host: str, port: int, say: Callable[[str], None]) -> None:
    """One service at a time holds a home; a second one is refused."""
    open_store(home).make_folder("service")
    with holding(home, "service", "the service of this home"), _listening(host, port) as listener:
        place = f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        names = frozenset({place, f"localhost:{listener.getsockname()[1]}"})
        daemon = Daemon(home, ledger_path(home), names)
        say(f"Dovetail serves {home}")
        say(f"open  http://{place}/login?link={daemon.ledger.new_link()}")
        say("the link works once, for ten minutes; `dovetail serve --link` prints another one")
        config = uvicorn.Config(
            make_app(daemon), log_level="warning", access_log=False, timeout_graceful_shutdown=3
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)  # before the link is printed: whoever opens it at once waits, and is not refused
    except OSError as error:
        listener.close()
        raise SettingError(
            f"the service cannot listen: {error.strerror or error}",
            where=f"{host}:{port}",
            expected="a port that is free",
            hint="choose another with --port",
        ) from error
    return listener
