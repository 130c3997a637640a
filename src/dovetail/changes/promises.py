"""A wider window lets rows out whose times are older than what the join had promised its readers.

A join promises that no row with an older time is to come, and readers that use that time close windows
accordingly. A promise cannot be withdrawn. So rows below it are late for a reader: it counts them, and an
aggregate keeps them aside. Law: a change that may cause this says so, and names every reader.

    before wider                    pairs with right rows that had been let go: the right time is older
    after wider, only pairs out,    left rows whose window is open again: the left time is older
    no equality (`reads_left`)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from dovetail.changes.between import part_of
from dovetail.changes.leftovers import readers_elsewhere
from dovetail.changes.verdict import Change
from dovetail.errors import DovetailError
from dovetail.model.join_kind import JoinKind
from dovetail.plan.application_file import read_application
from dovetail.plan.build import written_category
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import JoinStage, Plan, ScribeSource, SlicerStage, Stage, WindowStage
from dovetail.plan.promises import SIDE_TIME
from dovetail.plan.stage_promises import promised_columns

Columns = frozenset[str]


def older_than_promised(home: str, old: Plan, new: Plan) -> list[Change]:
    """What to say about readers of joins that get a wider window."""
    before = {stage.name: stage for stage in old.joins}
    found = []
    for stage in new.joins:
        known = before.get(stage.name)
        by_us = _older_by(known.join_kind, stage.join_kind) if known is not None else {}
        output, columns = written_category(stage), _of_origins(stage, by_us)
        if output is None or not columns:
            continue
        readers = [*_readers(new, output, columns), *_elsewhere(home, new.application, output, columns)]
        if readers:
            found.append(_said(stage, by_us, columns, readers))
    return found


def _said(stage: JoinStage, by_us: Mapping[str, int], columns: Columns, readers: Sequence[str]) -> Change:
    called = sorted(columns - {SIDE_TIME}) or [f"the time of the {side} stream" for side in sorted(by_us)]
    return Change(
        "promises",
        part_of(stage),
        "kept",
        f"rows may be older than promised, by up to {words(max(by_us.values()))}",
        flight=f"those that come too late for their window are counted as late by "
        f"{', '.join(dict.fromkeys(readers))}, for whom {', '.join(called)} is the event time",
        instead="give the changed view a new name, and let its readers read that: they start with the wider "
        "window",
    )


def _older_by(old: JoinKind, new: JoinKind) -> Mapping[str, int]:
    """By side, how far the times of rows that come out may be below what was promised."""
    was, now = old.own_window, new.own_window
    if was is None or now is None:
        return {}
    found = {}
    # An open left row may be as old as `after`, and its partner older still.
    if now.before_us > was.before_us:
        found["right"] = was.after_us + now.before_us
    if new.reads_left and now.after_us > was.after_us:
        found["left"] = now.after_us
    return found


def _of_origins(stage: Stage, origins: Collection[str]) -> Columns:
    """The columns of a stage's output that come from one of these origins."""
    return frozenset(
        column.name
        for column in promised_columns(stage)
        if any(term.origin in origins for term in column.terms)
    )


def _readers(plan: Plan, category: str, columns: Columns) -> Iterator[str]:
    """The joins and aggregates that take one of these columns of a category as their time."""
    for stage in plan.stages:
        match stage:
            case JoinStage() if category in (stage.left, stage.right) and SIDE_TIME in columns:
                yield part_of(stage)
            case WindowStage() if stage.rows == category and SIDE_TIME in columns:
                yield part_of(stage)
            case SlicerStage():
                tables = [table for table in stage.inputs if table.source == ScribeSource(category)]
                origins = {f"{table.name}.{column}" for table in tables for column in columns}
                output, passed = written_category(stage), _of_origins(stage, origins)
                if output is not None and passed:
                    yield from _readers(plan, output, passed)


def _elsewhere(home: str, application: str, category: str, columns: Columns) -> Iterator[str]:
    """The same in other applications of the home. One whose plan cannot be read is named as a whole."""
    for _, other in readers_elsewhere(home, application, {category}):
        try:
            plan = read_application(home, other)
        except DovetailError:
            yield f"application {other}"
            continue
        yield from (f"{part} of application {other}" for part in _readers(plan, category, columns))
