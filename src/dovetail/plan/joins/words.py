"""A join in words, for people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from dovetail.model.interval import IntervalSpec
from dovetail.model.theta import Bound, CountWindow
from dovetail.model.theta_text import condition_text
from dovetail.model.window_join import WindowJoin
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.bands import FoundBand, sum_words
from dovetail.plan.joins.windows import EAGER_BECAUSE, lazy_because

HOW_WORDS = {
    "inner": "INNER JOIN",
    "left": "LEFT OUTER JOIN",
    "right": "RIGHT OUTER JOIN",
    "full": "FULL OUTER JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}


def window_words(before_us: int, after_us: int) -> str:
    """`3 minutes before to 3 minutes after`: where right rows are relative to a left row."""
    if -before_us == after_us:
        return _place(after_us) if after_us else "at the time of"
    return f"{_place(-before_us)} to {_place(after_us)}"


def windows_words(window: WindowJoin) -> str:
    """`tumbling, 10 seconds`."""
    if window.shape == "session":
        return f"session, gap {words(window.length_us)}, at most {words(window.longest_us)}"
    every = f" every {words(window.every_us)}" if window.shape == "hopping" else ""
    return f"{window.shape}, {words(window.length_us)}{every}"


def emit_words(window: WindowJoin, spec: IntervalSpec) -> str:
    """When pairs are emitted, and why then."""
    why = EAGER_BECAUSE if window.emit == "eager" else lazy_because(window.shape, spec.how, spec.match)
    return f"{window.emit}: {why}"


def algorithm_words(window: WindowJoin) -> str:
    """How rows are joined."""
    if window.emit == "eager":
        return "by probing the rows held so far"
    return "by npj, prj, mway or mpass, depending on the keys"


def _place(us: int) -> str:
    if us == 0:
        return "the same time"
    return f"{words(abs(us))} {'after' if us > 0 else 'before'}"


def match_words(spec: IntervalSpec, compared: str | None = None) -> str:
    """`compared`: what a pick by value compares, in the words of the query."""
    if spec.match == "all":
        return "every partner"
    if spec.picked_by is None:
        return f"one partner, the {spec.pick}"
    largest = "largest" if spec.pick == "max" else "smallest"
    return f"one partner, {largest} {compared or condition_text(spec.picked_by, {})}"


def band_words(left: str, right: str, low: Bound | None, high: Bound | None, *, timed: bool = False) -> str:
    """`l.x - r.a from -10 to 10`."""
    right = f"({right})" if " " in right or right.startswith("-") else right
    said = f"{left} - {right}"
    if low is not None and high is not None and low.value == high.value:
        return f"{said} is {_number(low, timed)}"
    if low is not None:
        said += f" {'above' if low.strict else 'from'} {_number(low, timed)}"
    if low is not None and high is not None:
        said += " and" if high.strict or low.strict else ""
    if high is not None:
        until = "below" if high.strict else "to" if low and not low.strict else "up to"
        said += f" {until} {_number(high, timed)}"
    return said


def found_band_words(band: FoundBand) -> str:
    timed = any(node.find(exp.Interval) is not None for node in band.spelled)
    return band_words(sum_words(band.left), sum_words(band.right), band.low, band.high, timed=timed)


def access_words(
    bands: Sequence[str],
    compiled: Sequence[str],
    by_columns: Sequence[str],
    after: Sequence[str],
    *,
    timed: bool,
) -> list[str]:
    """One line for each step of finding pairs, in their order."""
    lines = []
    if bands:
        others = ", then the other" + ("s" if len(bands) > 2 else "") if len(bands) > 1 else ""
        lines.append(
            f"band index on {'; '.join(bands)}"
            + (f" (the most selective one first{others})" if len(bands) > 1 else "")
        )
    if timed:
        lines.append("index on event time" + (", where that is more selective" if bands else ""))
    elif not bands:
        lines.append("scan: every new row is compared with all rows of the other side's window")
    if compiled:
        lines.append(f"on the candidates, compiled: {'; '.join(compiled)}")
    if by_columns:
        lines.append(f"on the candidates, by columns: {'; '.join(by_columns)}")
    if after:
        lines.append(f"after the join, by Spark: {'; '.join(after)}")
    return lines


def rows_words(rows: CountWindow) -> str:
    if rows.left_rows == rows.right_rows:
        return f"the last {rows.left_rows:,} rows of the other side"
    return f"the last {rows.left_rows:,} left rows, the last {rows.right_rows:,} right rows"


def _number(bound: Bound, timed: bool) -> str:
    value = Fraction(bound.value)
    if timed and value.denominator == 1:
        return words(int(value))
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
