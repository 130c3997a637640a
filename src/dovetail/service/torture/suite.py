"""Case after case, drawn from one seed, until the time is up or so many kills are done.

Law: what the n-th case does depends on the seed and n alone; so a case that failed can be had again.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dovetail.service.torture.case import Broken, Case

Kind = Literal["quick", "spark"]
SPARK_EVERY = 35
"""One case in so many is on Spark: it takes minutes, the others seconds."""
_ROOM_BYTES = 1 << 30


def kind_of(number: int) -> Kind:
    return "spark" if number % SPARK_EVERY == SPARK_EVERY // 2 else "quick"


@dataclass(frozen=True)
class Wish:
    """Which cases, and how many; a bound that is None does not bound."""

    seed: int
    folder: Path
    seconds: float | None = None
    kills: int | None = None
    case: int | None = None
    only: Kind | None = None

    def numbers(self) -> Iterator[int]:
        if self.case is not None:
            return iter([self.case])
        return (number for number in itertools.count() if self.only in (None, kind_of(number)))


def run_suite(wish: Wish, on_case: Callable[[Case], None] = lambda case: None) -> list[Case]:
    """All cases that were run. What a case left behind stays only if it failed."""
    began, kills, done = time.monotonic(), 0, []
    for number in wish.numbers():
        if wish.seconds is not None and time.monotonic() - began >= wish.seconds:
            break
        if wish.kills is not None and kills >= wish.kills:
            break
        case = run_case(wish.seed, number, wish.folder)
        kills += case.kills
        done.append(case)
        on_case(case)
    return done


def run_case(seed: int, number: int, folder: Path) -> Case:
    case = Case(seed, number, folder / f"{seed}-{number}")
    shutil.rmtree(case.folder, ignore_errors=True)
    case.folder.mkdir(parents=True)
    try:
        if kind_of(number) == "spark":
            from dovetail.service.torture.spark_case import run_spark

            run_spark(case)
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
