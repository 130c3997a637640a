"""A case on Spark: kill processes of an application, one or all, while it runs and rows arrive.

What survives goes on. The case starts the rest again; it must have ended with an error message, not with a
trace. At the end the case drains the application and compares its sink with the oracle.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence

from dovetail.service.torture import points
from dovetail.service.torture.aggregate import Aggregate
from dovetail.service.torture.case import Broken, Case, Fault
from dovetail.service.torture.chain import ChainWorkload
from dovetail.service.torture.modes import AGGREGATE, CHAIN, CHAIN_AGGREGATE
from dovetail.service.torture.oracle import Result, Row, Turn, difference
from dovetail.service.torture.outside import OutsideApplication, Servers
from dovetail.service.torture.processes import Role, kill, kill_session, processes_of
from dovetail.service.torture.spark_application import Application, SparkApplication
from dovetail.service.torture.spark_chain import ChainApplication
from dovetail.service.torture.workload import Workload

ROWS_A_PART = 30
CHAIN_ROWS_A_PART = 12
PATIENCE_S = 300.0
STOPPING_S = 60.0
ORDER_S = 20.0
LOOK_S = 0.05
FAULTS = {
    "crash point": 40,
    "worker": 22,
    "daemon": 8,
    "source": 8,
    "driver": 6,
    "JVM": 5,
    "all": 6,
    "SIGTERM": 5,
}
"""The faults, and how often each is drawn, out of a hundred."""
SERVER_FAULTS = 20
"""How often each server of an application with external systems is killed, beside these."""
OUTSIDE_ALWAYS = ("worker", "JVM", "driver", "broker", "database")
"""What every such case kills at least once, as far as it has it."""
AWAY_S = 2.0
_FATAL, _ALL = ("driver", "JVM", "all"), "driver, JVM and workers"
_NO_WAY_TO_END = ("Traceback", "internal error", "Exception in thread", "Py4J")


def run_outside(
    case: Case, turn: str, servers: Servers, kinds: Sequence[str] | None = None, sink: str | None = None
) -> None:
    """The same with external systems; `turn`: one of `OUTSIDE_TURNS`. Drawn from the case's name, in this
    order: the sink, how many faults and which, then as there."""
    rng = random.Random(case.name)
    sink = sink or rng.choice(servers.sinks)
    drawn = outside_faults(rng, sink)
    faults = drawn if kinds is None else kinds
    parts = 2 * len(faults) + 2
    workload = Workload.on_spark(case.name, turn, ROWS_A_PART * parts)
    application = OutsideApplication(case.folder, workload, sink, servers)
    case.runs_on, case.join, case.what = "Spark", turn, f"{workload.mode}, from Kafka into {sink}"
    _tortured(case, rng, application, faults, parts, lambda: wrong_in(application, workload))


def outside_faults(rng: random.Random, sink: str) -> list[str]:
    """Each of OUTSIDE_ALWAYS, others as often as FAULTS says, all in an order that is drawn."""
    weights = {**FAULTS, "broker": SERVER_FAULTS}
    if sink == "postgres":
        weights["database"] = SERVER_FAULTS
    always = [kind for kind in OUTSIDE_ALWAYS if kind in weights]
    faults = always + rng.choices(list(weights), list(weights.values()), k=rng.randint(3, 6))
    rng.shuffle(faults)
    return faults


def run_spark(case: Case, turn: str, kinds: Sequence[str] | None = None) -> None:
    """Do some of FAULTS to an application, one after another: those given, or those that the seed says.
    `turn`: one of `TURNS`.

    Drawn from the case's name, in this order: the sink, how many faults and which; then what each fault and
    the end of it need. Apart from that, from the same name: the workload (`workload.py`, `chain.py`,
    `aggregate.py`)."""
    rng = random.Random(case.name)
    sink = rng.choice(("parquet", "parquet", "log"))
    drawn = rng.choices(list(FAULTS), list(FAULTS.values()), k=rng.randint(7, 11))
    faults = drawn if kinds is None else kinds
    parts = 2 * len(faults) + 2  # work for each fault, and for each start after one
    application: Application
    wrong_now: Callable[[], str | None]
    if turn in (AGGREGATE, CHAIN_AGGREGATE):
        joins = (1,) if turn == AGGREGATE else (2, 2, 3)
        chain = ChainWorkload.of(case.name, CHAIN_ROWS_A_PART * parts, joins)
        counts = Aggregate.of(case.name, keyed_sessions=True)
        application = ChainApplication(case.folder, chain, sink, counts)
        what = f"{chain}, {counts}"

        def wrong_now() -> str | None:
            return difference(application.result(), counts.over(chain.views()[-1]))
    elif turn == CHAIN:
        chain = ChainWorkload.of(case.name, CHAIN_ROWS_A_PART * parts)
        application = ChainApplication(case.folder, chain, sink)
        what, wrong_now = str(chain), lambda: difference(application.result(), chain.expected())
    else:
        workload = Workload.on_spark(case.name, turn, ROWS_A_PART * parts)
        if workload.mode.dataframes:
            sink = "parquet"
        application = single = SparkApplication(case.folder, workload, sink)
        what, wrong_now = str(workload.mode), lambda: wrong_in(single, workload)
    case.runs_on, case.join, case.what = "Spark", turn, f"{what}, into {sink}"
    _tortured(case, rng, application, faults, parts, wrong_now)


def _tortured(
    case: Case,
    rng: random.Random,
    application: Application,
    faults: Sequence[str],
    parts: int,
    wrong_now: Callable[[], str | None],
) -> None:
    torture = _Torture(case, rng, application, parts)
    try:
        torture.start()
        for kind in faults:
            torture.fault(kind)
        torture.end()
        wrong = wrong_now()
    finally:
        torture.clear()
    if wrong:
        raise Broken(wrong)


def wrong_in(application: SparkApplication, workload: Workload) -> str | None:
    """Spark decides which commits of two streams enter first, and where a window counts rows, the result
    depends on it. There the oracle gets the order in which they entered, which must have every row once."""
    turns: list[Turn] = []
    if workload.mode.kind == "theta by rows":
        turns = application.turns()
        numbered = workload.mode.emits_pairs  # otherwise no number of a right row goes into the join
        for side, sent in (("left", workload.left), ("right", workload.right)):
            entered = [row for of, rows in turns if of == side for row in rows]
            known = _number if numbered or side == "left" else _letter
            wrong = difference(map(known, entered), Counter(map(known, sent)))
            if wrong:
                return f"of the {side} rows that entered: {wrong}"
    return difference(application.result(), workload.expected(turns))


def _number(row: Row) -> Result:
    return (row[2],)


def _letter(row: Row) -> Result:
    return (None if row[0] is None else ord(row[0]),)


class _Torture:
    def __init__(self, case: Case, rng: random.Random, application: Application, parts: int) -> None:
        self.application = application
        self._case = case
        self._rng = rng
        self._parts = parts
        self._fed = 0
        self._wounded = False  # this run may still end because of an earlier fault

    def feed(self) -> None:
        self.application.feed_part(self._fed, self._parts)
        self._fed += 1

    def start(self) -> None:
        """Start with work to do, and wait until some is done."""
        self.feed()
        before = self.application.steps_done()
        self._run()
        self._until(lambda: self._ended() or self.application.steps_done() > before, "step after a start")
        if self._ended():
            raise Broken(f"a run ended before its first step, saying: {self.application.said()[-600:]}")

    def fault(self, kind: str) -> None:
        """Do it while there is work, start the application again if it has ended, and wait for a step."""
        before = self.application.steps_done()
        if kind == "crash point":
            self._crash(self._rng.choice(points.named(points.on_spark(self.application.dataframes))))
        else:
            self.feed()
            time.sleep(self._rng.uniform(0, 1.5))  # anywhere in the work
            self._kill(kind)
        if kind == "SIGTERM":
            self._until(self._ended, "end after SIGTERM", STOPPING_S)
        elif kind in _FATAL:
            self._until(self._ended, f"end of a run whose {kind} was killed")
        else:
            self._until(lambda: self._ended() or self.application.steps_done() > before, "step after a fault")
        if self._ended():
            self._check_end(clean=kind == "SIGTERM")
            if kind in ("all", "SIGTERM") and self._rng.random() < 0.3:
                self.application.lose_index()
                self._done("before a start", "the live index is lost", kills=False)
            self.start()

    def end(self) -> None:
        """Stop or kill what runs, drain, perhaps killed once more while doing so."""
        while self._fed < self._parts:
            self.feed()
        if self._rng.random() < 0.5:
            self._kill("SIGTERM")
            self._until(self._ended, "end after SIGTERM", STOPPING_S)
            self._check_end(clean=True)
        else:
            self._kill("all")
            self._until(self._ended, "end after SIGKILL")
        if self._rng.random() < 0.3:
            self._run("--drain")
            time.sleep(self._rng.uniform(8, 20))
            if not self._ended():
                kill_session(self.application.process.pid)
                self._done("SIGKILL while draining", _ALL)
            self._until(self._ended, "end after SIGKILL")
        self._run("--drain")
        self._until(self._ended, "end of --drain")
        self._check_end(clean=True)

    def _run(self, *options: str) -> None:
        self.application.start(*options)
        self._wounded = False

    def clear(self) -> None:
        for process in self.application.processes:
            kill_session(process.pid)
            process.wait()

    def _crash(self, point: str) -> None:
        orders = self.application.orders
        draft = orders.with_name("crash.draft")
        draft.write_text(point)
        draft.rename(orders)
        self.feed()
        try:
            self._until(lambda: self._ended() or not orders.exists(), "", ORDER_S)
        except Broken:
            orders.unlink(missing_ok=True)  # no process has passed the point
            return
        if not orders.exists():
            self._done("at a crash point", point)
        orders.unlink(missing_ok=True)

    def _kill(self, kind: str) -> None:
        session = self.application.process.pid
        if kind == "all":
            kill_session(session)
        elif kind == "SIGTERM":
            self.application.terminate()
            self._done("SIGTERM", "driver", kills=False)
            return
        elif isinstance(self.application, OutsideApplication) and kind in self.application.servers:
            server = self.application.servers[kind]
            server.kill()
            time.sleep(self._rng.uniform(0, AWAY_S))
            server.start()
        elif not self._kill_one(session, kind):
            return
        self._done("SIGKILL", _ALL if kind == "all" else kind)

    def _kill_one(self, session: int, kind: str) -> bool:
        role: Role = kind  # type: ignore[assignment]
        candidates = sorted(process.pid for process in processes_of(session) if process.role == role)
        return bool(candidates) and kill(self._rng.choice(candidates))

    def _done(self, kind: str, point: str, *, kills: bool = True) -> None:
        self._case.faults.append(Fault("Spark", kind, point, kills))
        self._wounded |= kills

    def _ended(self) -> bool:
        return self.application.process.poll() is not None

    def _until(self, reached: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + patience_s
        while not reached():
            if time.monotonic() > deadline:
                raise Broken(f"there was no {what} within {patience_s:.0f} seconds")
            time.sleep(LOOK_S)

    def _check_end(self, *, clean: bool) -> None:
        """A process that was not killed itself ends with 0, or with 1 and a message."""
        process = self.application.process
        text = self.application.said()
        fine = (0,) if clean and not self._wounded else (0, 1, -signal.SIGKILL)
        ours = not self.application.dataframes  # a user's own program may print anything
        traces = [sign for sign in _NO_WAY_TO_END if ours and sign in text]
        if process.returncode not in fine or traces:
            raise Broken(f"a run ended with status {process.returncode}, saying: {text[-600:]}")
