"""What to do, given what is wanted and what is seen: a pure function, one application at a time.

    wanted  running, stopped or deleted, by which revision
    seen    processes that are alive, whether anybody holds the application, how the last process ended
    past    what was done so far: the last start and stop, failures in a row

A changed query is offered to the process that runs the one before: where the rules allow it goes on with it
in place, and otherwise it ends and another is started. One that is to run elsewhere, in a pool or out of one,
ends there first.

Law: if what is seen agrees with what is wanted, nothing is done. Every decision has a reason that a person
can act on. A process that fails is started again after 1, 2, 4, ... seconds. After five failures in a row it
is in a crash loop, and tried every five minutes; if what it reads or writes is unavailable, every minute. An
error that a retry cannot fix is not retried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dovetail.service.keeping.processes import End, Process
from dovetail.service.keeping.wanted import Wanted

Action = Literal["nothing", "start", "offer", "ask to end", "kill"]
Condition = Literal[
    "running",
    "starting",
    "changing",
    "stopping",
    "stopped",
    "held",
    "waiting",
    "failed",
    "crash loop",
    "elsewhere",
]

FIRST_WAIT_US, LONGEST_WAIT_US = 1_000_000, 60_000_000
LOOPING_AFTER, LOOP_WAIT_US = 5, 300_000_000
HEALTHY_US = 60_000_000
"""A process that has lived this long begins with no failures."""
PATIENCE_US = 30_000_000
"""How long a process may take to end before it is killed. A run needs seconds."""
POOL_PATIENCE_US = 120_000_000
"""The same for a member of a pool: it cannot be killed without the others."""
OFFERED_US = 120_000_000
"""How long a process may take to go on with a changed query before it is asked to end."""
LASTING = frozenset(
    {"PQL_INVALID", "PLAN_INVALID", "SETTING_INVALID", "CATEGORY_MISMATCH", "VERSION_UNKNOWN", "FILE_CORRUPT"}
)
"""Errors that stay what they are until somebody changes something."""
AWAY = frozenset({"CATEGORY_NOT_FOUND", "UNREACHABLE", "HOME_UNUSABLE"})
"""What it reads or writes is missing, and may come at any time: it is tried every minute, and does not count
as a crash loop."""


@dataclass(frozen=True)
class Past:
    """What the keeper remembers of an application. It begins empty, and so does a keeper that starts again:
    the first decisions are then a little quicker, and no less right."""

    revision: int = 0
    started_at_us: int = 0
    asked_at_us: int | None = None
    offered_at_us: int | None = None
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
    past = _behind(past, now_us)
    own = any(_runs(process, wanted) for process in processes)
    if past.was_alive and not own:
        failed = end is None or end.revision != wanted.revision or end.error is not None
        young = now_us - past.started_at_us < HEALTHY_US
        failures = (past.failures if young else 0) + 1 if failed else 0
        past = replace(past, failures=failures, ended_at_us=now_us)
    if not processes:
        past = replace(past, asked_at_us=None, offered_at_us=None)
    return replace(past, was_alive=own)


def _behind(past: Past, now_us: int) -> Past:
    """After the clock was set back, what lies ahead of it happened just now: nothing is waited for longer
    than it would have been."""
    return replace(
        past,
        started_at_us=min(past.started_at_us, now_us),
        ended_at_us=min(past.ended_at_us, now_us),
        asked_at_us=None if past.asked_at_us is None else min(past.asked_at_us, now_us),
        offered_at_us=None if past.offered_at_us is None else min(past.offered_at_us, now_us),
    )


def decide(
    wanted: Wanted,
    processes: Sequence[Process],
    held: bool,
    end: End | None,
    past: Past,
    now_us: int,
    over: str | None = None,
) -> Decision:
    """`over`: why the application must not run now, by its owner's quota."""
    if wanted.state != "running":
        return _ended(wanted, processes, held, past, now_us)
    if over is not None:
        ending = _ended(wanted, processes, held, past, now_us)
        return replace(ending, condition="held", why=over if not processes else f"{over}: {ending.why}")
    own = [process for process in processes if _runs(process, wanted)]
    older = [process for process in processes if process not in own]
    beside = [process for process in older if process.pid not in {each.pid for each in own}]
    if own and beside:
        ending = _ended(wanted, beside, held, past, now_us)
        return replace(ending, condition="changing", why=f"the revision before has to end: {ending.why}")
    if own:
        where = f"{own[-1].pool}, process" if own[-1].pool else "process"
        why = f"revision {own[-1].revision} in {where} {own[-1].pid}"
        return Decision("nothing", "running", why, since_us=own[-1].started_at_us)
    reason = _must_end(older, wanted, past, now_us)
    if reason is not None:
        stopping = _ended(wanted, older, held, past, now_us)
        return replace(stopping, why=f"{reason}: {stopping.why}")
    trouble = _trouble(wanted, end, past, now_us)
    if trouble is not None:
        kept = f"; revision {older[-1].revision} goes on" if older else ""
        return replace(trouble, why=trouble.why + kept)
    if older:
        offer: Action = "offer" if past.offered_at_us is None else "nothing"
        why = f"revision {wanted.revision} takes over in process {older[-1].pid}"
        return Decision(offer, "changing", why, tuple(older))
    if held:
        return Decision("nothing", "elsewhere", "another run holds the application: stop that one first")
    return Decision("start", "starting", f"revision {wanted.revision} starts")


