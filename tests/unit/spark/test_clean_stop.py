"""What a host has of the last step, the home has too when a run has stopped; what cannot be copied is no
error."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dovetail.engine import snapshot_files
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.joins.buffer import Held
from dovetail.joins.snapshot import Snapshot
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset
from dovetail.service.torture.quick_join import config
from dovetail.spark.clean_stop import copy_snapshots

BASE = JoinOffset(step=4, tasks=1)
OFFSET = JoinOffset(step=5, tasks=1, base=BASE.bare())


class Context:
    """For a cluster whose driver has lost its JVM."""

    defaultParallelism = 2

    def __init__(self, master: str) -> None:
        self.master = master

    def parallelize(self, *_: object) -> Any:
        raise ConnectionRefusedError


class Session:
    def __init__(self, master: str) -> None:
        self.sparkContext = Context(master)


@pytest.mark.parametrize("master", ["local[2]", "spark://one:7077"])
def test_the_last_snapshots_come_to_the_home(
    tmp_path: Path, master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_files, "send", lambda *_: None)  # the copy behind never came to its end
    (tmp_path / "home").mkdir()
    join = config(tmp_path / "home", tmp_path / "index", IntervalSpec(1, 1, "left"), 8, 0)
    none = np.empty(0, np.int64)
    SnapshotFiles(join).write(OFFSET, 0, Snapshot(Held.fresh(none.astype(np.uint32), none, none), none, {}))
    assert not SnapshotFiles(join).whole_in_home()
    copy_snapshots(cast(SparkSession, Session(master)), [join])
    assert list(SnapshotFiles(join).whole_in_home()) == [OFFSET.version]


def test_a_home_that_is_gone_is_no_error(tmp_path: Path) -> None:
    join = config(tmp_path / "none" / "home", tmp_path / "index", IntervalSpec(1, 1, "left"), 8, 0)
    copy_snapshots(cast(SparkSession, Session("local[2]")), [join])
