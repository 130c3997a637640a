"""What holds about rows still to come once a micro-batch is in the log.

Spark's checkpoint says how far the batch goes in each of its sources: for a join its offset, with both stream
times; for a category the commit that it goes up to, which carries a promise. It was written before the batch
ran.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dovetail.log.category import Category
from dovetail.model import json_values
from dovetail.model.offset import JoinOffset
from dovetail.model.promise import Promise
from dovetail.model.window_offset import WindowOffset
from dovetail.plan.physical import CategoryOutput, JoinStage, ScribeSink, WindowStage
from dovetail.plan.stage_promises import after_commits, after_join, after_windows, promised_columns
from dovetail.spark.batch_files import checkpoint_lines, damaged
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint

PromiseOf = Callable[[int], Promise | None]
"""By the number of a micro-batch."""


def promises_of(built: BuiltStage, checkpoint: Checkpoint) -> PromiseOf | None:
    """None: the stage can promise nothing about what it writes."""
    stage, upstream = built.stage, built.upstream
    if not promised_columns(stage):
        return None

    if built.keeps_promise and isinstance(stage.output, CategoryOutput | ScribeSink):
        category = Category.open(checkpoint.home, stage.output.category)
        stop, producer = category.next_commit(), f"{checkpoint.application}.{built.name}"
        last = category.commit(stop - 1).promises.get(producer) if stop else None
        return lambda batch: last

    def promise_of(batch: int) -> Promise | None:
        ends = _ends(checkpoint, batch)
        if isinstance(stage, JoinStage):
            return after_join(stage, JoinOffset.from_json(ends[0]))
        if isinstance(stage, WindowStage):
            return after_windows(stage, WindowOffset.from_json(ends[0]))
        if upstream is not None:
            # A DataFrame may be of several joins. Their offsets do not say whose they are.
            joins = [end for end in ends if "left_time" in end]
            joined = replace(upstream, output=stage.output)
            return after_join(joined, JoinOffset.from_json(joins[0])) if len(joins) == 1 else None
        # Offsets of an earlier release do not name their category. Nothing is promised until the next batch.
        read_to = {end["category"]: json_values.whole(end["commit"]) for end in ends if "category" in end}
        return after_commits(stage, checkpoint.home, read_to)

    return promise_of


def _ends(checkpoint: Checkpoint, batch: int) -> list[dict[str, Any]]:
    """How far a batch goes in each source of its query."""
    path = f"offsets/{batch}"
    try:
        said = [json.loads(line) for line in checkpoint_lines(checkpoint, path)[1:] if line != "-"]
        return [json_values.fields(end) for end in said]
    except ValueError as error:
        raise damaged(checkpoint, path, str(error)) from error
