"""A call of `dovetail.join` as a plan: two slicers and a join, from the names of columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.model.join_kind import IntervalJoin, WindowedJoin
from dovetail.plan.dataframes.columns import result_columns
from dovetail.plan.dataframes.duration import Duration, duration_us
from dovetail.plan.dataframes.options import Options, resolved
from dovetail.plan.dataframes.windows import EXAMPLE, EXPECTED, Hopping, Session, Tumbling, Windows
from dovetail.plan.joins.options import JoinOptions
from dovetail.plan.physical import CategoryOutput, JoinStage, NoopSink, Plan, SlicerStage

SOURCE = "joined"
BOUNDED = 'before="1 hour", after="5 minutes"'


@dataclass(frozen=True)
class Asked:
    """What is joined how: rows around a left row, or those of a window."""

    join_kind: IntervalJoin | WindowedJoin
    options: JoinOptions


def asked(
    before: Duration | None, after: Duration | None, within: Windows | None, how: JoinType, options: Options
) -> Asked:
    """What the arguments say; that they say too much, too little or nothing sensible is an error."""
    if within is None:
        if before is None or after is None:
            missing = [f"{name}=" for name, said in (("before", before), ("after", after)) if said is None]
            raise PlanError(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
                where="dovetail.join",
                expected=f"bounds around the left row's time, {BOUNDED}, or windows, {EXAMPLE}",
                hint=f'a bound at the left row\'s own time is {missing[0]}"0 seconds"'
                if len(missing) == 1
                else "without either a row would have to be kept for ever",
            )
        given = resolved(options)
        spec = given.spec(duration_us(before, "before"), duration_us(after, "after"), how)
        return Asked(IntervalJoin(spec), given)
    if before is not None or after is not None:
        said = [f"{name}=" for name, bound in (("before", before), ("after", after)) if bound is not None]
        raise PlanError(
            f"{' and '.join(said)} {'is' if len(said) == 1 else 'are'} given together with within=",
            where="dovetail.join",
            expected=f"either bounds around the left row's time, {BOUNDED}, or windows, {EXAMPLE}",
            hint=f"leave out within=, or {' and '.join(said)}",
        )
    if not isinstance(within, Tumbling | Hopping | Session):
        raise PlanError(
            f"within={within!r} is no window",
            where="dovetail.join",
            expected=EXPECTED,
        )
    window = within.asked
    given = resolved(options, window.shape)
    given.spec(window.length_us, window.length_us, how)  # refuses what does not go together
    try:
        return Asked(WindowedJoin(how, window.join(how, given.emit, given.max_session_us)), given)
    except PlanError as error:
        error.where = f"dovetail.join, within=dovetail.{within!r}"
        raise


def join_plan(
    name: str,
    left: Sequence[str],
    right: Sequence[str],
    keys: Sequence[tuple[str, str]],
    asked: Asked,
    suffix: str,
) -> Plan:
    """The plan of a join of two DataFrames with these columns."""
    names = tuple(f"_key_{number}" for number in range(len(keys)))
    categories = (f"{name}.left", f"{name}.right")
    given = asked.options
    sides = tuple(
        SlicerStage(
            category, (), (), "", CategoryOutput(category, names, "_time", given.buckets, given.compression)
        )
        for category in categories
    )
    columns, select = result_columns(left, right, keys, asked.join_kind, suffix)
    joined = JoinStage(
        name=name,
        left=categories[0],
        right=categories[1],
        join_kind=asked.join_kind,
        settings=given.settings,
        source_name=SOURCE,
        columns=columns,
        views=(),
        select=f"SELECT {', '.join(select)} FROM `{SOURCE}`",
        output=NoopSink(),
    )
    return Plan(name, (*sides, joined))
