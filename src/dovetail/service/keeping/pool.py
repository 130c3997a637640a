"""The process of a pool: `python -m dovetail.service.keeping.pool HOME POOL`.

    asks ──► members, a thread each ──► sessions of one Spark driver

Law: a member that fails ends alone, with its own reason. If the process or its JVM dies, all members end, and
the keeper restarts each where it was. A pool that has had no member for a while ends by itself.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dovetail.engine.hold import outlived_by
from dovetail.errors import DovetailError
from dovetail.log.homes.filesystem import open_store
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.keeping import pools, processes
from dovetail.service.keeping.presence import Presence
from dovetail.service.keeping.processes import End, Process, log_path, rotated_log, write_end
from dovetail.service.keeping.wanted import find_wanted
from dovetail.service.settings import DRIVER_MEMORY, MASTER

LOOK_S, FAR_LOOK_S = 0.2, 2.0
IDLE_S = 60.0
"""A pool without members ends after this time: starting one again takes seconds."""
ENDING_S = 60.0


Begin = Callable[[Presence, threading.Event], object]
"""Runs an application until the event is set."""


class Member:
    """An application of a pool."""

    def __init__(self, presence: Presence, begin: Begin) -> None:
        self.stop = threading.Event()
        name = f"member {presence.process.application}"
        self._thread = threading.Thread(target=begin, args=(presence, self.stop), name=name, daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)


class Pool:
    def __init__(self, home: str, name: str, begin: Begin) -> None:
        self.home, self.name = home, name
        self.members: dict[str, Member] = {}
        self._begin = begin
        self._empty_s = time.monotonic()

    def keep(self, stop: threading.Event, gone: Callable[[], bool]) -> None:
        """Until it is asked to end, its driver is gone, or it has had nothing to do for a while."""
        look_s = LOOK_S if open_store(self.home).local else FAR_LOOK_S
        while not stop.wait(look_s) and not gone():
            self.step()
            if self.idle:
                leave(self.home, self.name)
                if not pools.asks(self.home, self.name):
                    break
                enter(self.home, self.name)  # a request came just before the name was removed
        self.end()

    def step(self) -> None:
        """Do what was asked since the last look."""
        self.members = {name: member for name, member in self.members.items() if not member.ended}
        for wish in pools.asks(self.home, self.name):
            member = self.members.get(wish.application)
            if wish.deed == "end":
                if member is not None:
                    member.stop.set()
            elif member is not None:
                continue  # the one before still ends: the wish stays
            else:
                self._start(wish)
            pools.done(self.home, self.name, wish.application)
        if self.members:
            self._empty_s = time.monotonic()

    @property
    def idle(self) -> bool:
        return time.monotonic() - self._empty_s > IDLE_S

    def end(self) -> None:
        """All members at once, each with what it has begun."""
        for member in self.members.values():
            member.stop.set()
        deadline = time.monotonic() + ENDING_S
        for member in self.members.values():
            member.join(max(0.0, deadline - time.monotonic()))

    def _start(self, wish: pools.Ask) -> None:
        wanted = find_wanted(self.home, wish.application)
        if wanted is None or wanted.revision != wish.revision:
            return  # the keeper asks again for what is wanted now
        say = partial(_say, rotated_log(self.home, wish.application))
        presence = Presence(self.home, wanted, say, self.name)
        processes.enter(self.home, presence.process)  # before the wish goes: see `pools.py`
        self.members[wish.application] = Member(presence, self._begin)


def main(home: str, name: str) -> int:
    from dovetail.spark.worker_python import choose_python

    choose_python(MASTER.read(), {})  # first of all: its imports go on while we do ours
    try:
        with outlived_by(home, f"{pools.FOLDER}/{name}", f"pool {name}"), stopped_by_signals() as stop:
            enter(home, name)
            try:
                _run(home, name, stop)
            finally:
                leave(home, name)
    except DovetailError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def _run(home: str, name: str, stop: threading.Event) -> None:
    from dovetail.spark.hang_up import jvm_ended
    from dovetail.spark.sharing import open_shared, session_for

    try:
        shared = open_shared(name, home, MASTER.read(), DRIVER_MEMORY.read(), log_path(home, f"{name}.spark"))
    except DovetailError as error:
        _refuse(home, name, error)
        raise

    def begin(presence: Presence, stop: threading.Event) -> None:
        presence.run(stop, lambda: session_for(shared, presence.process.application))

    Pool(home, name, begin).keep(stop, jvm_ended)
    if not jvm_ended():
        shared.stop()


def _refuse(home: str, name: str, error: DovetailError) -> None:
    """No member can start: each that was asked for hears why."""
    for wish in pools.asks(home, name):
        words = error.to_json()["error"]
        write_end(home, End(wish.application, wish.revision, time.time_ns() // 1000, words))
        pools.done(home, name, wish.application)


def enter(home: str, name: str) -> None:
    body = processes.record_of(_itself(name))
    open_store(home).replace(pools.process_path(name), body)


def leave(home: str, name: str) -> None:
    open_store(home).delete(pools.process_path(name))


def _itself(name: str) -> Process:
    host, pid = processes.this_host(), os.getpid()
    birth, now_us = processes.born(pid) or 0, time.time_ns() // 1000
    return Process(name, 1, host, processes.boot(), pid, birth, now_us, "", 0, name, MASTER.read())


def _say(log: Path, line: str) -> None:
    with log.open("a") as lines:
        lines.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
