"""Law: an error raised anywhere, in a worker or on the driver, reaches the user as the error it was.

Spark carries exceptions of Python workers as text. `packs_errors` puts a `DovetailError` into that text, and
`failure_of` finds it again. Spark's own errors become one sentence with the place. DOVETAIL_DEBUG shows the
rest.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import unquote

from dovetail.errors import DovetailError, InputError, RunError

_MARK, _END = "<<dovetail:", ":dovetail>>"
_FILE = re.compile(r"(?:file|path)s?:? (?:file:)?(/[^\s'\"]+|\w+://[^\s'\"]+)")
_PYTHON = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)$", re.MULTILINE)
"""A Python traceback, up to the line that says what was raised."""
_PACKAGE = re.compile(r"\b(?:java|javax|scala|org\.apache|py4j|pyspark)\.[\w.]*\.(?=\w)")
F = TypeVar("F", bound=Callable[..., Any])


INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling a job: java.lang.InterruptedException"
)
"""By this text Spark knows a micro-batch that ended because its query was stopped."""


class TaskError(Exception):
    """A DovetailError on its way through Spark."""


def packs_errors(function: F) -> F:
    """Let a function that Spark calls in a Python process raise DovetailErrors that arrive."""
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            try:
                yield from function(*args, **kwargs)
            except DovetailError as error:
                raise _packed(error) from None

        return cast("F", generate)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except DovetailError as error:
            raise _packed(error) from None

    return cast("F", call)


def failure_of(error: BaseException, stage: str) -> DovetailError:
    """What to tell the user about an exception that ended a stage."""
    if isinstance(error, DovetailError):
        return error
    text = str(error)
    packed = _unpacked(text)
    if packed is not None:
        return packed
    if _worker_died(error):
        return RunError(
            f"stage {stage} failed: {DEAD_WORKER}{_killed_for_memory()}",
            where=f"stage {stage}",
            expected="Python workers that live as long as their tasks",
            hint="start again: what was committed before stays. A worker that crashes writes to Spark's log; "
            "one that is killed needs more memory, or fewer cores beside it (--master local[N])",
        )
    summary = _summary(text)
    file = _FILE.search(text)
    if file and ("footer" in text.lower() or "FAILED_READ_FILE" in text or "parquet" in text.lower()):
        return InputError(
            f"a file cannot be read: {summary}",
            where=unquote(re.sub("^/+", "/", file.group(1)).rstrip(".,;:")),
            expected="a whole file in the format that the query names",
            hint="repair or remove the file and run again; what was committed before stays",
        )
    return RunError(
        f"stage {stage} failed: {summary}",
        where=f"stage {stage}",
        hint="what was committed before stays; DOVETAIL_DEBUG=1 shows Spark's own error",
    )


_TRANSIENT = (
    # the machine was too busy to start a process in the ten seconds that Spark gives it
    "Python worker failed to connect back",
    # Spark 4.3 serializes a task while another query changes a map that both share
    "OptionalDataException",
    "ConcurrentModificationException",
)
DEAD_WORKER = "a Python worker process died"
_DEATH = ("Python worker exited unexpectedly", "EOFException", "Connection reset", "Broken pipe")
"""How the JVM notices that the process at the other end of a socket is gone."""
_OOM_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


def is_transient(error: BaseException) -> bool:
    """A fault of the moment: the same stage, started again from its checkpoint, gets past it."""
    text = str(error)
    return DEAD_WORKER in text or _worker_died(error) or any(sign in text for sign in _TRANSIENT)


def interrupted(error: BaseException) -> bool:
    """A micro-batch did not fail: its query was stopped."""
    text = str(error)
    return "InterruptedException" in text or "cancelled part of cancelled job group" in text


def _worker_died(error: BaseException) -> bool:
    """Spark lost the connection to a Python process: a socket broke in the part of Spark that talks to them,
    and no Python error came through it. Of a socket that just ended Java has no message, only a trace."""
    text = str(error)
    cause = getattr(error, "_cause", None)
    while cause is not None:
        text += str(getattr(cause, "_stackTrace", ""))
        cause = getattr(cause, "_cause", None)
    talking = "api.python" in text or "execution.python" in text or "Python worker" in text
    return talking and _MARK not in text and not _PYTHON.search(text) and any(s in text for s in _DEATH)


def _oom_kills() -> int:
    """Processes that Linux has killed since it booted because memory ran out; 0 where it does not say."""
    try:
        found = _OOM_KILLS.search(Path("/proc/vmstat").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


_OOM_KILLS_BEFORE = _oom_kills()


def _killed_for_memory() -> str:
    kills = _oom_kills() - _OOM_KILLS_BEFORE
    return f"; memory ran out: the system has killed {kills} processes since this run began" if kills else ""


def _packed(error: DovetailError) -> TaskError:
    """As people read it, then as `_unpacked` does."""
    return TaskError(f"{error}\n{_MARK}{json.dumps(error.to_json())}{_END}")


def _unpacked(text: str) -> DovetailError | None:
    start = text.find(_MARK)
    end = text.find(_END, start)
    if start < 0 or end < 0:
        return None
    return DovetailError.from_json(json.loads(text[start + len(_MARK) : end]))


def _summary(text: str) -> str:
    """The most telling line of a long account: what a Python worker raised, or Java's deepest cause."""
    raised = _PYTHON.findall(text)
    if raised:
        return _shortened(raised[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by:") for line in lines if line.startswith("Caused by:")]
    return _shortened(causes[-1] if causes else lines[0] if lines else "no reason given")


def _shortened(line: str) -> str:
    """Without Java's package names, and not endless."""
    return _PACKAGE.sub("", line.strip())[:500]
