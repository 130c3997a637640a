"""A case without Spark: kill a join one to four times, let it lose things in between, and start it again."""

from __future__ import annotations

import random
import shutil
import signal
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dovetail.crash_points import VARIABLE
from dovetail.log.homes.filesystem import TEMPORARY
from dovetail.service.torture import modes, nursery, points, quick_chain, quick_join
from dovetail.service.torture.case import Broken, Case, Fault
from dovetail.service.torture.oracle import Result, difference

PATIENCE_S = 120.0
LONGEST_S = 1.0
SORTS = {2: modes.AGGREGATE, 4: modes.BY_VALUE, 6: modes.CHAIN}
"""These of every seven cases; the others are single joins."""
PASSINGS = (1, 2, 3, 5, 8)
"""A process dies when it passes a point for the N-th time: it comes to some once, to others at every step."""


def run_quick(case: Case) -> None:
    """Drawn from the case's name, in this order: how many kills; for each, whether it is at a crash point,
    which point and passing, or after how long, and what else happens then. Apart from that, from the same
    name: the workload (`workload.py`, `chain.py`, `aggregate.py`)."""
    rng = random.Random(case.name)
    target, put_out, expected = _drawn(case)
    joins = _Joins(case, rng, target)
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.75:
            point = rng.choice(points.named(points.QUICK))
            over = joins.crash(point, 1 if points.seldom(point) else rng.choice(PASSINGS))
        else:
            over = joins.kill_after(rng.uniform(0, LONGEST_S))
        if over:
            break
        joins.accident(rng.choice(("none", "none", "index", "torn", "tasks", "machine")))
    joins.finish()
    wrong = difference(put_out(joins.home), expected())
    if wrong:
        raise Broken(wrong)


def sort_of(number: int) -> str | None:
    """A chain, an aggregate or a pick by value; None: any other single join."""
    return SORTS.get(number % 7)


def _drawn(
    case: Case,
) -> tuple[Callable[..., None], Callable[[Path], list[Result]], Callable[[], Counter[Result]]]:
    """What to run, how to read what it has put out, and what that must be."""
    name = case.name
    match sort_of(case.number):
        case modes.CHAIN:
            case.join, case.what = modes.CHAIN, str(quick_chain.chain_of(name))
            return quick_chain.run, quick_chain.chain_put_out, lambda: quick_chain.chain_expected(name)
        case modes.AGGREGATE:
            chain, aggregate = quick_chain.aggregate_of(name)
            case.join, case.what = modes.AGGREGATE, f"{chain}, {aggregate}"
            return (
                quick_chain.run_aggregate,
                quick_chain.chain_put_out,
                lambda: quick_chain.aggregate_expected(name),
            )
        case modes.BY_VALUE:
            picking = quick_join.picking_workload(name)
            case.join, case.what = modes.BY_VALUE, str(picking.mode)
            return (
                quick_join.run_picking,
                quick_join.put_out,
                lambda: quick_join.quick_expected(name, picking),
            )
    workload = quick_join.quick_workload(name)
    case.join, case.what = workload.mode.kind, str(workload.mode)
    return quick_join.run, quick_join.put_out, lambda: quick_join.quick_expected(name)


class _Joins:
    """The processes of a case, one after another, on one home."""

    def __init__(self, case: Case, rng: random.Random, target: Callable[..., None]) -> None:
        self._target = target
        self.home = case.folder / "home"
        self.index = case.folder / "index"
        self._case = case
        self._rng = rng
        self._shift = 0

    def crash(self, point: str, passing: int) -> bool:
        """True if the join came to its end before."""
        return self._survived({VARIABLE: f"{point}:{passing}"}, None, "at a crash point", point)

    def kill_after(self, seconds: float) -> bool:
        return self._survived({}, seconds, "SIGKILL", "at any time")

    def _survived(self, environment: dict[str, str], seconds: float | None, kind: str, point: str) -> bool:
        if self._run(environment, seconds) == 0:
            return True
        self._case.faults.append(Fault("files", kind, point))
        return False

    def finish(self) -> None:
        if self._run({}) != 0:
            raise Broken("the join was killed, though nobody killed it")

    def accident(self, kind: str) -> None:
        """What else may happen before the next start."""
        match kind:
            case "index":
                shutil.rmtree(self.index, ignore_errors=True)
                self._lost("the live index is lost")
            case "torn":
                if self._leave_torn():
                    self._lost("a torn temporary file is left")
            case "tasks":
                self._shift += 1
                self._lost("another number of tasks")
            case "machine":
                shutil.rmtree(self.index, ignore_errors=True)
                if self.home.exists():
                    self.home = self.home.rename(self.home.with_name(f"home-{uuid.uuid4().hex[:8]}"))
                self._lost("only the home is left, elsewhere")

    def _lost(self, what: str) -> None:
        self._case.faults.append(Fault("files", "before a start", what, kills=False))

    def _leave_torn(self) -> bool:
        """Half of a file of the home under a temporary name, as a process leaves it that dies writing."""
        files = sorted(path for path in self.home.rglob("*") if path.is_file() and path.stat().st_size > 1)
        if not files:
            return False
        torn = self._rng.choice(files)
        half = torn.read_bytes()[: torn.stat().st_size // 2]
        (torn.parent / f"{TEMPORARY}{uuid.uuid4().hex}").write_bytes(half)
        return True

    def _run(self, environment: dict[str, str], kill_after_s: float | None = None) -> int:
        log = Path(self._case.folder) / "stderr.txt"
        process = nursery.start(
            self._target, (self.home, self.index, self._case.name, self._shift), environment, log
        )
        process.join(PATIENCE_S if kill_after_s is None else kill_after_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            if kill_after_s is None:
                raise Broken(f"the join did not end within {PATIENCE_S:.0f} seconds")
        code = process.exitcode
        if code not in (0, -signal.SIGKILL):
            raise Broken(f"the join ended with status {code}: {_last_line(log)}")
        return int(code)


def _last_line(log: Path) -> str:
    lines = log.read_text().splitlines()
    return lines[-1] if lines else "it said nothing"
