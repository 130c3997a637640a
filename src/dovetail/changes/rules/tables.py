"""Tables and joins that come and go."""

from __future__ import annotations

from dovetail.changes.between import Between, part_of, view_of
from dovetail.plan.physical import CategoryOutput, ConsoleSink, NoopSink, Plan, SlicerStage, Stage

Tables = dict[str, Stage]


def tables(between: Between) -> None:
    """Whole joins first, then the tables that read them, by where they write to."""
    old, new = between.old, between.new
    before, after = {join.name for join in old.joins}, {join.name for join in new.joins}
    for join in new.joins:
        if join.name not in before:
            between.say(
                "tables",
                part_of(join),
                "kept",
                f"new join {join.name}",
                flight="it begins with what the inputs' log, or their folder, still has",
                place=between.place_of(view_of(join)),
            )
    for join in old.joins:
        if join.name not in after:
            between.say(
                "tables",
                part_of(join),
                "kept",
                f"join {join.name} is removed",
                flight="what it holds is discarded: open rows do not come out",
                instead="to let them out first, run it once more with --drain",
                place=between.place_of(view_of(join)),
            )
    stay = {stage.name for stage in old.stages if _leaves(stage)} & {s.name for s in new.stages if _leaves(s)}
    was, now = _tables(old, stay), _tables(new, stay)
    for name, stage in now.items():
        if name not in was:
            between.say(
                "tables",
                _table(stage),
                "kept",
                f"new {_table(stage)}, to {stage.output.place}",
                flight="it gets what comes out from the change on",
                place=between.place_of(_short(stage)),
            )
    for name, stage in was.items():
        if name not in now:
            between.say(
                "tables",
                _table(stage),
                "kept",
                f"{_table(stage)} is removed",
                flight=f"what is in {stage.output.place} stays there",
                place=between.place_of(_short(stage)),
            )


def _tables(plan: Plan, stay: set[str]) -> Tables:
    """The outputs that leave the application, but for those of stages that both versions have (`storage`
    looks at these). Where a join has a single table, the stage is called like the join, so a table that
    gets company keeps its place and changes its stage: it is known by its place."""
    found: Tables = {}
    for stage in plan.stages:
        if stage.name in stay or not _leaves(stage):
            continue
        shared = isinstance(stage.output, ConsoleSink | NoopSink)  # no place of anybody's own
        found[f"{stage.output.place}{f' {stage.name}' if shared else ''}"] = stage
    return found


def _leaves(stage: Stage) -> bool:
    return not isinstance(stage.output, CategoryOutput)


def _short(stage: Stage) -> str:
    return stage.name if isinstance(stage, SlicerStage) else view_of(stage)


def _table(stage: Stage) -> str:
    return f"table {stage.name}" if isinstance(stage, SlicerStage) else f"table of {view_of(stage)}"
