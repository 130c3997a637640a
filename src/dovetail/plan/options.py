"""The options of a join, `WITH (...)` after its ON: one table, for the parser, the docs and errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from dovetail.errors import DovetailError, PlanError
from dovetail.model.interval import Match, Pick
from dovetail.plan.interval_literal import UNIT_US, words
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.statements import JoinOption

MAX_DELAY_US = 2 * UNIT_US["minute"]
BUCKETS = 64
MAX_STEP_ROWS = 4_000_000

Kind = Literal["choice", "interval", "integer"]


@dataclass(frozen=True)
class Option:
    """One row of the table. `default` None: see the sentence."""

    name: str
    kind: Kind
    default: str | int | None
    unit: str
    sentence: str
    choices: tuple[str, ...] = ()
    low: int = 1
    high: int = 2**31 - 1

    @property
    def expected(self) -> str:
        if self.kind == "choice":
            return " | ".join(f'"{choice}"' for choice in self.choices)
        if self.kind == "interval":
            return "an interval that is not negative, such as INTERVAL '2 minutes'"
        return f"a whole number from {self.low} to {self.high}"

    @property
    def default_text(self) -> str:
        if self.default is None:
            return ""
        if self.kind == "interval":
            return f"INTERVAL '{words(int(self.default))}'"
        return f'"{self.default}"' if self.kind == "choice" else str(self.default)


OPTIONS: tuple[Option, ...] = (
    Option("match", "choice", "all", "", "Every partner of a left row, or at most one.", get_args(Match)),
    Option(
        "pick",
        "choice",
        "first",
        "",
        'Which partner `match = "one"` takes: the first found, or by event time when the window closes.',
        get_args(Pick),
    ),
    Option(
        "max_delay",
        "interval",
        MAX_DELAY_US,
        "time",
        "How far behind the latest event time of its stream a row may come and still be on time.",
    ),
    Option(
        "left_max_delay",
        "interval",
        None,
        "time",
        "The left stream's own `max_delay`; by default `max_delay`.",
    ),
    Option(
        "right_max_delay",
        "interval",
        None,
        "time",
        "The right stream's own `max_delay`; by default `max_delay`.",
    ),
    Option(
        "buckets",
        "integer",
        BUCKETS,
        "buckets",
        "Shards of the join's two intermediate categories, fixed for their life.",
        high=4096,
    ),
    Option(
        "tasks",
        "integer",
        None,
        "tasks",
        "Parallel tasks of the join, at most one a bucket; by default as many as Spark has cores.",
        high=4096,
    ),
    Option(
        "max_step_rows",
        "integer",
        MAX_STEP_ROWS,
        "rows",
        "About how many rows of both streams one step of the join takes in.",
    ),
)
BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True)
class JoinOptions:
    """The options of one join, defaults filled in."""

    match: Match
    pick: Pick
    left_max_delay_us: int
    right_max_delay_us: int
    buckets: int
    tasks: int | None
    max_step_rows: int


def find(name: str) -> Option:
    """The option of that name, or an error that says which exist and which is nearest."""
    option = BY_NAME.get(name.lower())
    if option is None:
        raise PlanError(
            f"unknown join option `{name}`",
            expected=", ".join(BY_NAME),
            hint=did_you_mean(name, BY_NAME, listed=True),
        )
    return option


def checked(option: Option, value: object) -> str | int:
    """The value, if the option takes it."""
    if option.kind == "choice":
        if isinstance(value, str) and value.lower() in option.choices:
            return value.lower()
        hint = (
            did_you_mean(value, option.choices, listed=True)
            if isinstance(value, str)
            else "put the value between quotes"
        )
    elif isinstance(value, int) and not isinstance(value, bool):
        low = 0 if option.kind == "interval" else option.low
        if low <= value and (option.kind == "interval" or value <= option.high):
            return value
        hint = None
    else:
        hint = None
    shown = words(value) if option.kind == "interval" and isinstance(value, int) else value
    raise PlanError(f"join option `{option.name}` cannot be {shown!r}", expected=option.expected, hint=hint)


def resolve(options: Iterable[JoinOption]) -> JoinOptions:
    """Defaults filled in; `pick` makes no sense when every partner is taken."""
    given = {option.name: option.value for option in options}
    if "pick" in given and given.get("match", "all") != "one":
        raise pick_without_one()
    value = {option.name: given.get(option.name, option.default) for option in OPTIONS}
    delay = value["max_delay"]
    tasks = value["tasks"]
    return JoinOptions(
        match=cast(Match, value["match"]),
        pick=cast(Pick, value["pick"]),
        left_max_delay_us=int(
            cast(int, delay if value["left_max_delay"] is None else value["left_max_delay"])
        ),
        right_max_delay_us=int(
            cast(int, delay if value["right_max_delay"] is None else value["right_max_delay"])
        ),
        buckets=int(cast(int, value["buckets"])),
        tasks=None if tasks is None else int(tasks),
        max_step_rows=int(cast(int, value["max_step_rows"])),
    )


def pick_without_one() -> DovetailError:
    return PlanError(
        '`pick` is given, but every partner is taken (match = "all")',
        expected='`pick` together with match = "one"',
        hint='add match = "one", or leave `pick` out',
    )
