"""Cases of `dovetail torture --connectors`, in the thorough run: from topics to a topic and into tables,
while the broker, the database and the run are killed. In the end every row is there once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dovetail.service.torture.case import Case
from dovetail.service.torture.outside import SINKS, Servers
from dovetail.service.torture.spark_case import FAULTS, OUTSIDE_ALWAYS, outside_faults, run_outside
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.servers import servers
from laws.effort import in_full

SEED = 4


def test_every_case_kills_each_process_and_server() -> None:
    """In another order from case to case, and among other faults."""
    drawn = {sink: [outside_faults(random.Random(seed), sink) for seed in range(200)] for sink in SINKS}
    for sink, cases in drawn.items():
        always = {kind for kind in OUTSIDE_ALWAYS if kind != "database" or sink == "postgres"}
        assert all(always <= set(faults) for faults in cases)
        assert len({tuple(faults) for faults in cases}) > 190
        allowed = {*FAULTS, *always}
        assert {kind for faults in cases for kind in faults} == allowed


@in_full
def test_from_topics_to_a_topic(tmp_path: Path, mortal: Broker) -> None:
    case = Case(SEED, 17, tmp_path / "case")
    case.folder.mkdir()
    run_outside(case, "interval", Servers(mortal), ("broker", "crash point"), "kafka")
    assert case.kills >= 1, case.faults


@in_full
@pytest.mark.parametrize("sink", ["delta", "iceberg", "duckdb", "postgres"])
def test_from_topics_into_tables(tmp_path: Path, sink: str) -> None:
    case = Case(SEED, 17, tmp_path / "case")
    case.folder.mkdir()
    server = "database" if sink == "postgres" else "broker"
    with servers() as at_hand:
        run_outside(case, "interval", at_hand, ("crash point", server, "driver"), sink)
    assert case.kills >= 2, case.faults
