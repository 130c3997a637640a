"""Asking a join about a row, while it runs or after: from its log and its records, without its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from dovetail.engine.queries import config_at
from dovetail.engine.step_log import read_records, unbroken
from dovetail.errors import DovetailError
from dovetail.joins.kinds import verbs_of
from dovetail.joins.known import VersionAt
from dovetail.joins.question import Answer, Question
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import JoinKind
from dovetail.model.step_record import StepRecord
from dovetail.model.theta import Operand


def why(
    config: JoinConfig,
    key: Sequence[str] = (),
    time_us: int | None = None,
    limit: int | None = None,
    row: int | None = None,
    names: Mapping[Operand, str] | None = None,
    version_at: VersionAt = lambda step, planned_at_us: None,
) -> Answer:
    """What happened to left rows, and why: see `Question`."""
    records, kinds = _of_known_queries(config, unbroken(read_records(config)))
    return verbs_of(config.join_kind).explain(
        Question(config, records, key, time_us, limit, row, names or {}, kinds, version_at)
    )


def _of_known_queries(
    config: JoinConfig, records: Sequence[StepRecord]
) -> tuple[list[StepRecord], dict[int, JoinKind]]:
    """The newest records whose rules are known, and the rules: what the join was, by the number of its
    query."""
    kinds = {config.query: config.join_kind}
    for number in sorted({record.query for record in records} - {config.query}, reverse=True):
        with suppress(DovetailError):
            kinds[number] = config_at(config, number).join_kind
    start = len(records)
    while start > 0 and records[start - 1].query in kinds:
        start -= 1
    return list(records[start:]), kinds
