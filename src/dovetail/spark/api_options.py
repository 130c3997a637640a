"""The options of a join in Python: those of PQL by the same names, lengths of time as Python has them."""

from __future__ import annotations

import datetime
from typing import Literal, TypedDict

from dovetail.errors import PlanError
from dovetail.model.compression import Compression
from dovetail.model.interval import Match, Pick
from dovetail.plan.interval_literal import text_us
from dovetail.plan.options import WITHOUT_EQUALITY, JoinOptions, checked, find, resolve
from dovetail.plan.statements import JoinOption

Duration = str | datetime.timedelta

WITHIN_WINDOWS = ("emit", "max_session")
"""Options of joins within windows, which are written in PQL."""


class Options(TypedDict, total=False):
    """See the table of options in the PQL reference; joins without an equality or within windows have
    others."""

    match: Match
    pick: Pick
    stream_time: Literal["fixed", "percentile", "mean"]
    max_delay: Duration
    left_max_delay: Duration
    right_max_delay: Duration
    percentile: float
    ascending: int
    sample_rows: int
    max_window: int
    sample_time: Duration
    memory: Duration
    pacing: Literal["on", "off"]
    slack: Duration
    idle_timeout: Duration
    horizon: Duration
    max_ahead: Duration
    left_cap: int
    right_cap: int
    hot_keys: Literal["split", "together"]
    history: Duration
    buckets: int
    compression: Compression
    tasks: int | None
    max_step_rows: int


def resolved(options: Options) -> JoinOptions:
    """Checked as PQL's are, with the defaults of the others."""
    given = []
    for name, value in options.items():
        if value is None:
            continue
        option = find(name)
        if option.name in WITHOUT_EQUALITY:
            raise PlanError(
                f"{name} is for joins without an equality",
                where="dovetail.join",
                expected=", ".join(Options.__annotations__),
                hint="dovetail.join joins by keys; write the join in PQL, without an equality in its ON",
            )
        if option.name in WITHIN_WINDOWS:
            raise PlanError(
                f"{name} is for joins within windows",
                where="dovetail.join",
                expected=", ".join(Options.__annotations__),
                hint="dovetail.join joins within an interval; write it in PQL, with WITHIN after its ON",
            )
        said = duration_us(value, name) if option.kind == "interval" else value
        given.append(JoinOption(option.name, checked(option, said)))
    return resolve(given)


def duration_us(duration: object, what: str) -> int:
    if isinstance(duration, datetime.timedelta):
        return duration // datetime.timedelta(microseconds=1)
    try:
        if not isinstance(duration, str):
            raise ValueError("neither text nor a timedelta")
        return text_us(duration)
    except ValueError as error:
        raise PlanError(
            f"{what}={duration!r} is not a duration: {error}",
            expected="such as '3 minutes', '1 hour 30 seconds' or a datetime.timedelta",
        ) from error
