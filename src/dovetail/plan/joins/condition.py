"""A join's ON clause taken apart: keys, the window, and what else it asks.

The clause is a conjunction, in any order and with any brackets, of

- equalities of an expression over left columns and one over right columns: the keys; without any it is a
theta
  join, whose conditions over both sides decide;
- one window, `l.time - before <= r.time <= l.time + after`, as BETWEEN or as two comparisons, either side
  first, intervals on either: all spellings are linear inequalities between two times and a constant;
- conditions over one side alone, or over both.

Every comparison is brought into the form `r - l >= low` or `r - l <= high`. A comparison counts towards the
window if a time of the left and a time of the right stand in it with opposite signs and all else in it is
intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from dovetail.plan.dialect import pql_sql
from dovetail.plan.interval_literal import NotAnInterval, interval_us, words
from dovetail.plan.joins.windows import WindowClause, is_window, read_window, reads_bounds
from dovetail.plan.source import span_of
from dovetail.plan.statements import Program

WINDOW_EXAMPLE = "r.time BETWEEN l.time - INTERVAL '3 minutes' AND l.time + INTERVAL '3 minutes'"


@dataclass(frozen=True)
class JoinCondition:
    """`left_only`, `right_only`, `both`: the conditions that are neither key nor window. Where the window
    counts rows there are no times, and bounds between times are conditions as others are."""

    left_keys: tuple[exp.Expr, ...]
    right_keys: tuple[exp.Expr, ...]
    left_time: exp.Expr | None
    right_time: exp.Expr | None
    before_us: int
    after_us: int
    left_only: tuple[exp.Expr, ...] = ()
    right_only: tuple[exp.Expr, ...] = ()
    both: tuple[exp.Expr, ...] = ()
    window: WindowClause | None = None  # a join within windows

    @property
    def is_theta(self) -> bool:
        return not self.left_keys


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
    keys: list[tuple[exp.Expr, exp.Expr]] = field(default_factory=list)
    bounds: list[_Bound] = field(default_factory=list)
    only: dict[str, list[exp.Expr]] = field(default_factory=lambda: {"left": [], "right": [], "both": []})


def take_apart(
    program: Program, on: exp.Expr, left: str, right: str, *, counted: bool = False
) -> JoinCondition:
    """`left` and `right` are the names that the two sides' columns are qualified with. `counted`: the window
    counts rows."""
    parts = _Parts()
    for conjunct in conjuncts(on):
        _sort_in(program, conjunct, (left, right), parts)
    if parts.windows:
        return _windowed(program, on, parts, counted)
    if counted:
        return _counted(program, on, parts)
    lower, upper, window = _window(program, on, parts)
    if lower > upper:
        raise program.plan_error(
            "the join window is empty: counted from the left row's time, "
            f"it starts at {words(lower)} and ends at {words(upper)}",
            window.node,
            expected="a lower bound that is not after the upper bound",
            hint=f"for example: {WINDOW_EXAMPLE}",
        )
    return JoinCondition(
        left_keys=tuple(key for key, _ in parts.keys),
        right_keys=tuple(key for _, key in parts.keys),
        left_time=window.left,
        right_time=window.right,
        before_us=-lower,
        after_us=upper,
        left_only=tuple(parts.only["left"]),
        right_only=tuple(parts.only["right"]),
        both=tuple(parts.only["both"]),
    )


def _windowed(program: Program, on: exp.Expr, parts: _Parts, counted: bool) -> JoinCondition:
    window = parts.windows[0]
    if len(parts.windows) > 1:
        raise program.plan_error(
            f"the join has {len(parts.windows)} windows", parts.windows[1].node, expected="one WITHIN"
        )
    if counted:
        raise program.plan_error(
            "a join counts rows, or is within windows of event time, not both",
            window.node,
            hint="leave out WITHIN, or `window = ROWS ...`",
        )
    if not parts.keys:
        raise program.plan_error(
            "a join within windows needs an equality between the two sides",
            on,
            expected="ON l.key = r.key WITHIN ...",
            hint="without an equality, bound the times in the ON condition instead of WITHIN",
        )
    _as_conditions(parts, set())
    return JoinCondition(
        tuple(key for key, _ in parts.keys),
        tuple(key for _, key in parts.keys),
        window.left_time,
        window.right_time,
        window.length_us,
        window.length_us,
        tuple(parts.only["left"]),
        tuple(parts.only["right"]),
        tuple(parts.only["both"]),
        window,
    )


def _counted(program: Program, on: exp.Expr, parts: _Parts) -> JoinCondition:
    if parts.keys:
        raise program.plan_error(
            "a window that counts rows is for joins without an equality, and this one has one",
            on,
            expected=WINDOW_EXAMPLE,
            hint="leave out `window = ROWS ...`, and bound the times in the ON condition",
        )
    _as_conditions(parts, set())
    only = {side: tuple(nodes) for side, nodes in parts.only.items()}
    return JoinCondition((), (), None, None, 0, 0, only["left"], only["right"], only["both"])


def _as_conditions(parts: _Parts, used: set[int]) -> None:
    """Bounds that are no part of the window are plain conditions."""
    for bound in parts.bounds:
        if id(bound.node) not in used and not any(bound.node is node for node in parts.only["both"]):
            parts.only["both"].append(bound.node)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a conjunction, brackets taken off."""
    bare = node
    while isinstance(bare, exp.Paren):
        bare = bare.this
    if isinstance(bare, exp.And):
        return [*conjuncts(bare.this), *conjuncts(bare.expression)]
    return [bare]


