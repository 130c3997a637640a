"""Asking a join about a row, while it runs or after: from its log and its records, without its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dovetail.engine.step_log import read_records
from dovetail.joins.kinds import verbs_of
from dovetail.joins.question import Answer, Question
from dovetail.model.join_config import JoinConfig
from dovetail.model.step_record import StepRecord
from dovetail.model.theta import Operand


def why(
    config: JoinConfig,
    key: Sequence[str] = (),
    time_us: int | None = None,
    limit: int | None = None,
    row: int | None = None,
    names: Mapping[Operand, str] | None = None,
) -> Answer:
    """What happened to left rows, and why: see `Question`."""
    records = _unbroken(read_records(config))
    return verbs_of(config.join_kind).explain(
        Question(config, records, key, time_us, limit, row, names or {})
    )


def _unbroken(records: Sequence[StepRecord]) -> list[StepRecord]:
    """The newest records without a gap in their numbers."""
    start = len(records) - 1
    while start > 0 and records[start - 1].step == records[start].step - 1:
        start -= 1
    return list(records[max(0, start) :])
