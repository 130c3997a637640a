"""What the columns of a join of DataFrames are called.

Law: no two have the same name to Spark, which does not tell `id` from `ID`. Left columns keep their names and
the bounds of windows theirs; a right column gives way, with a suffix. What would clash even so is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.errors import PlanError
from dovetail.model.join_kind import JoinKind
from dovetail.plan.physical import JoinColumn

BOUNDS = {"window_start": "start", "window_end": "end"}


def result_columns(
    left: Sequence[str],
    right: Sequence[str],
    keys: Sequence[tuple[str, str]],
    join_kind: JoinKind,
    suffix: str,
) -> tuple[tuple[JoinColumn, ...], tuple[str, ...]]:
    """What the join source yields, and the items of the SELECT that names it: keys once, from whichever side
    is there; the other left columns; the other right ones; the bounds of the window."""
    own, others = [key for key, _ in keys], [key for _, key in keys]
    names = list(own)
    spec = join_kind.spec
    columns: list[JoinColumn] = []
    select: list[str] = []

    def add(name: str, side: str, source: str) -> None:
        columns.append(JoinColumn(name, side, source))
        select.append(f"`{name}`")

    for number, key in enumerate(own):
        if spec.keeps_right:
            both = {side: f"_{side[0]}_key_{number}" for side in ("left", "right")}
            columns.extend(JoinColumn(name, side, f"_key_{number}") for side, name in both.items())
            select.append(f"coalesce(`{both['left']}`, `{both['right']}`) AS `{key}`")
        else:
            add(key, "left", f"_key_{number}")
    for column in left:
        if column not in own:
            add(column, "left", column)
            names.append(column)
    bounds = {} if join_kind.windows is None else BOUNDS
    _refuse_bounds(names, bounds)
    taken = {name.lower() for name in (*names, *left, *bounds)}
    for column in right if spec.emits_pairs else ():
        if column not in others:
            name = column + suffix if column.lower() in taken else column
            add(name, "right", column)
            names.append(name)
    for bound, source in bounds.items():
        add(bound, "window", source)
    _refuse_doubles([*names, *bounds])
    return tuple(columns), tuple(select)


def _refuse_bounds(names: Sequence[str], bounds: dict[str, str]) -> None:
    for name in names:
        if name.lower() in bounds:
            raise PlanError(
                f"the left DataFrame has a column {name}, and so has the result of a join within windows",
                where="dovetail.join",
                expected=f"other names than {' and '.join(bounds)}",
                hint=f"left.withColumnRenamed('{name}', ...) gives it another",
            )


def _refuse_doubles(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise PlanError(
                f"two columns of the result would be called {name}",
                where="dovetail.join",
                expected="names that differ, not only in upper and lower case",
                hint="another suffix=, or withColumnRenamed before the join",
            )
        seen.add(name.lower())
