"""The process that runs a revision of an application: `python -m dovetail.service.keeping.child HOME APP N`.

It says that it is there before it touches the application, and how it ended when it ends. If it is killed it
says neither, and its record names a process that is gone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.errors import DovetailError, RunError
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.keeping.processes import enter, leave, this_process
from dovetail.service.keeping.wanted import Wanted, wanted_of

if TYPE_CHECKING:
    from dovetail.changes.verdict import Change


def main(home: str, application: str, revision: int) -> int:
    wanted = wanted_of(home, application)
    if wanted.revision != revision:
        print(f"revision {revision} is not wanted any more, {wanted.revision} is", file=sys.stderr)
        return 0
    process = this_process(wanted)
    enter(home, process)
    error: DovetailError | None = None
    try:
        _run(home, wanted)
    except DovetailError as found:
        error = found
    except Exception as found:  # a bug of ours is a reason, too
        error = RunError(f"internal error: {type(found).__name__}: {found}")
    finally:
        leave(home, process, error)
    if error is not None:
        print(f"error: {error}", file=sys.stderr, flush=True)
    return 0 if error is None else 1


def _run(home: str, wanted: Wanted) -> None:
    from dovetail.service.cli.run import run_application
    from dovetail.service.settings import MASTER

    revision = wanted.revision
    print(f"revision {revision} of {wanted.application} starts", file=sys.stderr, flush=True)
    with stopped_by_signals() as stop:
        run_application(
            (wanted.text, f"revision {revision}"),
            home=home,
            master=MASTER.read(),
            mode="stream",
            settings={},
            stop=stop,
            announce=_announced,
        )


def _announced(version: int, changes: Sequence[Change]) -> None:
    from dovetail.changes.words import change_lines, verdict_words

    print(f"version {version} takes over: {verdict_words(changes)}", file=sys.stderr)
    for line in change_lines(changes, places=False):
        print(f"  {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
