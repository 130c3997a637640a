"""Where a row goes after a join: the rows that came out of it, and what became of each in the joins that read
them, to the end of the plan.

Law: a row is followed by its values, through stages that only pick and rename columns. If a stage computes or
filters, the answer says so and ends: it does not guess. Rows with the same values look the same, and are all
shown.

A kind of stage tells its part of the story in `read_by`, which is chosen by the stage's type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.changes.timeline import timeline
from dovetail.engine.late_rows import EVENT_TIME
from dovetail.engine.window_record import read_record
from dovetail.engine.window_step import END as LATE_END
from dovetail.errors import CategoryNotFound
from dovetail.joins.known import Match
from dovetail.joins.question import Answer
from dovetail.joins.rows.gather import Rows, equal_values
from dovetail.joins.rows.key_rows import KeyRow, key_rows, rows_at
from dovetail.joins.windowed.fate import WindowFate
from dovetail.log.category import Category
from dovetail.log.generations import schema_of
from dovetail.model.offset import NEVER
from dovetail.model.time_codes import FIRST_TIME, unusable
from dovetail.plan.configure import join_config, window_config
from dovetail.plan.joins.operand_words import operand_words
from dovetail.plan.physical import (
    CategoryOutput,
    JoinStage,
    Plan,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
)
from dovetail.service.cli.log_output import iso_time
from dovetail.slicing.placement import TIME
from dovetail.why.why import why
from dovetail.windows.pairs import every_pair

MOST_FOLLOWED = 20
"""Rows that came out of one row, and left rows that a right row may have met."""

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Chapter:
    """A sentence; for a left row of a join also the answer about it; and what comes after."""

    said: str
    answer: Answer | None = None
    then: tuple[Chapter, ...] = ()


@dataclass(frozen=True)
class Trail:
    """What is followed: an application in its home."""

    plan: Plan
    home: str

    def readers(self, category: str) -> list[Stage]:
        """The stages that read a category."""
        return [
            stage
            for stage in self.plan.stages
            if (isinstance(stage, WindowStage) and stage.rows == category)
            or (isinstance(stage, JoinStage) and category in (stage.left, stage.right))
            or any(table.source == ScribeSource(category) for table in getattr(stage, "inputs", ()))
        ]

    def ask(
        self,
        stage: JoinStage,
        row: int | None = None,
        key: Sequence[str] = (),
        time_us: int | None = None,
        limit: int | None = None,
    ) -> Answer:
        """About left rows of a join: see `Question`."""
        config = join_config(self.plan, stage, self.home, tasks=1)
        versions = timeline(self.home, self.plan.application, stage.name)
        names = operand_words(self.plan, stage)
        return why(config, key, time_us, limit, row, names, versions.version_at)


def times_from(plan: Plan, stage: JoinStage, home: str) -> dict[str, str]:
    """By side, for those that inherit their stream time: from which categories, and how it was obtained."""
    sides = {"left": (stage.left, stage.settings.left_inherits)}
    sides["right"] = stage.right, stage.settings.right_inherits
    found = {}
    for side, (name, inherits) in sides.items():
        try:
            category = Category.open(home, name)
        except CategoryNotFound:
            continue
        stop = category.next_commit()
        if not inherits or stop == category.first_commit():
            continue
        commit = category.commit(stop - 1)
        if commit.promised(TIME) is not None:
            found[side] = f"{', '.join(_origins(plan, name))} ({commit.promised_by})"
    return found


def _origins(plan: Plan, side: str) -> list[str]:
    """The categories that a join's side is made of, and the joins that write it themselves."""
    writers = [
        stage
        for stage in plan.stages
        if isinstance(stage.output, CategoryOutput) and stage.output.category == side
    ]
    joins = [f"{plan.application}.{stage.name}" for stage in writers if isinstance(stage, JoinStage)]
    sources = [table.source for stage in writers for table in getattr(stage, "inputs", ())]
    return sorted([*joins, *(one.category for one in sources if isinstance(one, ScribeSource))])


def follow(trail: Trail, stage: JoinStage, fate: Any, right: int | None = None) -> tuple[Chapter, ...]:
    """What came out of a left row of a join, and where it went. `right`: only with this partner."""
    output = stage.output
    if not isinstance(output, CategoryOutput) or not trail.readers(output.category):
        return ()
    emitted = [one for one in _emitted(stage, fate) if right in (None, one.row if one else None)]
    if not emitted:
        return ()
    names = _renaming(stage)
    if names is None:
        return (
            Chapter(f"what comes out is computed or filtered first: {_ask_there(trail, output.category)}"),
        )
    sources = {column.name: column for column in stage.columns}
    rows: dict[int, None] = {}
    for partner in emitted:
        sides: dict[str, Values | None] = {
            "left": fate.left.values,
            "right": partner.values if partner else None,
        }
        wanted = {
            name: _value(sides[sources[source].side], sources[source].source)
            for name, source in names.items()
            if sources[source].side in sides
        }
        rows.update(dict.fromkeys(find_rows(Category.open(trail.home, output.category), wanted)))
    return _passed_on(trail, output.category, sorted(rows))


