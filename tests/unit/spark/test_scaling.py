"""The coordinator asks how many tasks there should be whenever it plans; an offset keeps the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from dovetail.engine.asked_tasks import ask, ask_no_more
from dovetail.engine.measure import measure
from dovetail.engine.step_log import read_records
from dovetail.model.interval import IntervalSpec
from dovetail.spark.join_source import JoinReader
from unit.engine.stepping import Driven


def test_a_step_is_planned_for_as_many_tasks_as_were_asked_for(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, IntervalSpec(30, 40, "left"))
    config = replace(join.config, tasks=2, drain=False)
    reader = JoinReader(config, StructType())
    offset = reader.initialOffset()

    def planned() -> dict[str, Any]:
        return reader.latestOffset(offset, ReadAllAvailable())

    seen = []
    for wanted in (None, 4, 3, None):
        ask_no_more(config) if wanted is None else ask(config, wanted)
        assert planned() == offset, "without new input there is no step, and nothing to regroup"
        join.append("left", ("a", 100))
        end = planned()
        assert end == planned(), "as long as nobody asks for another number"
        seen.append((end["tasks"], len(reader.partitions(offset, end))))
        offset = end
    assert seen == [(2, 2), (4, 4), (3, 3), (2, 2)]
    assert [record.tasks for record in read_records(config)] == [2, 4, 3, 2]
    ask(config, 4)
    said = measure(config, now_us=0)
    assert (said.tasks, said.tasks_asked, said.tasks_from) == (2, 4, "command")


def test_a_damaged_number_does_not_stop_the_join(tmp_path: Path) -> None:
    join = Driven.make(tmp_path, IntervalSpec(30, 40, "left"))
    config = replace(join.config, tasks=2, drain=False)
    reader = JoinReader(config, StructType())
    ask(config, 4)
    join.append("left", ("a", 100))
    offset = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    file = Path(config.home) / config.state_path / "tasks.json"
    file.write_bytes(file.read_bytes()[:-5])
    join.append("left", ("a", 101))
    assert reader.latestOffset(offset, ReadAllAvailable())["tasks"] == offset["tasks"] == 4
