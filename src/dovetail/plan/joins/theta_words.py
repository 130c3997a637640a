"""How a theta join finds its pairs, in words: for `dovetail check` and `dovetail plan`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dovetail.model.theta import Bound, CountWindow
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.bands import FoundBand, sum_words


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
    from sqlglot import exp

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
    """One line for each thing that is done to find pairs, first things first."""
    lines = []
    if bands:
        others = ", then the other" + ("s" if len(bands) > 2 else "") if len(bands) > 1 else ""
        lines.append(
            f"band index on {'; '.join(bands)}"
            + (f" (the one that leaves the fewest rows{others})" if len(bands) > 1 else "")
        )
    if timed:
        lines.append("index on event time" + (", where it leaves fewer rows" if bands else ""))
    elif not bands:
        lines.append("scan: every new row is compared with all rows of the other side's window")
    if compiled:
        lines.append(f"on the pairs left, compiled: {'; '.join(compiled)}")
    if by_columns:
        lines.append(f"on the pairs left, by columns: {'; '.join(by_columns)}")
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
