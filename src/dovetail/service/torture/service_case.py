"""The service under kills: the daemon, pools, processes and workers die at random, while applications are
deployed, changed, moved, stopped and removed.

    deed ──► kill ──► deed ──► kill ──► ... ──► rest: what is wanted and what is seen agree

Law. At rest every application that should run does so, once, and no other does. Its output has every pair of
rows exactly once, whatever has died meanwhile. No process is left over, and none is there twice.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from dovetail.errors import DovetailError
from dovetail.log.category import Category, list_categories
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.source import InputFile
from dovetail.service.keeping import verbs
from dovetail.service.keeping.processes import Process, processes_of
from dovetail.service.keeping.wanted import Place, find_wanted, list_wanted
from dovetail.service.torture.case import Broken

NAMES = ("ants", "bees", "cats")
REST_EVERY = 5
"""Kills between two looks at everything."""
PATIENCE_S = 600.0
STARTING_S = 120.0
TARGETS = ("daemon", "pool", "process", "worker", "everything")
QUERY = """CREATE APPLICATION {name};
CREATE INPUT TABLE l (eventtime TIMESTAMP, id BIGINT) FROM SCRIBE("{name}_left");
CREATE INPUT TABLE r (eventtime TIMESTAMP, id BIGINT, word STRING) FROM SCRIBE("{name}_right");
CREATE VIEW pairs AS SELECT l.eventtime AS eventtime, l.id AS id, r.word AS word
FROM l JOIN r ON l.id = r.id AND r.eventtime BETWEEN l.eventtime - INTERVAL '1 day' AND l.eventtime;
CREATE TABLE result AS SELECT eventtime, id, {word} AS word FROM pairs
STORAGE SCRIBE (category = "{name}_pairs");
"""
WORDS = ("word", "CONCAT(word, '')")
"""Two queries whose rows are the same: a change at any moment changes nothing that comes out."""


@dataclass
class Chaos:
    """`kills`: how many of each target. `sessions`: of all processes that were ever seen."""

    home: str
    folder: Path
    random: Random
    say: Callable[[str], None] = lambda line: None
    daemon: subprocess.Popen[bytes] | None = None
    sent: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    sessions: set[int] = field(default_factory=set)

    def run(self, kills: int) -> None:
        try:
            self._serve()
            for number in range(kills):
                for _ in range(self.random.randrange(1, 4)):
                    self._deed()
                    time.sleep(self.random.uniform(0, 4))
                self._kill()
                if (number + 1) % REST_EVERY == 0 or number + 1 == kills:
                    self._rest()
                    self.say(f"{number + 1} kills, {sum(self.sent.values())} pairs, at rest: all as wanted")
            self._over()
        finally:
            self._clear()

    # What people do.

    def _deed(self) -> None:
        name = self.random.choice(NAMES)
        known = find_wanted(self.home, name)
        running = known is not None and known.state == "running"
        deeds: list[Callable[[], object]] = [lambda: self._send(name)] * 3
        if known is None or known.state == "deleted":
            deeds.append(lambda: self._deploy(name))
        else:
            deeds += [lambda: self._deploy(name)] * 2
            deeds += [lambda: verbs.restart(self.home, name, by="chaos"), lambda: self._move(name)]
            deeds.append(lambda: (verbs.stop if running else verbs.start)(self.home, name, by="chaos"))
            if self.random.random() < 0.3:
                deeds.append(lambda: verbs.delete(self.home, name, by="chaos"))
        self.random.choice(deeds)()

    def _deploy(self, name: str) -> None:
        if not self.sent[name]:
            self._send(name)  # its inputs are there
        verbs.deploy(self.home, QUERY.format(name=name, word=self.random.choice(WORDS)), by="chaos")

    def _move(self, name: str) -> None:
        where: Place = self.random.choice(["pool", "own"])
        verbs.place(self.home, name, where, by="chaos")

    def _send(self, name: str) -> None:
        """A row of each side, with the same key."""
        number = self.sent[name]
        at = f"2026-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
        for side, word in (("right", f', "word": "w{number}"'), ("left", "")):
            path = self.folder / f"{name}.json"
            path.write_text(f'{{"eventtime": "{at}", "id": {number}{word}}}\n')
            file = InputFile(str(path), path.stat().st_size)
            append_file(self.home, f"{name}_{side}", file, kind="json")
        self.sent[name] += 1

    # What dies.

    def _kill(self) -> None:
        target = self.random.choice(TARGETS)
        if self.random.random() < 0.7:
            self._await_some()
        found = list(self._processes())
        below = [pid for process in found for pid in _session(process.pid) if pid != process.pid]
        placed = [process for process in found if bool(process.pool) == (target == "pool")]
        if (target == "worker" and not below) or (target in ("pool", "process") and not placed):
            target = "daemon"  # what is not there cannot die
        if target in ("daemon", "everything"):
            self._end_daemon()
        if target == "everything":
            for process in found:
                _kill_session(process.pid)
        elif target == "worker":
            _kill(self.random.choice(below))
        elif target != "daemon":
            _kill(self.random.choice(placed).pid)
        self.kills[target] += 1
        self._serve()

    def _await_some(self) -> None:
        """Until something runs, if anything should: most kills are to meet applications at work."""
        deadline = time.monotonic() + STARTING_S
        while time.monotonic() < deadline and not list(self._processes()):
            if not any(wanted.state == "running" for wanted in list_wanted(self.home)[0]):
                return
            time.sleep(0.5)

    def _processes(self) -> Iterator[Process]:
        for name in NAMES:
            for process in processes_of(self.home, name):
                self.sessions.add(process.pid)
                yield process

    # What must hold.

    def _rest(self) -> None:
        """Wait until everything is as wanted, then compare."""
        deadline = time.monotonic() + PATIENCE_S
        while (wrong := self._wrong()) is not None:
            if time.monotonic() > deadline:
                raise Broken(f"after {self.kills.total()} kills: {wrong}")
            time.sleep(0.5)

    def _wrong(self) -> str | None:
        """What is not as it should be, at this moment."""
        for name in NAMES:
            wanted, alive = find_wanted(self.home, name), list(processes_of(self.home, name))
            running = wanted is not None and wanted.state == "running"
            if len(alive) != running:
                return f"{name} is in {len(alive)} processes, {'one' if running else 'none'} is wanted"
            if wanted is not None and running:
                (process,) = alive
                placed = bool(process.pool) == (wanted.place == "pool")
                if (process.query, process.restarts) != (wanted.query, wanted.restarts) or not placed:
                    return f"{name} runs revision {process.revision}, {wanted.revision} is wanted"
                if (found := self._output(name)) != dict.fromkeys(range(self.sent[name]), 1):
                    return f"{name} has put out {found.total()} pairs of {self.sent[name]}"
            doubled = [number for number, times in self._output(name).items() if times > 1]
            if doubled:
                raise Broken(f"{name} has put out pairs twice: {doubled[:5]}")
        return self._doubled()

    def _output(self, name: str) -> Counter[int]:
        found: Counter[int] = Counter()
        if f"{name}_pairs" in list_categories(self.home):
            category = Category.open(self.home, f"{name}_pairs")
            for commit in category.commits(category.first_commit(), category.next_commit()):
                for segment in commit.segments:
                    batch = category.open_segment(segment).batch
                    found.update(batch.column(batch.schema.get_field_index("id")).to_pylist())
        return found

    def _doubled(self) -> str | None:
        """Processes of this home that do the same thing."""
        commands = Counter(found for pid in _pids() if (found := _keeps(pid, self.home)) is not None)
        twice = [command for command, times in commands.items() if times > 1]
        return f"there are two processes {twice[0]}" if twice else None

    def _over(self) -> None:
        """Everything is stopped: nothing that was ever started is left."""
        for wanted in list_wanted(self.home)[0]:
            if wanted.state == "running":
                verbs.stop(self.home, wanted.application, by="chaos")
        self._rest()
        self._end_daemon(signal.SIGTERM)
        for pid in _pids():
            if _keeps(pid, self.home) is not None:  # pools that have nothing to do, and would end in a minute
                self.sessions.add(pid)
                os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while left := [pid for session in self.sessions for pid in _session(session)]:
            if time.monotonic() > deadline:
                raise Broken(f"processes are left over: {left}")
            time.sleep(0.5)

    # The daemon.

    def _serve(self) -> None:
        if self.daemon is not None and self.daemon.poll() is None:
            return
        command = [sys.executable, "-m", "dovetail.service.cli.main", "serve", "--port", "0"]
        with (self.folder / "serve.log").open("ab") as log:
            self.daemon = subprocess.Popen([*command, "--home", self.home], stdout=log, stderr=log)

    def _end_daemon(self, number: int = signal.SIGKILL) -> None:
        if self.daemon is not None:
            self.daemon.send_signal(number)
            self.daemon.wait()

    def _clear(self) -> None:
        self._end_daemon()
        for process in self._processes():
            _kill_session(process.pid)
        for pid in _pids():
            if _keeps(pid, self.home) is not None:
                _kill_session(pid)


def run_service(seed: int, kills: int, folder: Path, say: Callable[[str], None]) -> Counter[str]:
    """Kill that often. Gives what was killed; raises `Broken` if the law does not hold."""
    chaos = Chaos(str(folder / "home"), folder, Random(seed), say)
    try:
        chaos.run(kills)
    except DovetailError as error:
        raise Broken(f"a deed failed after {chaos.kills.total()} kills: {error}") from error
    return chaos.kills


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _keeps(pid: int, home: str) -> str | None:
    """What a process runs for a home, without the number of the revision; None: nothing."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    found = re.search(rf"dovetail\.service\.keeping\.(pool|child) {re.escape(home)} (\S+)", " ".join(words))
    return found[0].removesuffix(f" {home}") if found is not None else None


def _session(session: int) -> list[int]:
    """All processes of a session that live."""
    found = []
    for pid in _pids():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX" and int(fields[3]) == session:
            found.append(pid)
    return found


def _kill_session(session: int) -> None:
    for pid in _session(session):
        _kill(pid)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