def _renaming(stage: JoinStage | SlicerStage) -> dict[str, str] | None:
    """Output column -> column of what the stage reads; None: it computes or filters."""
    from dovetail.plan.projection import plain_projection  # a parser, which a single join does not need

    return plain_projection(stage)


def _value(values: Values | None, name: str) -> Any:
    return None if values is None else values.get(name)


def _emitted(stage: JoinStage, fate: Any) -> list[KeyRow | None]:
    """The partners with whom a left row came out; None: it came out without one."""
    how = stage.join_kind.how
    if isinstance(fate, WindowFate):
        matches = [match for window in fate.windows for match in window.matches]
        alone = bool(fate.invalid) or any(one.over is not None and not one.matches for one in fate.windows)
        alone = alone and fate.taken is not None
    else:
        matches, alone = list(fate.matches), fate.status == "unmatched"
    if how in ("semi", "anti"):
        came_out = bool(matches) if how == "semi" else alone
        return [None] if came_out else []
    return [*_once(matches), *([None] if alone and how in ("left", "full") else [])]


def _once(matches: Sequence[Match]) -> list[KeyRow]:
    return list({match.right.row: match.right for match in matches}.values())


def _passed_on(trail: Trail, category: str, rows: Sequence[int]) -> tuple[Chapter, ...]:
    """What became of rows of a category."""
    if not rows:
        gone = Category.open(trail.home, category).first_commit()
        return (
            Chapter(
                f"what came out is not in {category}: "
                + ("retention has removed it" if gone else "it is not written yet")
            ),
        )
    chapters = []
    for number in rows[:MOST_FOLLOWED]:
        then = [one for stage in trail.readers(category) for one in read_by(stage, trail, category, number)]
        chapters.append(Chapter(f"row {number} of {category}", then=tuple(then)))
    if len(rows) > MOST_FOLLOWED:
        chapters.append(Chapter(f"and {len(rows) - MOST_FOLLOWED} more rows of {category}"))
    return tuple(chapters)


@singledispatch
def read_by(stage: Any, trail: Trail, category: str, row: int) -> Iterator[Chapter]:
    """What a stage makes of a row of a category that it reads. A kind of stage registers its own."""
    yield Chapter(f"{stage.name} reads it")


@read_by.register
def _(stage: SlicerStage, trail: Trail, category: str, row: int) -> Iterator[Chapter]:
    output = stage.output
    if not isinstance(output, CategoryOutput):
        yield Chapter(f"table {stage.name} takes it")
        return
    joins = [join for join in trail.plan.joins if output.category in (join.left, join.right)]
    aggregates = [one for one in trail.readers(output.category) if isinstance(one, WindowStage)]
    names = _renaming(stage)
    if names is None:
        for join in joins:
            yield Chapter(
                f"what join {join.name} makes of it is computed or filtered first: ask `--join {join.name}`"
            )
        for aggregate in aggregates:
            yield Chapter(f"what table {aggregate.table} counts is computed or filtered first")
        return
    (read,) = _rows_of(Category.open(trail.home, category), [row])
    wanted = {name: read[source] for name, source in names.items()}
    try:
        entered = find_rows(Category.open(trail.home, output.category), wanted)
    except CategoryNotFound:
        entered = []
    for join in joins:
        if not entered:
            yield Chapter(
                f"it is not on its way into join {join.name} yet, or retention has removed it there"
            )
        for number in entered[:MOST_FOLLOWED]:
            if output.category == join.left:
                yield _as_left(trail, join, number)
            if output.category == join.right:
                yield _as_right(trail, join, number)
    for aggregate in aggregates:
        for number in entered[:MOST_FOLLOWED]:
            yield from read_by(aggregate, trail, output.category, number)


@read_by.register
def _(stage: JoinStage, trail: Trail, category: str, row: int) -> Iterator[Chapter]:
    """For a category that the join before has sliced for it."""
    if category == stage.left:
        yield _as_left(trail, stage, row)
    if category == stage.right:
        yield _as_right(trail, stage, row)


@read_by.register
def _(stage: WindowStage, trail: Trail, category: str, row: int) -> Iterator[Chapter]:
    """Into which window of an aggregate it went, or why into none."""
    (read,) = _rows_of(Category.open(trail.home, category), [row])
    time_us, table = read[TIME], stage.table
    if (reason := unusable(time_us)) is not None:
        yield Chapter(f"in no window of table {table}: {reason}")
        return
    record = read_record(window_config(trail.plan, stage, trail.home, tasks=1))
    now_us = record.end.time if record else NEVER
    for start_us, end_us in _windows_of(stage, time_us):
        window = f"window {iso_time(start_us)} to {iso_time(end_us)} of table {table}"
        if stage.window.is_session:
            window = f"a session of table {table} that lasts to {iso_time(end_us)} or longer"
        if _is_late(trail, stage, read, end_us):
            yield Chapter(f"late for {window}: it had closed; the row is in {stage.late}")
        elif now_us >= end_us:
            yield Chapter(f"counted in {window}, which has closed")
        else:
            at = "not known yet" if now_us == NEVER else f"at {iso_time(now_us)}"
            yield Chapter(f"in {window}, which is open; stream time is {at}")