def _runs(process: Process, wanted: Wanted) -> bool:
    """The process does what is wanted, be it by an earlier revision."""
    return process.query == wanted.query and process.restarts == wanted.restarts and _placed(process, wanted)


def _placed(process: Process, wanted: Wanted) -> bool:
    return (bool(process.pool), process.master) == (wanted.place == "pool", wanted.master)


def _must_end(older: Sequence[Process], wanted: Wanted, past: Past, now_us: int) -> str | None:
    """Why processes that run something else cannot go on with what is wanted; None: they may, or there is
    none. One of another host is asked there."""
    if not older:
        return None
    if any(process.restarts != wanted.restarts for process in older):
        return "a restart was asked for"
    if not all(_placed(process, wanted) for process in older):
        return "it moves to a pool" if wanted.place == "pool" else "it moves to a process of its own"
    if wanted.needs_start:
        return "what goes with its query is heard at a start"
    if past.offered_at_us is not None and now_us - past.offered_at_us > OFFERED_US:
        return "it did not go on with the changed query"
    return None


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
    pool = next((process.pool for process in near if process.pool), None)
    patience_us = POOL_PATIENCE_US if pool else PATIENCE_US
    if now_us - past.asked_at_us > patience_us:
        who = f"{pool} is killed, and what else it runs starts again:" if pool else "its process is killed:"
        words = f"{who} it did not end within {patience_us // 1_000_000} s"
        return Decision("kill", "stopping", words, near)
    # A pool is asked again with every look: it may have removed this wish with the one before it, which stood
    # in the same file. To ask twice ends nothing twice. A process of its own gets its signal once, because a
    # second one would cut off what it finishes.
    pooled = tuple(process for process in near if process.pool)
    return Decision("ask to end" if pooled else "nothing", "stopping", "its process ends", pooled)


def _trouble(wanted: Wanted, end: End | None, past: Past, now_us: int) -> Decision | None:
    """Why the revision is not to be started now, if there is a reason."""
    said = end.error if end is not None and end.revision == wanted.revision else None
    what = str(said["what"]) if said else "its process is gone without a word"
    if said is not None and said.get("condition") in LASTING:
        return Decision("nothing", "failed", what)
    if not past.failures:
        return None
    looping = past.failures >= LOOPING_AFTER and (said is None or said.get("condition") not in AWAY)
    wait_us = LOOP_WAIT_US if looping else min(FIRST_WAIT_US << min(past.failures - 1, 10), LONGEST_WAIT_US)
    left_us = past.ended_at_us + wait_us - now_us
    if left_us <= 0:
        return None
    seconds = max(1, round(left_us / 1e6))
    if looping:
        times = f"it has failed {past.failures} times in a row and is tried again in {seconds} s"
        return Decision("nothing", "crash loop", f"{times}: {what}")
    return Decision("nothing", "waiting", f"it is started again in {seconds} s: {what}")
