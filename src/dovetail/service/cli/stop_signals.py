"""Ctrl-C and SIGTERM ask a run to stop cleanly, and a command that has started processes to end them."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_signals(stop: threading.Event | None = None) -> Iterator[threading.Event]:
    """An event that the first signal sets. A second Ctrl-C interrupts at once."""
    stop = stop or threading.Event()
    asked = False

    def handle(number: int, frame: object) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True
        print("stopping", file=sys.stderr)
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def unwind_on_sigterm() -> None:
    """From now on SIGTERM ends the command like an error: everything that it has started ends too."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
