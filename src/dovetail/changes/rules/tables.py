"""Tables, joins and aggregates that come and go."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.changes.between import Between, part_of, view_of
from dovetail.changes.first_rows import first_rows
from dovetail.changes.own_folders import counts_on
from dovetail.changes.rules.storage import refused_folder
from dovetail.changes.verdict import Cost, Verdict, total
from dovetail.plan.physical import (
    CategoryOutput,
    ConsoleSink,
    FileSink,
    JoinStage,
    NoopSink,
    Plan,
    SlicerStage,
    Stage,
)

Tables = dict[str, Stage]


def tables(between: Between) -> None:
    """Whole joins first, then the tables that read them, by where they write to."""
    old, new = between.old, between.new
    joins = ({join.name: join for join in plan.joins} for plan in (old, new))
    come, gone = _come_and_gone(*joins)
    for join in come:
        flight = "it begins with what the inputs' log, or their folder, still has"
        _say(between, join, part_of(join), f"new join {join.name}", flight, cost=_filling(between, join))
    for join in gone:
        flight = "what it holds is discarded: left rows that are open, and right rows that wait for partners"
        instead = "to let them out first, run the old query once more with --drain"
        what = f"join {join.name} is removed"
        _say(between, join, part_of(join), what, flight, instead, verdict="let go")
    staying = {stage.name for stage in new.windows}
    for aggregate in (stage for stage in old.windows if stage.name not in staying):
        flight = "windows that are open do not come out"
        instead = "to let them out first, run the old query once more with --drain"
        what = f"aggregate {aggregate.table} is removed"
        _say(between, aggregate, part_of(aggregate), what, flight, instead, verdict="let go")
    stay = {stage.name for stage in old.stages if _leaves(stage)} & {s.name for s in new.stages if _leaves(s)}
    before, after = _tables(old, stay), _tables(new, stay)
    for place in before.keys() & after.keys():
        _moved(between, before[place], after[place])
    come, gone = _come_and_gone(before, after)
    for stage in come:
        if refused_folder(between, stage, _table(stage)):
            continue
        if between.costs.has_batches(stage) and not counts_on(stage):
            _refuse_counted(between, stage)
            continue
        what = f"new {_table(stage)}, to {stage.output.place}"
        _say(between, stage, _table(stage), what, first_rows(between, stage))
    for stage in gone:
        flight = f"what is in {stage.output.place} stays there"
        _say(between, stage, _table(stage), f"{_table(stage)} is removed", flight)


def _come_and_gone(
    before: Mapping[str, Stage], after: Mapping[str, Stage]
) -> tuple[list[Stage], list[Stage]]:
    come = [stage for name, stage in after.items() if name not in before]
    return come, [stage for name, stage in before.items() if name not in after]


def _moved(between: Between, was: Stage, now: Stage) -> None:
    """A table that goes where one of another name, or of another kind, went."""
    if isinstance(was, SlicerStage) and isinstance(now, SlicerStage):
        _refuse_renamed(between, was, now)
    elif isinstance(now.output, FileSink) and not counts_on(now):
        _refuse_counted(between, now)  # the one before it goes on writing until the change


def _refuse_renamed(between: Between, was: SlicerStage, now: SlicerStage) -> None:
    """A stage is known by its name, so it would begin with what its input still has, and not where the other
    one has ended."""
    between.say(
        "tables",
        _table(now),
        "refused",
        f"table {was.name} is called {now.name}",
        flight=f"a table of another name begins again, and rows would be twice in {now.output.place}",
        instead=f"keep the name {was.name}, or give {now.name} another place",
        place=between.place_of(now.name),
    )


def _refuse_counted(between: Between, stage: Stage) -> None:
    """Its first batches would be taken for those that are there, and only the log has positions from which it
    could go on behind them (`spark/progress.py`)."""
    folder = isinstance(stage.output, FileSink)
    between.say(
        "tables",
        _table(stage),
        "refused",
        f"{stage.output.place} {'have' if folder else 'has'} the batches of an earlier table",
        flight="rows would vanish: it begins with batch 0, and batches of its numbers are there",
        instead=f"give the table another {'path' if folder else 'name, or another category'}",
        place=between.place_of(_short(stage)),
    )


def _filling(between: Between, join: Stage) -> Cost | None:
    """For reading what the inputs of a new join have."""
    sides = {join.left, join.right} if isinstance(join, JoinStage) else set()
    feeding = [s for s in between.new.slicers if getattr(s.output, "category", None) in sides]
    tables = [table for stage in feeding for table in stage.inputs]
    return total(between.costs.source(table.source, None, join.name) for table in tables)


def _say(
    between: Between,
    stage: Stage,
    part: str,
    what: str,
    flight: str,
    instead: str | None = None,
    cost: Cost | None = None,
    verdict: Verdict = "kept",
) -> None:
    place = between.place_of(_short(stage))
    between.say("tables", part, verdict, what, flight=flight, cost=cost, instead=instead, place=place)


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