def _windows_of(stage: WindowStage, time_us: int) -> list[tuple[int, int]]:
    if stage.window.is_session:
        return [(time_us, time_us + stage.window.length_us)]
    pairs = every_pair(stage.window, np.array([time_us], np.int64))
    return sorted(zip(pairs.start.tolist(), pairs.end.tolist(), strict=True))


def _is_late(trail: Trail, stage: WindowStage, read: Values, end_us: int) -> bool:
    """Whether a row with these values was set aside for missing this window."""
    try:
        late = Category.open(trail.home, stage.late)
    except CategoryNotFound:
        return False
    wanted = {column.name: read[column.name] for column in stage.columns}
    moment = pa.timestamp("us", "UTC")
    times = {EVENT_TIME: read[TIME], LATE_END: end_us}
    wanted |= {name: pa.scalar(value, pa.int64()).cast(moment).as_py() for name, value in times.items()}
    return bool(find_rows(late, wanted))


def _as_left(trail: Trail, join: JoinStage, number: int) -> Chapter:
    answer = trail.ask(join, number)
    return Chapter(f"in join {join.name}", answer, follow(trail, join, answer.fates[0]))


def _as_right(trail: Trail, join: JoinStage, number: int) -> Chapter:
    said = f"in join {join.name}, right row {number}"
    config = join_config(trail.plan, join, trail.home, tasks=1)
    left, right = Category.open(trail.home, join.left), Category.open(trail.home, join.right)
    if not config.keys:
        return Chapter(f"{said}: a join without an equality explains left rows; ask `--join {join.name}`")
    (row,) = rows_at(right, [number])
    key = [pa.array([row.values[name]], right.schema.field(name).type) for name in config.keys]
    candidates = key_rows(left, config.keys, key).rows if None not in (one[0].as_py() for one in key) else ()
    then = []
    for one in candidates[-MOST_FOLLOWED:]:
        answer = trail.ask(join, one.row)
        fate = answer.fates[0]
        if any(partner is not None and partner.row == number for partner in _partners(fate)):
            then.append(Chapter("with", answer, follow(trail, join, fate, number)))
    if then:
        return Chapter(f"{said}: matched", then=tuple(then))
    if len(candidates) > MOST_FOLLOWED:
        return Chapter(f"{said}: none of the newest {MOST_FOLLOWED} left rows with its key has matched it")
    alone = "; it comes out alone when its window is over" if join.spec.keeps_right else ""
    return Chapter(f"{said}: no left row has matched it{alone}")


def _partners(fate: Any) -> list[KeyRow]:
    """The partners of a left row, whether or not the join puts them out."""
    if isinstance(fate, WindowFate):
        return _once([match for window in fate.windows for match in window.matches])
    return _once(fate.matches)


def _ask_there(trail: Trail, category: str) -> str:
    slicers = [stage for stage in trail.readers(category) if isinstance(stage, SlicerStage)]
    sides = {stage.output.category for stage in slicers if isinstance(stage.output, CategoryOutput)}
    sides.add(category)
    joins = [join.name for join in trail.plan.joins if {join.left, join.right} & sides]
    return " or ".join(f"ask `--join {name}`" for name in joins) or "it goes to a table"


def find_rows(category: Category, wanted: Values) -> list[int]:
    """The numbers of the rows with these values. Times are compared as the category stores them."""
    found: list[int] = []
    for number in range(category.first_commit(), category.next_commit()):
        commit = category.commit(number)
        if not commit.rows:
            continue
        rows = Rows(category, number, number + 1)
        numbers = np.arange(commit.first_row, commit.first_row + commit.rows)
        places = rows.at(rows.places(numbers))
        same = np.ones(commit.rows, np.bool_)
        # Of a column that came later the rows of this commit know nothing, whatever is in it elsewhere.
        had = [set(schema_of(category, info.generation).names) for info in commit.segments]
        for name, value in wanted.items():
            if not all(name in names for names in had):
                continue
            column = places.take(name)
            if name == TIME:  # a code stands for a time that is not believed, or of no use without a key
                times = np.asarray(column)
                same &= (times < FIRST_TIME) | (times == (FIRST_TIME - 1 if value is None else _us(value)))
            elif value is None:
                same &= np.asarray(column.is_null())
            else:
                typed = pa.array([value]).cast(column.type)
                same &= equal_values(column, typed.take(pa.array(np.zeros(commit.rows, np.int64))))
        found += numbers[same].tolist()
    return found


def _us(time: Any) -> int:
    microseconds: int = pa.scalar(time).cast(pa.timestamp("us", "UTC")).value
    return microseconds


def _rows_of(category: Category, numbers: Sequence[int]) -> list[Values]:
    """Rows by number, with all their columns."""
    for number in range(category.first_commit(), category.next_commit()):
        commit = category.commit(number)
        if commit.first_row <= numbers[0] < commit.next_row:
            rows = Rows(category, number, number + 1)
            places = rows.at(rows.places(np.array(numbers[:1], np.int64)))
            return [{name: places.take(name)[0].as_py() for name in category.schema.names}]
    return []
