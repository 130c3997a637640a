"""Pools as the keeper sees them: processes that run many small applications in one Spark driver.

    service/pools/<pool>/process.json              which process it is, written by itself when it begins
    service/pools/<pool>/asks/<application>.json   what it should do next about an application
    service/processes/<application>/...            for each application that it runs, as by any process

A pool outlives the daemon that started it, and ends when it has had nothing to run for a while. A request is
a file. A pool that accepts it first records that it runs the application, and then removes the file: so at
any moment one of the two says so.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from dovetail.errors import DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.keeping import processes
from dovetail.service.keeping.processes import Process

KIND, VERSION = "dovetail.pool.ask", 1
FOLDER = "service/pools"
MOST_MEMBERS = 20
"""Applications of one pool. Its Python process has one interpreter, and its JVM one heap, for all of them."""
_POOL = re.compile(r"pool-([1-9]\d{0,3})")
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})\.json")
_REMEDY = "delete the file: it is written again if it is still wanted"
Deed = Literal["run", "end"]


@dataclass(frozen=True)
class Ask:
    application: str
    deed: Deed
    revision: int


def ask(home: str, pool: str, wish: Ask) -> None:
    store = open_store(home)
    store.make_folder(f"{FOLDER}/{pool}/asks")
    store.replace(_ask_path(pool, wish.application), document.encode(KIND, VERSION, asdict(wish)))


def asks(home: str, pool: str) -> list[Ask]:
    """What was asked of a pool and is not done yet. What cannot be read is removed: somebody asks again."""
    store, found = open_store(home), []
    for entry in store.files(f"{FOLDER}/{pool}/asks"):
        if not _NAME.fullmatch(entry.name):
            continue
        path = f"{FOLDER}/{pool}/asks/{entry.name}"
        try:
            body = document.decode(store.read(path), KIND, VERSION, where=path, remedy=_REMEDY)
            fields = said.fields(body, Ask.__dataclass_fields__)
            deed = said.text(fields["deed"])
            if deed not in get_args(Deed):
                raise ValueError(f"{deed!r} is nothing that a pool does")
            found.append(Ask(said.text(fields["application"]), deed, said.whole(fields["revision"], 1)))  # type: ignore[arg-type]
        except FileNotFoundError:
            continue
        except (DovetailError, ValueError):
            store.delete(path)
    return found


def done(home: str, pool: str, application: str) -> None:
    open_store(home).delete(_ask_path(pool, application))


def pool_names(home: str) -> list[str]:
    found = [name for name in open_store(home).folders(FOLDER) if _POOL.fullmatch(name)]
    return sorted(found, key=_number)


def process_path(pool: str) -> str:
    return f"{FOLDER}/{pool}/process.json"


def pool_process(home: str, pool: str) -> Process | None:
    """The process of a pool, if it lives on this host."""
    found = processes.read_process(home, process_path(pool))
    return found if found is not None and found.alive else None


def ask_to_end(home: str, process: Process) -> None:
    """Ask for the end of what a process does for an application: of its process, or of a member of its
    pool."""
    if process.pool:
        ask(home, process.pool, Ask(process.application, "end", process.revision))
    else:
        processes.ask_to_end(process)


def launch(home: str, pool: str) -> subprocess.Popen[bytes]:
    return processes.spawn(home, pool, "dovetail.service.keeping.pool", pool)


class Pools:
    """The pools of a home. What it remembers is only which it has started and not heard of yet."""

    def __init__(self, home: str, launch: Callable[[str, str], subprocess.Popen[bytes]] = launch) -> None:
        self._home, self._launch = home, launch
        self.launched: dict[str, subprocess.Popen[bytes]] = {}
        self._asked: dict[str, str] = {}

    def start(self, application: str, revision: int, seen: Iterable[Process]) -> None:
        """Ask a pool with room to run an application; start one if there is none."""
        members = Counter(process.pool for process in seen if process.pool)
        waiting = Counter(self._asked.values())
        number = 1
        while members[f"pool-{number}"] + waiting[f"pool-{number}"] >= MOST_MEMBERS or self._foreign(number):
            number += 1
        pool = f"pool-{number}"
        ask(self._home, pool, Ask(application, "run", revision))
        self._asked[application] = pool
        # First the wish, then the look: a pool that is about to end looks for wishes once more after it has
        # taken its name away, so either it sees this one, or we see that it is gone.
        if not self._there(pool):
            self.launched[pool] = self._launch(self._home, pool)

    def begins(self, application: str, alive: Iterable[Process]) -> bool:
        """A pool was asked to run it and lives, but has not reported it yet."""
        pool = self._asked.get(application)
        if pool is None:
            return False
        wished = any(wish.application == application for wish in asks(self._home, pool))
        if any(process.pool for process in alive) or not wished or not self._there(pool):
            del self._asked[application]
            done(self._home, pool, application)
            return False
        return True

    def tidy(self) -> None:
        """Stale requests, left by an earlier keeper for a pool that is gone."""
        for child in [pool for pool, child in self.launched.items() if child.poll() is not None]:
            del self.launched[child]
        for pool in pool_names(self._home):
            for wish in asks(self._home, pool):
                if wish.application not in self._asked and not self._there(pool):
                    done(self._home, pool, wish.application)

    def _there(self, pool: str) -> bool:
        child = self.launched.get(pool)
        return (child is not None and child.poll() is None) or pool_process(self._home, pool) is not None

    def _foreign(self, number: int) -> bool:
        """A pool of that name is on another host."""
        found = processes.read_process(self._home, process_path(f"pool-{number}"))
        return found is not None and found.host != processes.this_host()


def _ask_path(pool: str, application: str) -> str:
    return f"{FOLDER}/{pool}/asks/{application}.json"


def _number(pool: str) -> int:
    found = _POOL.fullmatch(pool)
    return int(found[1]) if found else 0
