"""What an application will need, before it runs: from the rates of its inputs and the bounds of its joins.

    rows held of a side = rows/s x (bounds + delays of both sides + idle time)
    memory              = rows held x bytes of a row in the index

Rows are held by reference, so their width does not count. The rate of an input is that of its category in the
last minute, or of its fullest recent hour by the sketches of event times, whichever is more. Of files and
topics that were never read nothing is known; then a side counts nothing, and the estimate says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dovetail.log.category import Category, list_categories
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, ScribeSource, SlicerStage

INDEX_BYTES = 40
"""For a row in the index, at most: rings grow in steps."""
LOOKED_AT = 256
"""At most this many of the newest commits."""


@dataclass(frozen=True)
class ResourceEstimate:
    """`filled_s`: until all its joins hold what they will."""

    memory_bytes: int
    rows_per_s: float
    tasks: int
    filled_s: int = 0
    unknown: tuple[str, ...] = ()
    """Inputs whose rate is not known."""


def estimate(home: str, plan: Plan) -> ResourceEstimate:
    rates = dict(_rates(home, plan))
    memory, tasks, filled_s = 0.0, 0, 0.0
    for stage in plan.stages:
        if isinstance(stage, JoinStage):
            held_s = _held_s(stage)
            rate = sum(rates.get(side) or 0.0 for side in (stage.left, stage.right))
            memory += rate * held_s * INDEX_BYTES
            filled_s = max(filled_s, held_s)
            tasks += stage.settings.tasks or 1
    unknown = tuple(sorted(name for name, rate in rates.items() if rate is None))
    total = sum(rate for rate in rates.values() if rate is not None)
    return ResourceEstimate(round(memory), total, tasks, math.ceil(filled_s), unknown)


def _rates(home: str, plan: Plan) -> Iterator[tuple[str, float | None]]:
    """By side: the rate of its own category if the application has run, else of what it is sliced from."""
    known = set(list_categories(home))
    for stage in plan.stages:
        if not isinstance(stage, SlicerStage) or not isinstance(stage.output, CategoryOutput):
            continue
        sources = [table.source for table in stage.inputs]
        names = [source.category for source in sources if isinstance(source, ScribeSource)]
        own = stage.output.category
        read = [own] if own in known and rate_of(home, own) else [name for name in names if name in known]
        yield own, sum(rate_of(home, name) for name in read) if read else None


def rate_of(home: str, name: str) -> float:
    """Rows per second of a category: of the commits it has, by when they were written or by their events."""
    category = Category.open(home, name)
    stop = category.next_commit()
    commits = category.commits(max(category.first_commit(), stop - LOOKED_AT), stop)
    rows = sum(commit.rows for commit in commits)
    if not rows:
        return 0.0
    written_s = (commits[-1].written_at_us - commits[0].written_at_us) / 1e6
    times = [commit.sketch for commit in commits if commit.sketch.count]
    spans = [written_s] if written_s >= 1 else []
    if times:
        event_s = (max(sketch.max_us for sketch in times) - min(sketch.min_us for sketch in times)) / 1e6
        spans += [event_s] if event_s >= 1 else []
    return rows / min(spans) if spans else float(rows)


def _held_s(stage: JoinStage) -> float:
    spec, settings = stage.join_kind.spec, stage.settings
    idle_us = settings.idle_timeout_us or 0
    delays_us = settings.left_max_delay_us + settings.right_max_delay_us
    return (spec.before_us + spec.after_us + delays_us + idle_us) / 1e6
