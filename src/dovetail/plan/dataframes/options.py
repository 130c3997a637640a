"""The options of a join in Python: those of PQL by the same names, lengths of time as Python has them."""

from __future__ import annotations

from typing import Literal, TypedDict

from dovetail.errors import PlanError
from dovetail.model.compression import Compression
from dovetail.model.interval import Match
from dovetail.model.window_join import WindowShape
from dovetail.plan.dataframes.duration import Duration, duration_us
from dovetail.plan.dataframes.windows import EXAMPLE
from dovetail.plan.joins.options import NOT_KEYED, JoinOptions, checked, find, resolve, unsuitable
from dovetail.plan.statements import JoinOption


class Options(TypedDict, total=False):
    """See the table of options in the PQL reference; joins without an equality have others."""

    match: Match
    pick: str  # a name, or an expression such as "max(price)": `picks.py`
    emit: Literal["auto", "lazy", "eager"]
    max_session: Duration
    stream_time: Literal["fixed", "percentile", "mean"]
    max_delay: Duration
    left_max_delay: Duration
    right_max_delay: Duration
    confirmed_by: int
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
    history_bytes: int
    buckets: int
    compression: Compression
    tasks: int | None
    max_step_rows: int


def resolved(options: Options, within: WindowShape | None = None) -> JoinOptions:
    """Checked as PQL's are, with the defaults of the others; `within`: the windows of the join, if it has
    any."""
    given = []
    for name, value in options.items():
        if value is None:
            continue
        option = find(name)
        if option.joins is NOT_KEYED:
            raise PlanError(
                f"`{name}` applies only to {NOT_KEYED.words}",
                where="dovetail.join",
                expected=", ".join(Options.__annotations__),
                hint="dovetail.join joins by keys; write the join in PQL, without an equality in its ON",
            )
        said = duration_us(value, name) if option.kind == "interval" else value
        given.append(JoinOption(option.name, checked(option, said)))
    for _, error in unsuitable("windowed" if within else "interval", within, given, EXAMPLE):
        error.where = "dovetail.join"
        raise error
    return resolve(given)
