"""A command that runs beside others, out of sight: what it says is shown when its turn comes.

Law: nothing of it is left when it is stopped. It has a process group of its own, so that an interrupt can
be passed on to all that it has started, and none of it reads the terminal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

PATIENCE_S = 60
"""For tests that were interrupted to stop what they have started."""


class OutOfSight:
    """Runs one command, in the thread of whoever calls it; `stop` may come from another, at any time."""

    def __init__(self) -> None:
        self._said = TemporaryFile()  # noqa: SIM115
        self._change = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def __call__(self, command: Sequence[str], root: Path, environment: Mapping[str, str]) -> int:
        with self._change:
            if self._stopped:
                return -signal.SIGINT
            self._process = subprocess.Popen(
                command,
                cwd=root,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        return self._process.wait()

    def show(self) -> None:
        self._said.seek(0)
        sys.stdout.write(self._said.read().decode(errors="replace"))

    def stop(self) -> None:
        """As a person does it, and after a while as a machine does it. Nothing can be shown after that."""
        with self._change:
            self._stopped = True
            process = self._process
        if process is not None:
            for number, patience_s in ((signal.SIGINT, PATIENCE_S), (signal.SIGKILL, None)):
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, number)
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(patience_s)
        self._said.close()
