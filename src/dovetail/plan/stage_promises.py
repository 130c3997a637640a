"""What a stage promises about rows still to come, given how far it has read.

Law: it follows from the stage and its offset alone, so a micro-batch that runs again promises the same again.
"""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.errors import LogTruncated
from dovetail.log.category import Category
from dovetail.model.join_kind import promised_times
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.model.promise import Promise, PromisedColumn, promised
from dovetail.model.window_offset import WindowOffset
from dovetail.plan.physical import CategoryOutput, JoinStage, ScribeSink, SlicerStage, Stage, WindowStage
from dovetail.plan.promises import WINDOW_END, WINDOW_START, origin_column


def promised_columns(stage: Stage) -> tuple[PromisedColumn, ...]:
    """The columns of its output that a stage can promise something about."""
    output = stage.output
    return output.promises if isinstance(output, CategoryOutput | ScribeSink) else ()


def after_join(stage: JoinStage, end: JoinOffset) -> Promise | None:
    """What holds once a join's step that ends here is out."""
    times = promised_times(stage.join_kind, end)
    if times is None:
        return None
    origins = {"left": times[0], "right": times[1]}
    return promised(promised_columns(stage), origins, time_words(stage.settings))


def after_windows(stage: WindowStage, end: WindowOffset) -> Promise | None:
    """What holds once an aggregate's step that ends here is out: each window still to come ends later. A
    session may have begun at any time before."""
    time_us = end.begun().time
    origins: dict[str, int | None] = {WINDOW_END: time_us, WINDOW_START: None}
    if not stage.window.is_session:
        origins[WINDOW_START] = time_us if time_us == NEVER else time_us - stage.window.length_us
    return promised(promised_columns(stage), origins, "inherited" if stage.settings.inherits else "fixed")


def after_commits(stage: SlicerStage, home: str, read_to: Mapping[str, int]) -> Promise | None:
    """What holds once a slicer has passed on all commits before these, by category."""
    columns = promised_columns(stage)
    origins: dict[str, int | None] = {}
    said: set[str] = set()
    for origin in {term.origin for column in columns for term in column.terms}:
        name, column = origin_column(stage, origin)
        origins[origin] = None
        if read_to.get(name, 0) > 0:
            try:
                commit = Category.open(home, name).commit(read_to[name] - 1)
            except LogTruncated:  # trimmed after it was read; what follows it is not read yet
                origins[origin] = NEVER
            else:
                origins[origin] = commit.promised(column)
                said.add(commit.promised_by)
    return promised(columns, origins, ", ".join(sorted(said - {""})))


def time_words(settings: JoinSettings) -> str:
    """How a join obtains its stream times. Where an input promises nothing, a side has a time of its own."""
    own = settings.estimate.statistic if settings.estimate else "fixed"
    inherits = settings.left_inherits, settings.right_inherits
    return f"inherited or {own}" if all(inherits) else f"inherited and {own}" if any(inherits) else own
