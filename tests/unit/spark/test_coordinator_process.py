"""The process that plans a join's steps: the first step waits for all that it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from dovetail.model.interval import IntervalSpec
from unit.engine.stepping import Driven

PLAN = """
import json, sys
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType
from dovetail.model.join_config import JoinConfig
from dovetail.spark import join_source, planned_reader

before = set()
planned_reader.wait_at = lambda gate: before.update(sys.modules)
reader = join_source.JoinReader(JoinConfig.from_json(sys.argv[1]), StructType())
reader.prepareForTriggerAvailableNow()
start = reader.initialOffset()
end = reader.latestOffset(start, ReadAllAvailable())
reader.partitions(start, end)
reader.commit(end)
late = [name for name in set(sys.modules) - before if name.startswith("dovetail.")]
print(json.dumps([end["step"], "numba" in sys.modules, late]))
"""


def test_planning_needs_no_kernels_and_imports_nothing_once_the_gate_is_open(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, IntervalSpec(30, 40, "left"))
    join.append("left", ("a", 100))
    join.append("right", ("a", 110))
    config = replace(join.config, drain=True).to_json()
    done = subprocess.run(
        [sys.executable, "-c", PLAN, config], capture_output=True, text=True, check=True, timeout=120
    )
    step, compiler, late = json.loads(done.stdout)
    assert step == 1
    assert not compiler
    assert late == [], "imported while the first step waited"
