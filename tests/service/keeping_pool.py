"""A real pool whose members join nothing: where tests are about keeping them. A member whose query says
`fails` ends with an error, and one that says `kills` takes the whole process with it."""

from __future__ import annotations

import os
import signal
import sys
import threading

from dovetail.engine.hold import outlived_by
from dovetail.errors import RunError
from dovetail.service.keeping.pool import Pool, enter, leave
from dovetail.service.keeping.presence import Presence
from dovetail.service.keeping.processes import leave as ended
from dovetail.service.keeping.wanted import wanted_of


def begin(presence: Presence, stop: threading.Event) -> None:
    process = presence.process
    home = sys.argv[1]
    text = wanted_of(home, process.application).text
    if text == "kills":
        os.kill(os.getpid(), signal.SIGKILL)
    if text != "fails":
        stop.wait()
    ended(home, process, RunError("the sink is full") if text == "fails" else None)


def main(home: str, name: str) -> None:
    with outlived_by(home, f"service/pools/{name}", "the pool"):
        enter(home, name)
        Pool(home, name, begin).keep(threading.Event(), lambda: False)
        leave(home, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
