"""Who keeps the rejects of a table of text files, and what another stage owes that takes this over."""

from __future__ import annotations

from dovetail.changes.takeover import Takeover
from dovetail.log.category import Category, list_categories
from dovetail.plan.physical import CategoryOutput, FilesSource, Plan, SlicerStage, rejects_category
from dovetail.plan.rejects_query import rejects_query
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.owed_rejects import note_owed, owed_rejects
from dovetail.slicing.standing import FilesDone
from dovetail.slicing.text_form import kept_by_threads
from dovetail.slicing.thread_record import left_by_thread
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.new_readings import standing_before
from dovetail.spark.standings import read_by_query


def keepers(plan: Plan) -> dict[tuple[str, str], SlicerStage]:
    """By table and its folder, the stage that keeps the rejects: the first that reads it."""
    found: dict[tuple[str, str], SlicerStage] = {}
    for stage in plan.slicers:
        for table in stage.inputs:
            if isinstance(table.source, FilesSource) and table.source.format != "parquet":
                found.setdefault((table.name, table.source.path), stage)
    return found


def taken_over(old: Plan, new: Plan) -> list[tuple[str, SlicerStage, SlicerStage]]:
    """The tables whose rejects another stage keeps from now on, with the stage that has kept them and the one
    that takes this over, as the old plan has it. A stage that is new has read nothing, and owes nothing."""
    before, known = keepers(old), {stage.name: stage for stage in old.slicers}
    return [
        (table, was, known[keeper.name])
        for (table, path), keeper in keepers(new).items()
        if (was := before.get((table, path))) is not None and was.name != keeper.name and keeper.name in known
    ]


def note_debts(takeover: Takeover) -> None:
    """Before the new query counts. The old one is at rest."""
    assert takeover.before is not None
    home, old = takeover.home, takeover.before.plan
    for table, was, keeper in taken_over(old, takeover.plan):
        read = standing_before(home, old.application, keeper)
        if isinstance(read, FilesDone):
            note_owed(home, old.application, table, read.files - _kept(home, old.application, was, table))


def _kept(home: str, application: str, keeper: SlicerStage, table: str) -> set[str]:
    """The files whose rejects are kept, if they have any: by a thread, or by a query of Spark."""
    kept: set[str] = set()
    if isinstance(keeper.output, CategoryOutput):
        side = Category.open(home, keeper.output.category)
        by_thread = left_by_thread(side, Slicer(application, keeper.name, "", keeper.reading))
        kept |= by_thread.files if isinstance(by_thread, FilesDone) else frozenset()
        kept -= owed_rejects(home, application, table)
    name = rejects_category(application, table)
    if name in list_categories(home):
        category = Category.open(home, name)
        query = rejects_query(keeper, home, application, table)
        kept |= kept_by_threads(category) | read_by_query(Checkpoint(home, application, query), category)
    return kept
