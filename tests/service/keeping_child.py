"""Stands for an application's process where tests are about keeping it, not about joining: it says that it is
there, and ends when it is asked to, at once, or with an error."""

from __future__ import annotations

import signal
import sys
import threading

from dovetail.errors import RunError
from dovetail.service.keeping.processes import enter, leave, this_process
from dovetail.service.keeping.wanted import wanted_of


def main(home: str, application: str, how: str) -> None:
    stop = threading.Event()
    if how == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
    process = this_process(wanted_of(home, application))
    enter(home, process)
    if how == "fails":
        leave(home, process, RunError("the sink is full"))
        return
    stop.wait()
    leave(home, process, None)


if __name__ == "__main__":
    main(*sys.argv[1:])
