"""A call of `dovetail.join` as a plan: two slicers and a join, from the names of columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.model.join_kind import IntervalJoin, JoinKind, WindowedJoin
from dovetail.model.share import SIDES, Side
from dovetail.plan.dataframes.columns import result_columns
from dovetail.plan.dataframes.duration import Duration, duration_us
from dovetail.plan.dataframes.options import Options, resolved
from dovetail.plan.dataframes.picks import PickedBy
from dovetail.plan.dataframes.windows import EXAMPLE, EXPECTED, Hopping, Session, Tumbling, Windows
from dovetail.plan.joins.options import JoinOptions
from dovetail.plan.physical import CategoryOutput, JoinStage, NoopSink, Plan, Relation, SlicerStage

SOURCE = "joined"
BOUNDED = 'before="1 hour", after="5 minutes"'


@dataclass(frozen=True)
class Asked:
    """What is joined how: rows around a left row, or those of a window."""

    join_kind: JoinKind
    options: JoinOptions
    picked: PickedBy | None = None

    def operands(self, side: Side) -> tuple[str, ...]:
        """What a pick by value needs of each row of a side: Spark SQL, for columns `_on_0` and so on."""
        return () if self.picked is None else self.picked.operands[side]


def asked(
    before: Duration | None,
    after: Duration | None,
    within: Windows | None,
    how: JoinType,
    options: Options,
    picked: PickedBy | None = None,
) -> Asked:
    """What the arguments say; that they say too much, too little or nothing sensible is an error."""
    if picked is not None:
        options = cast(Options, {**options, "pick": picked.pick})
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
        bounds = duration_us(before, "before"), duration_us(after, "after")
        try:
            spec = given.spec(*bounds, how, None if picked is None else picked.expression)
        except PlanError as error:
            error.where = error.where or "dovetail.join"
            raise
        return Asked(IntervalJoin(spec), given, picked)
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
            f"within={within!r} is not a window",
            where="dovetail.join",
            expected=EXPECTED,
        )
    window = within.asked
    given = resolved(options, window.shape)
    try:
        by = None if picked is None else picked.expression
        spec = given.spec(window.length_us, window.length_us, how, by)  # refuses what does not go together
        windows = window.join(how, given.match, given.emit, given.max_session_us)
        return Asked(WindowedJoin(how, windows, spec.match, spec.pick, spec.picked_by), given, picked)
    except PlanError as error:
        error.where = f"dovetail.join, within=dovetail.{within!r}"
        raise


def join_plan(
    name: str,
    left: Sequence[str],
    right: Sequence[str],
    keys: Sequence[tuple[str, str]],
    times: tuple[str, str],
    asked: Asked,
    suffix: str,
) -> Plan:
    """The plan of a join of two DataFrames with these columns. `times`: those of the event times."""
    names = tuple(f"_key_{number}" for number in range(len(keys)))
    categories = (f"{name}.left", f"{name}.right")
    given = asked.options
    sides = tuple(
        SlicerStage(
            category,
            (),
            (_joined_by(side, own, time, asked.operands(side)),),
            "",
            CategoryOutput(category, names, "_time", given.buckets, given.compression),
        )
        for side, category, own, time in zip(SIDES, categories, zip(*keys, strict=True), times, strict=True)
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


def _joined_by(side: Side, keys: Sequence[str], time: str, operands: Sequence[str]) -> Relation:
    """What rows are joined by is part of the plan, though the DataFrame evaluates it: the rules of changes
    compare it."""
    items = [
        *(f"{_quoted(key)} AS `_key_{number}`" for number, key in enumerate(keys)),
        f"{_quoted(time)} AS `_time`",
        *(f"{sql} AS `_on_{number}`" for number, sql in enumerate(operands)),
    ]
    return Relation(side, f"SELECT {', '.join(items)} FROM `{side}`")


def _quoted(column: str) -> str:
    return f"`{column.replace('`', '``')}`"
