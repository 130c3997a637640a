"""A run that changes its query in place: the same process, the same Spark session.

    stream ──► a changed query is offered, ──► the old query comes to rest ──► the version takes over,
      ▲        allowed by the rules, built      after the step it has begun     its stages start
      └──────────────────────────────────────────────────────────────────────────────────────────────┘

All that needs no rest is done while the old query runs, so nothing comes out only while Spark stops one query
and starts the next.

Law: whatever happens to an offer before it counts, the application keeps running: with the new query, or with
the old one if the new one was refused. Once it counts, the old one never runs again: an error then ends the
run, and the next one goes on from there. If an offer does not fit this run's terms, the run ends, and the run
that asked takes over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.changes.leftovers import remove_leftovers
from dovetail.changes.made_from import origin_at
from dovetail.changes.takeover import Takeover, consider, require, take_over
from dovetail.engine.handover import (
    WAITED_S,
    Offer,
    Request,
    Requests,
    TakeoverAnswer,
    answer,
    answer_to,
    ask,
)
from dovetail.errors import DovetailError
from dovetail.service.figures import RunSummary
from dovetail.service.metrics_reporter import Reporter
from dovetail.service.terms import file_of, same_terms
from dovetail.spark.hang_up import loss_named
from dovetail.spark.runner import Prepared, Run, prepare
from dovetail.spark.settling import let_out, settle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dovetail.changes.verdict import Change
    from dovetail.engine.hold import Check
    from dovetail.plan.physical import Plan
    from dovetail.plan.statements import Program
    from dovetail.service.follower import Follower
    from dovetail.spark.head_start import HeadStart
    from dovetail.spark.starting import Mode

Compile = Callable[[tuple[str, str]], tuple["Program", "list[Plan]"]]
Announce = Callable[[int, "Sequence[Change]"], None]
_LOOK_S = 0.1


@dataclass(frozen=True)
class Offered:
    """A query that the run is about to go on with."""

    request: Request
    takeover: Takeover
    prepared: Prepared


@dataclass
class Host:
    """What stays while queries change. `fits`: whether the session has everything that a plan needs. `took`
    is called when an offer takes effect, before its maker gets the answer."""

    spark: SparkSession
    home: str
    mode: Mode
    index_dir: str | None
    held: Check
    stop: threading.Event
    follower: Follower
    announce: Announce
    compile: Compile
    fits: Callable[[Plan], bool]
    terms: Mapping[str, Any]
    log: Path
    took: Callable[[Offer], None] = lambda offer: None
    metrics_port: int | None = None
    head_start: HeadStart | None = None
    _offered: Offered | None = field(default=None, init=False)

    def run(self, takeover: Takeover, began_s: float) -> RunSummary:
        """Until it ends, or is asked to make room for a query that it cannot go on with itself."""
        (plan, version), prepared = self._go_over(*self._take_over(takeover)), None
        while True:
            run, reporter = self._execute(plan, version, began_s, prepared)
            if self._offered is None or self.stop.is_set():
                return self.follower.summary(run, reporter.last)
            offered, self._offered = self._offered, None
            error, prepared = None, offered.prepared
            try:
                counting = self._take_over(offered.takeover, prepared)
            except DovetailError as refused:  # by what the old query could not finish: it goes on
                error = refused
            else:  # outside of that: the home names the new query, so the old one may not go on
                plan, version = self._go_over(*counting)
                if offered.request.offer is not None:
                    self.took(offered.request.offer)
            if plan != prepared.plan:  # joins that begin afresh are filled: their plan says up to where
                prepared.gates.remove()
                prepared = None
            answer(self.home, plan.application, TakeoverAnswer(offered.request.number, version, error))

    def _take_over(self, takeover: Takeover, prepared: Prepared | None = None) -> tuple[Takeover, int]:
        """Until the query counts."""
        with loss_named(self.log):
            built = prepared.stages if prepared is not None else None
            takeover, steps = settle(self.spark, takeover, self.index_dir, built)
            return takeover, take_over(takeover, steps)

    def _go_over(self, takeover: Takeover, version: int) -> tuple[Plan, int]:
        """Finish the query before one that counts. Done again, it changes nothing: a run that is started
        after a failure does it first."""
        with loss_named(self.log):
            let_out(self.spark, self.home, takeover.plan.application, self.index_dir)
            if version > 1:  # also after a run that was killed at it
                remove_leftovers(self.home, takeover.plan.application)
        if takeover.changes:
            self.announce(version, takeover.changes)
        return takeover.plan, version

    def _execute(
        self, plan: Plan, version: int, began_s: float, prepared: Prepared | None
    ) -> tuple[Run, Reporter]:
        reporter = Reporter(self.home, plan, version, self.metrics_port)
        requests = Requests(self.home, plan.application)

        def watch(run: Run) -> None:
            self.follower.take(run, reporter.last)
            if run.stop.is_set():
                return
            request = requests.wanted()
            if self.stop.is_set() or (request is not None and self._makes_room(request, plan)):
                run.rests = reporter.is_followed = self._offered is not None
                run.stop.set()

        run = Run(self.spark, plan, self.home, self.mode, self.index_dir, watch=watch, held=self.held)
        run.started_s, run.follows, run.head_start = began_s, version > 1, self.head_start
        run.prepared = prepared
        if self.stop.is_set():
            run.stop.set()
        with loss_named(self.log), reporter:
            run.execute()
        return run, reporter

    def _makes_room(self, request: Request, plan: Plan) -> bool:
        """Whether to stop: for a query that was offered, or for a run that waits. A refused query stops
        nothing."""
        offer = request.offer
        if offer is None or self.mode != "stream" or not same_terms(offer.terms, self.terms):
            return True
        file = file_of(offer.terms)
        try:
            program, plans = self.compile((offer.text, offer.name))
            origin = None if file is None else origin_at(file)
            takeover = consider(self.home, plans, program, parent=offer.parent, origin=origin)
            require(takeover)
            if self.fits(takeover.plan):
                made = prepare(self.spark, takeover.plan, self.home, self.mode, self.index_dir)
                self._offered = Offered(request, takeover, made)
        except DovetailError as error:
            answer(self.home, plan.application, TakeoverAnswer(request.number, 0, error))
            return False
        return True


def offered(home: str, application: str, offer: Offer, is_held: Callable[[], bool]) -> TakeoverAnswer | None:
    """Offer a query to the run of an application. None: that run has ended, or does not answer."""
    number, deadline = ask(home, application, offer), time.monotonic() + WAITED_S
    while time.monotonic() < deadline and is_held():
        if (found := answer_to(home, application, number)) is not None:
            return found
        time.sleep(_LOOK_S)
    return None