def side_of(node: exp.Expr, left: str, right: str) -> str | None:
    """`left`, `right` or `both`, by the columns in an expression; None for a constant."""
    named = {column.table.lower() for column in node.find_all(exp.Column)}
    if not named:
        return None
    if len(named) > 1:
        return "both"
    return "left" if named == {left.lower()} else "right" if named == {right.lower()} else "both"


def _sort_in(program: Program, node: exp.Expr, names: tuple[str, str], parts: _Parts) -> None:
    if is_window(node):
        parts.windows.append(_checked_times(program, read_window(program, node), names))
        return
    if reads_bounds(node):
        raise program.plan_error(
            f"`{pql_sql(node)[:60]}` reads the window's bounds, which are known after the join",
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
            f"`{pql_sql(node)[:60]}` in the ON condition reads no column",
            node,
            expected="equalities, a window, and conditions on columns",
            hint="leave it out",
        )
    if isinstance(node, exp.EQ):
        first, second = side_of(node.this, *names), side_of(node.expression, *names)
        if (first, second) == ("left", "right"):
            parts.keys.append((_bare(node.this), _bare(node.expression)))
            return
        if (first, second) == ("right", "left"):
            parts.keys.append((_bare(node.expression), _bare(node.this)))
            return
    bounds = _bounds(program, node, names)
    if bounds:
        parts.bounds.extend(bounds)
    else:
        parts.only["both"].append(node)


def _checked_times(program: Program, window: WindowClause, names: tuple[str, str]) -> WindowClause:
    """OF names a time of each side, in any order."""
    if window.left_time is None or window.right_time is None:
        return window
    found = side_of(window.left_time, *names), side_of(window.right_time, *names)
    if found == ("right", "left"):
        return replace(window, left_time=window.right_time, right_time=window.left_time)
    if found != ("left", "right"):
        raise program.plan_error(
            "the two times of the window are not one of each side",
            window.node,
            expected="OF a time of the left side, a time of the right side",
        )
    return window


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _bounds(program: Program, node: exp.Expr, names: tuple[str, str]) -> list[_Bound]:
    if isinstance(node, exp.Between):
        if node.args.get("symmetric"):
            return []
        pairs = [(node.this, node.args["low"], 0), (node.args["high"], node.this, 0)]
    elif isinstance(node, (exp.GTE, exp.GT)):
        pairs = [(node.this, node.expression, int(isinstance(node, exp.GT)))]
    elif isinstance(node, (exp.LTE, exp.LT)):
        pairs = [(node.expression, node.this, int(isinstance(node, exp.LT)))]
    else:
        return []
    found = [_bound(program, node, (big, small, strict), names) for big, small, strict in pairs]
    return [bound for bound in found if bound is not None] if all(found) else []


def _bound(
    program: Program, node: exp.Expr, compared: tuple[exp.Expr, exp.Expr, int], names: tuple[str, str]
) -> _Bound | None:
    """`big - small >= strict` as a bound of `right - left`, or None if it is no such thing."""
    big, small, strict = compared
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
                    expected="fixed lengths: weeks, days, hours, minutes, seconds and parts of them",
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


def terms_of(node: exp.Expr, sign: int) -> list[tuple[int, exp.Expr]]:
    """A sum taken apart into signed terms; only what adds or subtracts is opened."""
    if isinstance(node, exp.Paren):
        return terms_of(node.this, sign)
    if isinstance(node, exp.Neg):
        return terms_of(node.this, -sign)
    if isinstance(node, exp.Add):
        return [*terms_of(node.this, sign), *terms_of(node.expression, sign)]
    if isinstance(node, exp.Sub):
        return [*terms_of(node.this, sign), *terms_of(node.expression, -sign)]
    return [(sign, node)]


def _window(program: Program, on: exp.Expr, parts: _Parts) -> tuple[int, int, _Bound]:
    """The one pair of times with an interval between them; bounds of other pairs are plain conditions."""
    groups: dict[tuple[str, str], list[_Bound]] = {}
    for bound in parts.bounds:
        groups.setdefault((pql_sql(bound.left), pql_sql(bound.right)), []).append(bound)
    chosen = [group for group in groups.values() if any(bound.has_interval for bound in group)]
    if not chosen:
        two_sided = [g for g in groups.values() if {b.low is None for b in g} == {True, False}]
        chosen = two_sided or (list(groups.values()) if len(groups) == 1 else [])
    if len(chosen) > 1:
        raise program.plan_error(
            f"the join has {len(chosen)} windows, over different times",
            chosen[1][0].node,
            expected="one window: one time of the left side and one of the right",
            hint=f"the first is over {pql_sql(chosen[0][0].left)} and {pql_sql(chosen[0][0].right)}",
        )
    if not chosen:
        raise program.plan_error(
            "the join has no time window",
            on,
            expected=WINDOW_EXAMPLE,
            hint="add one to the ON condition with AND, or windows with WITHIN TUMBLING '10 seconds'; a join "
            "without an equality may count rows instead: "
            "WITH (window = ROWS 1000000)",
        )
    window = chosen[0]
    lows = [bound.low for bound in window if bound.low is not None]
    highs = [bound.high for bound in window if bound.high is not None]
    if not lows or not highs:
        left, right = pql_sql(window[0].left), pql_sql(window[0].right)
        missing = "upper" if not highs else "lower"
        example = (
            f"{right} <= {left} + INTERVAL '3 minutes'"
            if not highs
            else f"{right} >= {left} - INTERVAL '3 minutes'"
        )
        raise program.plan_error(
            f"the join window has no {missing} bound",
            window[0].node,
            expected="both bounds, so that state can be let go",
            hint=f"add AND {example}",
        )
    _as_conditions(parts, {id(bound.node) for bound in window})
    return max(lows), min(highs), window[0]
