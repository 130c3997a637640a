"""Keeps bringing what is seen into line with what is wanted. One keeper per home."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from dovetail.engine.handover import answer_to
from dovetail.engine.handover import ask as offer_to
from dovetail.errors import DovetailError
from dovetail.service.applications import Holders
from dovetail.service.keeping import processes
from dovetail.service.keeping.events import Event, events, record
from dovetail.service.keeping.pools import Pools, ask_to_end
from dovetail.service.keeping.presence import offer_of
from dovetail.service.keeping.processes import End, Process
from dovetail.service.keeping.quotas import held as over_quota
from dovetail.service.keeping.quotas import limits
from dovetail.service.keeping.reconcile import Decision, Past, decide, observe
from dovetail.service.keeping.removal import remove_application
from dovetail.service.keeping.usage import usages
from dovetail.service.keeping.wanted import RECOVERABLE_US, Wanted, list_wanted

SERVICE = "service"
"""The author of events that nobody asked for."""
TRIM_EVERY = 600
"""How many looks pass between two checks of the size of logs."""
MEASURE_EVERY = 5
"""Looks between two at what applications take: a file of each is read for it. A quota that is changed counts
within seconds, and an application that is changed is measured at once."""


class Keeper:
    """`step` looks at every application once and does what follows. Nothing that it remembers is needed: a
    keeper that takes the place of another finds the processes that the other one has started."""

    def __init__(
        self,
        home: str,
        clock_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        launch: Callable[[str, str, int], subprocess.Popen[bytes]] = processes.launch,
        pools: Pools | None = None,
        holders: Holders | None = None,
    ) -> None:
        self.home = home
        self.decisions: dict[str, Decision] = {}
        self.looked_at: dict[str, int] = {}  # the revision that a decision is about
        self.damaged: list[DovetailError] = []
        self._clock_us = clock_us
        self._launch = launch
        self._pools = pools or Pools(home)
        self._holders = holders or Holders(home)
        self._steps = 0
        self._over: dict[str, str] = {}
        self._measured: dict[str, int] = {}  # the revisions that were there
        self._quota_damage: list[DovetailError] = []
        self._seen: dict[str, list[Process]] = {}
        self._offers: dict[str, tuple[int, str]] = {}  # revision, and the number of the question
        self._pasts: dict[str, Past] = {}
        self._launched: dict[str, subprocess.Popen[bytes]] = {}
        self._children: list[subprocess.Popen[bytes]] = []

    def step(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]  # no zombies
        self._pools.tidy()
        self._steps += 1
        if self._steps % TRIM_EVERY == 1:
            processes.trim_logs(self.home)
        found, self.damaged = list_wanted(self.home)
        revisions = {wanted.application: wanted.revision for wanted in found}
        if revisions != self._measured or self._steps % MEASURE_EVERY == 1:
            self._over, self._measured = self._over_quota(found), revisions
        self.damaged += self._quota_damage
        for wanted in found:
            try:
                self._keep(wanted)
            except DovetailError as error:  # of one application: the others are kept all the same
                self._said(wanted, Decision("nothing", "failed", error.what))
        for gone in self.decisions.keys() - {wanted.application for wanted in found}:
            del self.decisions[gone]
            self._seen.pop(gone, None)

    def _keep(self, wanted: Wanted) -> None:
        name, now_us = wanted.application, self._clock_us()
        alive = self._seen[name] = processes.processes_of(self.home, name)
        if self._begins(name, alive):
            self._said(wanted, Decision("nothing", "starting", f"revision {wanted.revision} starts"))
            return
        end = processes.end_of(self.home, name)
        past = observe(self._pasts.get(name, Past()), wanted, alive, end, now_us)
        if (refused := self._refused(wanted)) is not None:
            end = End(name, wanted.revision, now_us, refused.to_json()["error"])
            processes.write_end(self.home, end)
            past = replace(past, failures=past.failures + 1, ended_at_us=now_us, offered_at_us=None)
        held = not alive and self._holders.any_of(name)
        decision = decide(wanted, alive, held, end, past, now_us, self._over.get(name))
        self._pasts[name] = self._do(wanted, decision, past, now_us)
        self._said(wanted, decision)

    def _do(self, wanted: Wanted, decision: Decision, past: Past, now_us: int) -> Past:
        name = wanted.application
        match decision.action:
            case "start":
                processes.forget_end(self.home, name)
                self._start(wanted)
                return replace(past, started_at_us=now_us, was_alive=True)
            case "offer":
                processes.forget_end(self.home, name)
                self._offers[name] = wanted.revision, offer_to(self.home, name, offer_of(wanted))
                return replace(past, offered_at_us=now_us)
            case "ask to end":
                for process in decision.targets:
                    ask_to_end(self.home, process)
                first_us = now_us if past.asked_at_us is None else past.asked_at_us
                return replace(past, asked_at_us=first_us)  # from then on its patience counts
            case "kill":
                for process in decision.targets:
                    processes.kill(process)
        gone = decision.condition == "stopped" and wanted.state == "deleted"
        if gone and now_us - wanted.at_us > RECOVERABLE_US:
            remove_application(self.home, name)
            record(self.home, Event(name, "removed", "it was deleted a day ago", SERVICE))
        return past

    def _over_quota(self, found: list[Wanted]) -> dict[str, str]:
        """A quota that cannot be read holds nobody; it is among what is damaged."""
        self._quota_damage = []
        try:
            return over_quota(limits(self.home), usages(self.home, found, self._clock_us()))
        except DovetailError as error:
            self._quota_damage.append(error)
            return self._over

    def _start(self, wanted: Wanted) -> None:
        name = wanted.application
        if wanted.place == "pool":
            self._pools.start(name, wanted.revision, chain.from_iterable(self._seen.values()))
            return
        child = self._launch(self.home, name, wanted.revision)
        self._launched[name] = child
        self._children.append(child)

    def _refused(self, wanted: Wanted) -> DovetailError | None:
        """What the process that a revision was offered to said against it, once."""
        revision, number = self._offers.get(wanted.application, (0, ""))
        answer = answer_to(self.home, wanted.application, number) if revision else None
        if revision != wanted.revision or answer is not None:
            self._offers.pop(wanted.application, None)
        return answer.error if answer is not None and revision == wanted.revision else None

    def _begins(self, application: str, alive: list[Process]) -> bool:
        """A process was started and lives, but has not reported yet."""
        if self._pools.begins(application, alive):
            return True
        child = self._launched.get(application)
        if child is None:
            return False
        if child.poll() is not None or any(process.pid == child.pid for process in alive):
            del self._launched[application]
            return False
        return True

    def _said(self, wanted: Wanted, decision: Decision) -> None:
        """An event for each change of condition. Remaining times alone are not reported."""
        before = self.decisions.get(wanted.application)
        self.decisions[wanted.application] = decision
        self.looked_at[wanted.application] = wanted.revision
        if before is None and decision.condition == "held":  # a keeper before this one may have said so
            said = any(one["kind"] == "held" for one in events(self.home, wanted.application, 1))
        else:
            said = before is None or before.condition == decision.condition
        if not said:
            record(self.home, Event(wanted.application, decision.condition, decision.why, SERVICE))
