"""Law: a join reads nothing before its slicers are done, and nothing more once one of them has failed.

Starting the query of a Python source takes a second or two, for a process and a plan. So a join starts while
its slicers still work; its source then waits at a gate, on the driver, in `prepareForTriggerAvailableNow`. A
gate is a file: absent, `open`, `rest`, or with the error that turns the join away.

A join that is asked to rest plans no further step, and says so in a file beside the gate. Spark asks for the
next step only when the one before is done. So once it has said so, nothing that it has begun is unfinished,
and its query can be stopped without leaving a batch that somebody has to run again.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from dovetail.engine.process_folder import process_folder
from dovetail.errors import DovetailError, RunError

_LOOK_S = 0.01
_OPEN, _REST = "open", "rest"


class Gates:
    """The gates of one run."""

    def __init__(self) -> None:
        self._directory = process_folder("dovetail-gates-")

    def path(self, stage: str) -> str:
        return str(self._directory / stage)

    def open(self, stage: str) -> None:
        self._write(stage, _OPEN)

    def rest(self, stage: str) -> None:
        """Ask for no further step."""
        self._write(stage, _REST)

    def rests(self, stage: str) -> bool:
        """Whether the join that was asked to rest has confirmed it."""
        return os.path.exists(_said(self.path(stage)))

    def shut(self, stages: list[str]) -> None:
        """Turn away stages that still wait."""
        for stage in stages:
            if not os.path.exists(self.path(stage)):
                self.fail(stage, RunError("the run has ended"))

    def fail(self, stage: str, error: DovetailError) -> None:
        """Turn the stage away with this error, whether it waits or has passed already. If the gates have just
        been removed, the run has ended, and nobody waits any longer."""
        with suppress(FileNotFoundError):
            self._write(stage, json.dumps(error.to_json()))

    def remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def _write(self, stage: str, word: str) -> None:
        self._directory.mkdir(exist_ok=True)  # a run may live longer than files may stay in /tmp
        draft = self._directory / f".{stage}"
        draft.write_text(word)
        draft.replace(self.path(stage))


def wait_at(gate: str | None) -> None:
    """Wait until the gate opens. Raises the error it is shut with, or one if Spark has died in the
    meantime."""
    parent = os.getppid()
    while gate is not None and not _opened(gate):
        if os.getppid() != parent:
            raise RunError("the run has ended")
        time.sleep(_LOOK_S)


def look_at(gate: str | None) -> None:
    """Raise what the gate is shut with, if it is."""
    if gate is not None:
        _word(gate)


def is_asked_to_rest(gate: str | None) -> bool:
    """Raises what the gate is shut with."""
    return gate is not None and _word(gate) == _REST


def rests_at(gate: str | None) -> bool:
    """Whether to plan no further step; this says that none is planned. Raises what the gate is shut with."""
    if gate is None or not is_asked_to_rest(gate):
        return False
    with suppress(FileNotFoundError):  # the run has ended, and took its gates along
        Path(_said(gate)).touch()
    time.sleep(_LOOK_S)
    return True


def is_open(gate: str) -> bool:
    """Whether it is. Raises the error it is shut with."""
    return _opened(gate)


def _opened(gate: str) -> bool:
    return _word(gate) is not None


def _word(gate: str) -> str | None:
    """None: the gate is closed. Raises the error it is shut with."""
    try:
        word = Path(gate).read_text()
    except FileNotFoundError:
        return None
    if word not in (_OPEN, _REST):
        raise DovetailError.from_json(json.loads(word))
    return word


def _said(gate: str) -> str:
    return f"{gate}.rests"
