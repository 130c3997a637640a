"""The query that keeps the unreadable rows of an input table, where Spark slices."""

from __future__ import annotations

from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import SlicerStage, Stage
from dovetail.slicing.readings import read_reading


def rejects_query(stage: Stage, home: str, application: str, table: str) -> str:
    """The query that keeps the unreadable rows of an input table. It belongs to the table, because after a
    change another stage may be the first to read that; and to its source, which another may replace. Earlier
    releases had one for each stage; of those any goes on."""
    source = _first_reading(stage, home, application) if isinstance(stage, SlicerStage) else 1
    if source > 1:
        return f"inputs@{source}.rejects.{table}"
    known = open_store(home).folders(f"apps/{application}/checkpoints")
    names = [n for n in known if n.endswith(f".rejects.{table}") and not n.startswith("inputs@")]
    return min(names, default=f"inputs.rejects.{table}")


def _first_reading(stage: SlicerStage, home: str, application: str) -> int:
    """Since when a stage has had the source that it has now: joins that begin afresh read theirs again."""
    number = stage.reading
    now = read_reading(home, application, stage.name, number)
    while number > 1 and now is not None:
        before = read_reading(home, application, stage.name, number - 1)
        if before is None or before.source != now.source:
            return number
        number -= 1
    return number
