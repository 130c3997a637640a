"""The rules by which two versions of a stage are compared, one file each.

A rule looks at one aspect, says what differs in it, and returns the old stage with that aspect as the new
stage has it. What is still different after all of them is a change that no rule knows, and refused: a rule
that is missing costs a refusal, never a wrong result."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.changes.between import Between
from dovetail.changes.rules.aggregates import aggregates
from dovetail.changes.rules.bounds import bounds
from dovetail.changes.rules.condition import condition
from dovetail.changes.rules.identity import identity
from dovetail.changes.rules.join_type import join_type
from dovetail.changes.rules.lookups import lookups
from dovetail.changes.rules.output_columns import output_columns
from dovetail.changes.rules.side_columns import side_columns
from dovetail.changes.rules.sources import sources
from dovetail.changes.rules.storage import storage
from dovetail.changes.rules.stream_time import stream_time
from dovetail.changes.rules.tuning import tuning
from dovetail.plan.physical import Stage

Rule = Callable[[Between, Stage, Stage], Stage]

RULES: tuple[Rule, ...] = (
    sources,
    identity,
    lookups,
    side_columns,
    bounds,
    join_type,
    condition,
    output_columns,
    aggregates,
    stream_time,
    tuning,
    storage,
)
