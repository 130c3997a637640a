"""A join view taken apart: its type, its options, and its ON clause as keys, a window and other conditions.

The ON clause is a conjunction, in any order and with any brackets, of

- equalities between an expression over left columns and one over right columns: the keys. A join without
  any is a theta join, and its conditions over both sides decide;
- one window, `l.time - before <= r.time <= l.time + after`, written as BETWEEN or as two comparisons, with
  either side first and intervals on either side: all of them are linear inequalities between two times and
  a constant. Without one, a key that equates two times is also the window;
- conditions over one side or over both.

Every comparison is brought into the form `r - l >= low` or `r - l <= high`. It belongs to the window if it
has one time of each side, with opposite signs, and otherwise only intervals.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.plan.dialect import pql_sql
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us, words
from dovetail.plan.joins.options import JoinOptions, JoinShape, resolve
from dovetail.plan.joins.windows import TIME_NAMES, WindowClause, is_window, read_window, reads_bounds
from dovetail.plan.scope import relation_types, tables
from dovetail.plan.source import span_of
from dovetail.plan.statements import CreateView, Program
from dovetail.plan.tree import as_written, comparisons, conjuncts, side_of, terms_of
from dovetail.plan.types import is_timestamp, type_of

WINDOW_EXAMPLE = "r.time BETWEEN l.time - INTERVAL '3 minutes' AND l.time + INTERVAL '3 minutes'"
JOIN_TYPES: dict[str, JoinType] = {
    "": "inner",
    "INNER": "inner",
    "LEFT": "left",
    "LEFT OUTER": "left",
    "RIGHT": "right",
    "RIGHT OUTER": "right",
    "FULL": "full",
    "FULL OUTER": "full",
    "SEMI": "semi",
    "LEFT SEMI": "semi",
    "ANTI": "anti",
    "LEFT ANTI": "anti",
}


@dataclass(frozen=True)
class JoinCondition:
    """`left_only`, `right_only` and `both` are the conditions that are neither key nor window. A window that
    counts rows has no times, and bounds between times are then ordinary conditions."""

    left_keys: tuple[exp.Expr, ...]
    right_keys: tuple[exp.Expr, ...]
    left_time: exp.Expr | None
    right_time: exp.Expr | None
    before_us: int
    after_us: int
    left_only: tuple[exp.Expr, ...] = ()
    right_only: tuple[exp.Expr, ...] = ()
    both: tuple[exp.Expr, ...] = ()
    window: WindowClause | None = None  # WITHIN ...
    picked_by: exp.Expr | None = None  # what a pick by value compares: `picks.py`

    @property
    def is_theta(self) -> bool:
        return not self.left_keys


@dataclass(frozen=True)
class JoinView:
    """A join view. `left` and `right` are the relations that its columns are qualified with."""

    view: CreateView
    query: exp.Select
    how: JoinType
    left: str
    right: str
    options: JoinOptions
    condition: JoinCondition

    @property
    def on(self) -> exp.Expr:
        return on_clause(self.query)

    @property
    def names(self) -> tuple[str, str]:
        return self.left, self.right

    @property
    def kind(self) -> JoinShape:
        if self.condition.window is not None:
            return "windowed"
        if not self.condition.is_theta:
            return "interval"
        return "theta" if self.options.rows is None else "counted"


def read_join(program: Program, view: CreateView) -> JoinView:
    query = view.query
    assert isinstance(query, exp.Select)
    left, right = (table.name for table in tables(query))
    options = resolve(view.options)
    condition = take_apart(program, on_clause(query), left, right, counted=options.rows is not None)
    return JoinView(view, query, join_type(query), left, right, options, condition)


def on_clause(query: exp.Select) -> exp.Expr:
    on: exp.Expr = query.args["joins"][0].args["on"]
    return on


def join_type(query: exp.Select) -> JoinType:
    join = query.args["joins"][0]
    return JOIN_TYPES[" ".join(filter(None, (join.side, join.kind))).upper()]


@dataclass
class _Bound:
    """Bounds of `right - left` in microseconds from one conjunct."""

    left: exp.Expr
    right: exp.Expr
    low: int | None
    high: int | None
    has_interval: bool
    node: exp.Expr


@dataclass
class _Parts:
    windows: list[WindowClause] = field(default_factory=list)
    picked_by: exp.Expr | None = None
    keys: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)
    bounds: list[_Bound] = field(default_factory=list)
    equated: list[list[_Bound]] = field(default_factory=list)  # of each key that may equate two times
    only: dict[str, list[exp.Expr]] = field(default_factory=lambda: {"left": [], "right": [], "both": []})

    def condition(
        self,
        left_time: exp.Expr | None,
        right_time: exp.Expr | None,
        before_us: int,
        after_us: int,
        *,
        used: list[_Bound] | None = None,
        window: WindowClause | None = None,
    ) -> JoinCondition:
        """`used` are the bounds that make the window. The others are ordinary conditions."""
        in_window = {id(bound.node) for bound in used or ()}
        for bound in self.bounds:
            if id(bound.node) not in in_window and not any(bound.node is node for node in self.only["both"]):
                self.only["both"].append(bound.node)
        return JoinCondition(
            tuple(key for key, _ in self.keys),
            tuple(key for _, key in self.keys),
            left_time,
            right_time,
            before_us,
            after_us,
            tuple(self.only["left"]),
            tuple(self.only["right"]),
            tuple(self.only["both"]),
            window,
            self.picked_by,
        )


def take_apart(
    program: Program, on: exp.Expr, left: str, right: str, *, counted: bool = False
) -> JoinCondition:
    """The parts of an ON clause whose columns are qualified with `left` and `right`. `counted`: the window
    counts rows."""
    parts = _Parts()
    for conjunct in conjuncts(on):
        _sort_in(program, conjunct, (left, right), parts)
    if parts.windows:
        return _within(program, on, parts, counted)
    if not counted:
        return _bounded(program, on, parts)
    if parts.keys:
        raise program.plan_error(
            "a window that counts rows applies only to joins without an equality",
            on,
            expected=WINDOW_EXAMPLE,
            hint="leave out `window = ROWS ...`, and bound the times in the ON condition",
        )
    return parts.condition(None, None, 0, 0)


def _within(program: Program, on: exp.Expr, parts: _Parts, counted: bool) -> JoinCondition:
    window = parts.windows[0]
    if len(parts.windows) > 1:
        raise program.plan_error(
            f"the join has {len(parts.windows)} windows", parts.windows[1].node, expected="one WITHIN"
        )
    if counted:
        raise program.plan_error(
            "a join cannot have both WITHIN and a window that counts rows",
            window.node,
            hint="leave out WITHIN, or `window = ROWS ...`",
        )
    if not parts.keys:
        raise program.plan_error(
            "a join with WITHIN needs an equality between the two sides",
            on,
            expected="ON l.key = r.key WITHIN ...",
            hint="without an equality, bound the times in the ON condition instead of WITHIN",
        )
    length_us = window.length_us
    return parts.condition(window.left_time, window.right_time, length_us, length_us, window=window)


def _sort_in(program: Program, node: exp.Expr, names: tuple[str, str], parts: _Parts) -> None:
    if is_window(node):
        parts.windows.append(_checked_times(program, read_window(program, node), names))
        return
    if function_name(node) == "pick_by":
        if parts.picked_by is not None or len(arguments(node)) != 1:
            raise program.plan_error("pick_by is given twice, or not one expression", node)
        parts.picked_by = arguments(node)[0]
        return
    if reads_bounds(node):
        raise program.plan_error(
            f"`{as_written(node)[:60]}` reads the window's bounds, which are known only after the join",
            node,
            hint="put it in WHERE",
        )
    side = side_of(node, *names)
    if side in ("left", "right"):
        parts.only[side].append(node)
        return
    if side is None:
        if isinstance(node, exp.Boolean) and node.this:
            return
        raise program.plan_error(
            f"`{as_written(node)[:60]}` in the ON condition reads no column",
            node,
            expected="equalities, a window, and conditions on columns",
            hint="leave it out",
        )
    if isinstance(node, exp.EQ):
        by_side = {side_of(part, *names): part.unnest() for part in (node.this, node.expression)}
        if by_side.keys() == {"left", "right"}:
            parts.keys.append((by_side["left"], by_side["right"]))
            with suppress(PlanError):  # an interval without a fixed length is no window, but may be a key
                parts.equated.extend(filter(None, [_bounds(program, node, names, equal=True)]))
            return
    bounds = _bounds(program, node, names)
    if bounds:
        parts.bounds.extend(bounds)
    else:
        parts.only["both"].append(node)


def _checked_times(program: Program, window: WindowClause, names: tuple[str, str]) -> WindowClause:
    """OF names one time of each side, in any order."""
    if window.left_time is None or window.right_time is None:
        return window
    found = side_of(window.left_time, *names), side_of(window.right_time, *names)
    if found == ("right", "left"):
        return replace(window, left_time=window.right_time, right_time=window.left_time)
    if found != ("left", "right"):
        raise program.plan_error(
            "OF needs one time of each side",
            window.node,
            expected="OF a time of the left side, a time of the right side",
        )
    return window


def _bounds(program: Program, node: exp.Expr, names: tuple[str, str], *, equal: bool = False) -> list[_Bound]:
    """The bounds in one condition, if all of it is bounds."""
    found = [_bound(program, node, *compared, names) for compared in comparisons(node, equal=equal)]
    return [bound for bound in found if bound is not None] if all(found) else []


def _bound(
    program: Program, node: exp.Expr, big: exp.Expr, small: exp.Expr, strict: bool, names: tuple[str, str]
) -> _Bound | None:
    """`big >= small` (or `>`) as a bound of `right - left`, or None if it is not one."""
    times: list[tuple[int, exp.Expr]] = []
    constant, has_interval = 0, False
    for sign, term in [*terms_of(big, 1), *terms_of(small, -1)]:
        if isinstance(term, exp.Interval):
            has_interval = True
            try:
                constant += sign * interval_us(term)
            except NotAnInterval as error:
                raise program.plan_error(
                    f"the join window cannot have this bound: {error}",
                    term if span_of(term) else node,
                    expected="a fixed length: weeks, days, hours, minutes, seconds or fractions of a second",
                    hint=f"for example: {WINDOW_EXAMPLE}",
                ) from None
        else:
            times.append((sign, term))
    if len(times) != 2:
        return None
    by_side = {side_of(term, *names): (sign, term) for sign, term in times}
    if set(by_side) != {"left", "right"} or by_side["left"][0] == by_side["right"][0]:
        return None
    (_, left), (right_sign, right) = by_side["left"], by_side["right"]
    if right_sign > 0:  # right - left + constant >= strict
        return _Bound(left, right, strict - constant, None, has_interval, node)
    return _Bound(left, right, None, constant - strict, has_interval, node)


def _equated_times(program: Program, parts: _Parts) -> list[list[_Bound]]:
    """The first of the keys that equate two times, by their types, or where these are not known yet, by their
    names."""
    types = relation_types(program)

    def is_time(node: exp.Expr) -> bool:
        found = type_of(node, lambda column: types.get((column.table.lower(), column.name.lower())))
        if found is not None:
            return is_timestamp(found)
        return isinstance(node, exp.Column) and node.name.lower() in TIME_NAMES

    timed = [
        bounds
        for bounds in parts.equated
        if bounds[0].has_interval or (is_time(bounds[0].left) and is_time(bounds[0].right))
    ]
    return timed[:1]


def _bounded(program: Program, on: exp.Expr, parts: _Parts) -> JoinCondition:
    """The window is the one pair of times with an interval between them. Bounds of other pairs are ordinary
    conditions."""
    groups: dict[tuple[str, str], list[_Bound]] = {}
    for bound in parts.bounds:
        groups.setdefault((pql_sql(bound.left), pql_sql(bound.right)), []).append(bound)
    chosen = [group for group in groups.values() if any(bound.has_interval for bound in group)]
    if not chosen:
        two_sided = [g for g in groups.values() if {b.low is None for b in g} == {True, False}]
        chosen = two_sided or (list(groups.values()) if len(groups) == 1 else [])
    if not chosen:
        chosen = _equated_times(program, parts)
    if len(chosen) > 1:
        raise program.plan_error(
            f"the join has {len(chosen)} windows, over different times",
            chosen[1][0].node,
            expected="one window: one time of the left side and one of the right",
            hint=f"the first is over {as_written(chosen[0][0].left)} and {as_written(chosen[0][0].right)}",
        )
    if not chosen:
        several = len(parts.equated) > 1
        raise program.plan_error(
            "the join has no time window",
            on,
            expected=WINDOW_EXAMPLE,
            hint="add one to the ON condition with AND, or add WITHIN TUMBLING '10 seconds' after it; a join "
            "without an equality can count rows instead: WITH (window = ROWS 1000000)"
            + ("; if a key compares event times, declare their type, TIMESTAMP" if several else ""),
        )
    window = chosen[0]
    left, right = window[0].left, window[0].right
    lows = [bound.low for bound in window if bound.low is not None]
    highs = [bound.high for bound in window if bound.high is not None]
    if not lows or not highs:
        missing, sign = ("lower", ">= {} -") if highs else ("upper", "<= {} +")
        raise program.plan_error(
            f"the join window has no {missing} bound",
            window[0].node,
            expected="both bounds, so that the join can discard old rows",
            hint=f"add AND {as_written(right)} {sign.format(as_written(left))} INTERVAL '3 minutes'",
        )
    lower, upper = max(lows), min(highs)
    if lower > upper:
        raise program.plan_error(
            "the join window is empty: relative to the left row's time, "
            f"it starts at {words(lower)} and ends at {words(upper)}",
            window[0].node,
            expected="a lower bound that is not after the upper bound",
            hint=f"for example: {WINDOW_EXAMPLE}",
        )
    return parts.condition(left, right, -lower, upper, used=window)
