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
from dovetail.service.server.listening import Listening
from dovetail.service.server.state import Daemon


def serve_home(home: str, wanted: Listening, say: Callable[[str], None]) -> None:
    """One service at a time holds a home; a second one is refused."""
    open_store(home).make_folder("service")
    with (
        holding(home, "service", "the service of this home"),
        listening(wanted.host, wanted.port) as listener,
    ):
        port = listener.getsockname()[1]
        address, links = wanted.address(port), wanted.has_links
        daemon = Daemon(home, ledger_path(home), wanted.hosts(port), address, links=links)
        say(f"Dovetail serves {home}")
        if links:
            say(f"open  {address}/login?link={daemon.ledger.new_link()}")
            say("the link works once, for ten minutes; `dovetail serve --link` prints another one")
        else:
            say(f"open  {address}/login")
        uvicorn.Server(configured(daemon, wanted)).run(sockets=[listener])


def configured(daemon: Daemon, wanted: Listening) -> uvicorn.Config:
    """Who a request is forwarded for is believed only of a proxy on this machine, if one was named."""
    return uvicorn.Config(
        make_app(daemon),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
        proxy_headers=wanted.proxy is not None,
        forwarded_allow_ips="127.0.0.1",
        ssl_certfile=wanted.certificate,
        ssl_keyfile=wanted.key,
    )


def listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)  # before the link is printed: a browser that comes early waits
    except OSError as error:
        listener.close()
        raise SettingError(
            f"the service cannot listen: {error.strerror or error}",
            where=f"{host}:{port}",
            expected="a port that is free",
            hint="choose another with --port",
        ) from error
    return listener
