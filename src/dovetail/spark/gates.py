"""Law: a join that was started early reads nothing before its slicers are done.

Starting the query of a Python source takes a second or two, for a process and a plan. So a join is started
while its slicers still work; its source then waits at a gate, on the driver, in
`prepareForTriggerAvailableNow`. A gate is a file: absent, `open`, or `shut` when the run has failed and the
join must not go on.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

_LOOK_S = 0.01


class Gates:
    """The gates of one run."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="dovetail-gates-"))

    def path(self, stage: str) -> str:
        return str(self._directory / stage)

    def open(self, stage: str) -> None:
        self._write(stage, "open")

    def shut(self, stages: list[str]) -> None:
        """Turn away whoever still waits."""
        for stage in stages:
            if not os.path.exists(self.path(stage)):
                self._write(stage, "shut")

    def remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def _write(self, stage: str, word: str) -> None:
        draft = self._directory / f".{stage}"
        draft.write_text(word)
        draft.replace(self.path(stage))


def wait_at(gate: str | None) -> None:
    """Wait until the gate opens; raises if it is shut, or if Spark has died meanwhile."""
    parent = os.getppid()
    while gate is not None:
        try:
            if Path(gate).read_text() == "open":
                return
        except FileNotFoundError:
            if os.getppid() == parent:
                time.sleep(_LOOK_S)
                continue
        raise RuntimeError("the run has ended")
