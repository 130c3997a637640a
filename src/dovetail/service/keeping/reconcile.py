"""What follows from what is wanted and what is seen: a pure function, one application at a time.

    wanted  running, stopped or deleted, by which revision
    seen    processes that are alive, whether anybody holds the application, how the last process ended
    past    what was done so far: the last start and stop, failures in a row

Law: where seen agrees with wanted nothing is done. A decision says why in words that a person can act on.
A process that fails is started again after 1, 2, 4, ... seconds. After five failures in a row it is in a
crash loop, and tried every five minutes. An error that no repetition mends is not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dovetail.service.keeping.processes import End, Process
from dovetail.service.keeping.wanted import Wanted

Action = Literal["nothing", "start", "ask to end", "kill"]
Condition = Literal[
    "running", "starting", "changing", "stopping", "stopped", "waiting", "failed", "crash loop", "elsewhere"
]

FIRST_WAIT_US, LONGEST_WAIT_US = 1_000_000, 60_000_000
LOOPING_AFTER, LOOP_WAIT_US = 5, 300_000_000
HEALTHY_US = 60_000_000
"""A process that has lived this long begins with no failures."""
PATIENCE_US = 30_000_000
"""How long a process may take to end before it is killed. A run needs seconds."""
LASTING = frozenset(
    {"PQL_INVALID", "PLAN_INVALID", "SETTING_INVALID", "CATEGORY_MISMATCH", "VERSION_UNKNOWN", "FILE_CORRUPT"}
)
"""Errors that stay what they are until somebody changes something."""


@dataclass(frozen=True)
class Past:
    """What the keeper remembers of an application. It begins empty, and so does a keeper that starts again:
    the first decisions are then a little quicker, and no less right."""

    revision: int = 0
    started_at_us: int = 0
    asked_at_us: int | None = None
    failures: int = 0
    ended_at_us: int = 0
    was_alive: bool = False


@dataclass(frozen=True)
class Decision:
    action: Action
    condition: Condition
    why: str
    targets: tuple[Process, ...] = ()
    since_us: int = 0
    """When the process that does what is wanted began."""


def observe(past: Past, wanted: Wanted, processes: Sequence[Process], end: End | None, now_us: int) -> Past:
    """The past with what has happened since the last look: a process has ended, and well or not."""
    if wanted.revision != past.revision:
        past = Past(wanted.revision)
    own = any(_runs(process, wanted) for process in processes)
    if past.was_alive and not own:
        failed = end is None or end.revision != wanted.revision or end.error is not None
        young = now_us - past.started_at_us < HEALTHY_US
        failures = (past.failures if young else 0) + 1 if failed else 0
        past = replace(past, failures=failures, ended_at_us=now_us)
    return replace(past, was_alive=own, asked_at_us=past.asked_at_us if processes else None)


def decide(
    wanted: Wanted, processes: Sequence[Process], held: bool, end: End | None, past: Past, now_us: int
) -> Decision:
    if wanted.state != "running":
        return _ended(wanted, processes, held, past, now_us)
    own = [process for process in processes if _runs(process, wanted)]
    older = [process for process in processes if process not in own]
    if own and older:
        return Decision("nothing", "changing", f"revision {wanted.revision} takes over from the one before")
    if own:
        why = f"revision {own[-1].revision} in process {own[-1].pid}"
        return Decision("nothing", "running", why, since_us=own[-1].started_at_us)
    if any(process.query == wanted.query for process in older):
        stopping = _ended(wanted, older, held, past, now_us)
        return replace(stopping, why=f"a restart was asked for: {stopping.why}")
    trouble = _trouble(wanted, end, past, now_us)
    if trouble is not None:
        kept = f"; revision {older[-1].revision} goes on" if older else ""
        return replace(trouble, why=trouble.why + kept)
    if older:
        return Decision("start", "changing", f"revision {wanted.revision} takes over")
    if held:
        return Decision("nothing", "elsewhere", "another run holds the application: stop that one first")
    return Decision("start", "starting", f"revision {wanted.revision} starts")


def _runs(process: Process, wanted: Wanted) -> bool:
    """The process does what is wanted, be it by an earlier revision."""
    return (process.query, process.restarts) == (wanted.query, wanted.restarts)


def _ended(wanted: Wanted, processes: Sequence[Process], held: bool, past: Past, now_us: int) -> Decision:
    near = tuple(process for process in processes if process.here)
    if not processes:
        if held:
            return Decision("nothing", "elsewhere", "it is to be stopped, and another run holds it")
        return Decision("nothing", "stopped", wanted.deed if wanted.state == "deleted" else "as wanted")
    if not near:
        return Decision("nothing", "elsewhere", f"it runs on {processes[-1].host}: stop it there")
    if past.asked_at_us is None:
        return Decision("ask to end", "stopping", "its process was asked to end", near)
    if now_us - past.asked_at_us > PATIENCE_US:
        seconds = PATIENCE_US // 1_000_000
        return Decision("kill", "stopping", f"its process did not end within {seconds} s", near)
    return Decision("nothing", "stopping", "its process ends")


def _trouble(wanted: Wanted, end: End | None, past: Past, now_us: int) -> Decision | None:
    """Why the revision is not to be started now, if there is a reason."""
    said = end.error if end is not None and end.revision == wanted.revision else None
    what = str(said["what"]) if said else "its process is gone without a word"
    if said is not None and said.get("condition") in LASTING:
        return Decision("nothing", "failed", what)
    if not past.failures:
        return None
    looping = past.failures >= LOOPING_AFTER
    wait_us = LOOP_WAIT_US if looping else min(FIRST_WAIT_US << (past.failures - 1), LONGEST_WAIT_US)
    left_us = past.ended_at_us + wait_us - now_us
    if left_us <= 0:
        return None
    seconds = max(1, round(left_us / 1e6))
    if looping:
        times = f"it has failed {past.failures} times in a row and is tried again in {seconds} s"
        return Decision("nothing", "crash loop", f"{times}: {what}")
    return Decision("nothing", "waiting", f"it is started again in {seconds} s: {what}")
