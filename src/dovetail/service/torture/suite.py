"""Case after case, drawn from one seed, until the time is up or enough kills are done.

Law: what the n-th case does depends on the seed and n alone, so that a case that failed can be repeated.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dovetail.service.torture.case import Broken, Case
from dovetail.service.torture.modes import TURNS

if TYPE_CHECKING:
    from dovetail.service.torture.outside import Servers

Kind = Literal["quick", "spark"]
SPARK_EVERY = 35
"""One case in 35 is on Spark: it takes minutes, the others seconds."""
_ROOM_BYTES = 1 << 30


def kind_of(number: int) -> Kind:
    return "spark" if number % SPARK_EVERY == SPARK_EVERY // 2 else "quick"


def turn_of(number: int) -> str:
    """The kind of join of a case on Spark, a chain or an aggregate: each has its turn, so that a few cases
    cover all."""
    return TURNS[number // SPARK_EVERY % len(TURNS)]


@dataclass(frozen=True)
class Wish:
    """Which cases to run, and how many; a bound of None sets no limit. `spark`: this many of the kills are
    on Spark, the others without it."""

    seed: int
    folder: Path
    seconds: float | None = None
    kills: int | None = None
    case: int | None = None
    only: Kind | None = None
    spark: int | None = None
    servers: Servers | None = None  # cases on Spark use external systems

    def numbers(self) -> Iterator[int]:
        if self.case is not None:
            return iter([self.case])
        return (number for number in itertools.count() if self.only in (None, kind_of(number)))

    def enough(self, kills: Counter[Kind]) -> bool:
        """Whether the kills that were asked for are done."""
        if self.kills is None and self.spark is None:
            return False
        return kills.total() >= (self.kills or 0) and kills["spark"] >= (self.spark or 0)

    def skips(self, kind: Kind, kills: Counter[Kind]) -> bool:
        """Only kills on Spark are missing."""
        if self.spark is None or kind == "spark":
            return False
        return kills["quick"] >= (self.kills or 0) - self.spark


def run_suite(wish: Wish, on_case: Callable[[Case], None] = lambda case: None) -> list[Case]:
    """All cases that were run. What a case left behind stays only if it failed."""
    began, kills, done = time.monotonic(), Counter[Kind](), []
    for number in wish.numbers():
        if wish.seconds is not None and time.monotonic() - began >= wish.seconds:
            break
        if wish.enough(kills):
            break
        if wish.skips(kind_of(number), kills):
            continue
        case = run_case(wish.seed, number, wish.folder, wish.servers)
        kills[kind_of(number)] += case.kills
        done.append(case)
        on_case(case)
    return done


def run_case(seed: int, number: int, folder: Path, servers: Servers | None = None) -> Case:
    case = Case(seed, number, folder / f"{seed}-{number}")
    shutil.rmtree(case.folder, ignore_errors=True)
    case.folder.mkdir(parents=True)
    try:
        if servers is not None:
            from dovetail.service.torture.outside import OUTSIDE_TURNS
            from dovetail.service.torture.spark_case import run_outside

            run_outside(case, OUTSIDE_TURNS[number // SPARK_EVERY % len(OUTSIDE_TURNS)], servers)
        elif kind_of(number) == "spark":
            from dovetail.service.torture.spark_case import run_spark

            run_spark(case, turn_of(number))
        else:
            from dovetail.service.torture.quick_case import run_quick

            run_quick(case)
    except Broken as error:
        case.wrong = str(error)
    else:
        shutil.rmtree(case.folder)
    return case


def default_folder() -> Path:
    """In memory where there is room: a process that is killed loses nothing that it has written, synced or
    not, and most of a case's time would be spent in syncing."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM_BYTES
    return Path(tempfile.mkdtemp(prefix="dovetail-torture-", dir=memory if roomy else None))
