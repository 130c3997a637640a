"""Cases of `dovetail torture --connectors`, in the thorough run: from topics to a topic and into tables,
while the broker, the database and the run are killed. In the end every row is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.service.torture.case import Case
from dovetail.service.torture.outside import Servers
from dovetail.service.torture.spark_case import run_outside
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.servers import servers
from laws.effort import in_full

SEED = 4


@in_full
def test_from_topics_to_a_topic(tmp_path: Path, mortal: Broker) -> None:
    case = Case(SEED, 17, tmp_path / "case")
    case.folder.mkdir()
    run_outside(case, "interval", Servers(mortal), ("broker", "crash point"), "kafka")
    assert case.kills >= 1, case.faults


@in_full
@pytest.mark.parametrize("sink", ["delta", "iceberg", "postgres"])
def test_from_topics_into_tables(tmp_path: Path, sink: str) -> None:
    case = Case(SEED, 17, tmp_path / "case")
    case.folder.mkdir()
    server = "database" if sink == "postgres" else "broker"
    with servers() as at_hand:
        run_outside(case, "interval", at_hand, ("crash point", server, "driver"), sink)
    assert case.kills >= 2, case.faults
