"""The process that runs a revision of an application: `python -m dovetail.service.keeping.child HOME APP
N`."""

from __future__ import annotations

import sys

from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.keeping.presence import Presence
from dovetail.service.keeping.wanted import wanted_of


def main(home: str, application: str, revision: int) -> int:
    wanted = wanted_of(home, application)
    if wanted.revision != revision:
        print(f"revision {revision} is not wanted any more, {wanted.revision} is", file=sys.stderr)
        return 0
    with stopped_by_signals() as stop:
        error = Presence(home, wanted, _say).run(stop, lambda: None)
    return 0 if error is None else 1


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
