"""Cases of `dovetail torture` on Spark: a worker is killed, a process dies at a crash point, Spark itself
is killed; in the end every row is there once."""

from __future__ import annotations

from pathlib import Path

from dovetail.service.torture.case import Case
from dovetail.service.torture.modes import CHAIN
from dovetail.service.torture.spark_case import run_spark
from laws.effort import in_full

SEED = 3


@in_full
def test_an_application_that_is_killed_while_it_runs(tmp_path: Path) -> None:
    case = Case(SEED, 17, tmp_path / "case")
    case.folder.mkdir()
    run_spark(case, "interval", ("worker", "crash point", "JVM"))
    assert case.kills >= 2, case.faults


@in_full
def test_a_chain_that_is_killed_while_it_runs(tmp_path: Path) -> None:
    case = Case(SEED, 17, tmp_path / "case")
    case.folder.mkdir()
    run_spark(case, CHAIN, ("worker", "all"))
    assert case.kills >= 2, case.faults
