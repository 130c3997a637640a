"""Each kind of join in words: what a drawing, a summary and `status` say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp

from dovetail.model.join_kind import JoinKind
from dovetail.model.theta import Term, Theta
from dovetail.plan.joins.bands import sum_words
from dovetail.plan.joins.words import (
    algorithm_words,
    band_words,
    emit_words,
    match_words,
    rows_words,
    window_words,
    windows_words,
)


class KindWords(NamedTuple):
    """None: there is nothing to say about it for this kind."""

    window: str
    match: str | None
    emits: str | None = None
    joins: str | None = None
    finds: tuple[tuple[str, str], ...] = ()
    """How partners are found, a word and a line each."""


def kind_words(kind: JoinKind) -> KindWords:
    windows, condition = kind.windows, kind.condition
    is_said = windows is None or kind.spec.match == "one"
    return KindWords(
        _window(kind),
        match_words(kind.spec) if is_said else None,
        None if windows is None else emit_words(windows, kind.spec),
        None if windows is None else algorithm_words(windows),
        () if condition is None else tuple(_finds(condition)),
    )


def _window(kind: JoinKind) -> str:
    if kind.windows is not None:
        return windows_words(kind.windows)
    if kind.counted is not None:
        return rows_words(kind.counted)
    return window_words(kind.spec.before_us, kind.spec.after_us)


def _finds(theta: Theta) -> list[tuple[str, str]]:
    bands = [
        band_words(_sum("l", band.left), _sum("r", band.right), band.low, band.high) for band in theta.bands
    ]
    indexes = "band index" if bands else ""
    if theta.rows is None:
        indexes = f"{indexes}, index on event time" if bands else "index on event time"
    lines = [("band", band) for band in bands]
    if theta.rest:
        lines.append(("others", f"{len(theta.rest)}, checked on the candidates"))
    lines.append(("finds", f"by {indexes or 'scan'}"))
    return lines + ([("order", f"by {theta.order}")] if theta.order != "none" else [])


def _sum(side: str, terms: Sequence[Term]) -> str:
    return sum_words([(term.sign, exp.column(term.column, table=side)) for term in terms])
