"""From topics to a topic on two workers, with fewer and more tasks while it runs: the same rows, once. So it
is with a home on a disk that the workers share, and with one on Kafka."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from connectors.test_kafka_in import TABLES, pql, write
from connectors.test_kafka_to_kafka import PAIRS, differing
from connectors.topics import Topics
from dovetail.engine.step_log import StepLog
from dovetail.service.scaling import joins_of, scale_application
from dovetail_dev.spark_cluster import SETTINGS, standalone_cluster, until
from laws.effort import in_full
from spark.command_line import run
from spark.events import events
from spark.running import running

ROWS, PARTS = 3_000, 3


@in_full
@pytest.mark.parametrize("kind", ["disk", "kafka"])
def test_topics_on_two_workers_and_a_rescale(kind: str, tmp_path: Path, topics: Topics) -> None:
    on_kafka = f"kafka://{topics.address}/two-{uuid.uuid4().hex[:8]}"
    home = on_kafka if kind == "kafka" else str(tmp_path / "home")
    names, out = (topics.make("l", 3), topics.make("r", 2)), topics.make("out", 2)
    (tmp_path / "app.pql").write_text(pql(TABLES + PAIRS.replace("{out}", out), topics, *names))
    left, right = events(ROWS, 300, seed=1), events(ROWS, 300, seed=2)

    def feed(part: int) -> None:
        for topic, rows in zip(names, (left, right), strict=True):
            write(topics, topic, rows.slice(part * ROWS // PARTS, ROWS // PARTS))

    def rows_out() -> int:
        return sum(topics.ends(out).values())

    def tasks() -> int:
        [join] = joins_of(home, "from_kafka")
        return StepLog(home, join.state_path).recent(1)[-1].tasks

    feed(0)
    with standalone_cluster(tmp_path / "cluster") as cluster:
        where = "--home", home, "--master", cluster.address
        with running("run", "app.pql", *where, *SETTINGS, folder=tmp_path):
            until(rows_out, "rows of a run on two workers")
            assert tasks() == 2
            for part, wanted in ((1, 1), (2, 2)):
                before = rows_out()
                scale_application(home, "from_kafka", str(wanted))
                feed(part)
                until(lambda before=before: rows_out() > before, "rows after a rescale")
                until(lambda wanted=wanted: tasks() == wanted, f"{wanted} tasks")

    last = run("run", "app.pql", "--home", home, "--drain", "--master", "local[2]", folder=tmp_path)
    assert last.returncode == 0, last.stderr
    assert differing(topics, out, left, right) == {}
