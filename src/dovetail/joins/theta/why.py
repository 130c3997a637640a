"""What became of left rows of a theta join. Without keys a row is asked for by its number or its time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.errors import InputError
from dovetail.joins.known import Known
from dovetail.joins.question import NEAR_US, Answer, Question, numbered
from dovetail.joins.rows.arrivals import TIME
from dovetail.joins.rows.key_rows import KeyRow, KeyRows, row_numbers, rows_at
from dovetail.joins.theta.fate import theta_fates, theta_of
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.share import SIDES
from dovetail.model.step_record import StepRecord
from dovetail.model.time_codes import FIRST_TIME


def explain(question: Question) -> Answer:
    config, (left, right) = question.config, question.categories
    row, time_us = question.row, question.time_us
    if question.key or (row is None and time_us is None):
        raise _no_keys(config, left)
    numbers = [numbered(left, row).row] if row is not None else _rows_near(left, time_us or 0)
    some = rows_at(left, question.last(numbers))
    records, rows = _readable(question, left, right), (_all(left, some), _all(right, ()))
    known = Known(config.join_kind, records, *rows, question.kinds, question.version_at, *config.began)
    found = theta_fates(known, left, right, some, question.names)
    return Answer(config.join, (), known, len(numbers), tuple(found), ())


def _readable(question: Question, left: Category, right: Category) -> Sequence[StepRecord]:
    """The newest records whose conditions read columns that the log still has."""
    there = {"left": set(left.schema.names), "right": set(right.schema.names)}
    records = question.records
    kinds = {record.query: question.kinds.get(record.query, question.config.join_kind) for record in records}
    lost = {
        number
        for number, kind in kinds.items()
        if any(not set(theta_of(kind).theta.columns(side)) <= there[side] for side in SIDES)
    }
    start = max((at + 1 for at, record in enumerate(records) if record.query in lost), default=0)
    return records[start:]


def _no_keys(config: JoinConfig, left: Category) -> InputError:
    first, stop = row_numbers(left)
    return InputError(
        "a join without an equality has no keys to ask for",
        where=f"join {config.join}",
        expected="--row with the number of a left row, or --time with its event time",
        hint=f"rows {first} to {stop - 1} of category {config.left} are there"
        if stop > first
        else f"category {config.left} has no rows yet",
    )


def _all(category: Category, rows: Sequence[KeyRow]) -> KeyRows:
    """Some rows of a category, and from where on it has any."""
    first, stop = category.first_commit(), category.next_commit()
    return KeyRows(tuple(rows), first, category.commit(first).written_at_us if first < stop else None)


def _rows_near(category: Category, time_us: int) -> list[int]:
    """The numbers of the rows within a second of a time; if there are none, of those nearest to it."""
    rows, distances, nearest = [np.empty(0, np.int64)], [np.empty(0, np.int64)], None
    for commit in category.commits(category.first_commit(), category.next_commit()):
        for info in commit.segments:
            times = category.open_segment(info).mapped.column(TIME).to_numpy()
            there = np.flatnonzero(times >= FIRST_TIME)
            away = np.abs(times[there] - time_us)
            if len(away):
                nearest = int(away.min() if nearest is None else min(nearest, away.min()))
                kept = away <= max(NEAR_US, nearest)
                rows.append(info.first_row + there[kept])
                distances.append(away[kept])
    chosen = np.concatenate(distances) <= max(NEAR_US, nearest or 0)
    found: list[int] = np.concatenate(rows)[chosen].tolist()
    return found
