"""The options of a join, `WITH (...)` after its ON: one table, for the parser, the docs and errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeGuard, cast, get_args

from dovetail.errors import DovetailError, PlanError
from dovetail.model.compression import COMPRESSIONS, Compression
from dovetail.model.estimate_spec import EstimateSpec, Statistic
from dovetail.model.interval import IntervalSpec, JoinType, Match, Pick
from dovetail.model.join_settings import HISTORY_US, JoinSettings
from dovetail.model.pacing import Pacing
from dovetail.model.theta import CountWindow, Order
from dovetail.model.validity import Validity
from dovetail.plan.interval_literal import UNIT_US, words
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.statements import JoinOption

MAX_DELAY_US = 2 * UNIT_US["minute"]
BUCKETS = 64
MAX_STEP_ROWS = 4_000_000
IDLE_TIMEOUT_US = UNIT_US["minute"]
MOST_WINDOW_ROWS = 10**9

Kind = Literal["choice", "interval", "integer", "number", "rows"]
Value = str | int | float


@dataclass(frozen=True)
class Option:
    """One row of the table. `default` None: see the sentence. `needs`: the option is only for these values of
    another."""

    name: str
    kind: Kind
    default: Value | None
    unit: str
    sentence: str
    choices: tuple[str, ...] = ()
    low: int = 1
    high: int = 2**31 - 1
    needs: tuple[str, tuple[str, ...]] | None = None

    @property
    def expected(self) -> str:
        if self.kind == "choice":
            return " | ".join(f'"{choice}"' for choice in self.choices)
        if self.kind == "interval":
            return "an interval that is not negative, such as INTERVAL '2 minutes'"
        if self.kind == "rows":
            return "ROWS and a whole number, such as ROWS 1000000"
        return f"a {'whole ' if self.kind == 'integer' else ''}number from {self.low} to {self.high}"

    @property
    def default_text(self) -> str:
        if self.default is None:
            return ""
        if self.kind == "interval":
            return f"INTERVAL '{words(int(self.default))}'"
        return f'"{self.default}"' if self.kind == "choice" else str(self.default)


_ESTIMATE = EstimateSpec()
_FIXED = ("stream_time", ("fixed",))
_PACED = ("pacing", ("on",))
_ESTIMATED = ("stream_time", get_args(Statistic))

OPTIONS: tuple[Option, ...] = (
    Option("match", "choice", "all", "", "Every partner of a left row, or at most one.", get_args(Match)),
    Option(
        "pick",
        "choice",
        "first",
        "",
        'Which partner `match = "one"` takes: the first found, or by event time when the window closes.',
        get_args(Pick),
        needs=("match", ("one",)),
    ),
    Option(
        "window",
        "rows",
        None,
        "rows",
        "Of a join without an equality: a new row sees the last so many rows of the other side, instead of a "
        "window of event time.",
        high=MOST_WINDOW_ROWS,
    ),
    Option(
        "left_window",
        "rows",
        None,
        "rows",
        "How many left rows a new right row sees; by default `window`.",
        high=MOST_WINDOW_ROWS,
    ),
    Option(
        "right_window",
        "rows",
        None,
        "rows",
        "How many right rows a new left row sees; by default `window`.",
        high=MOST_WINDOW_ROWS,
    ),
    Option(
        "order",
        "choice",
        None,
        "",
        "Of a join without an equality: what is sorted by the arrival of the later row. Nothing (the "
        "default), what each task puts out in a step, or all that a step puts out, which takes one task.",
        get_args(Order),
    ),
    Option(
        "emit",
        "choice",
        None,
        "",
        "Of a join within windows: whether a window is joined when it is over, or pairs come out as soon as "
        "both rows are in. By default (`auto`) eager for INNER joins within TUMBLING and HOPPING windows, "
        "else lazy.",
        ("auto", "lazy", "eager"),
    ),
    Option(
        "max_session",
        "interval",
        None,
        "time",
        "How long a session may last, and so how long its rows are kept; a longer one is cut. By default "
        "a day.",
    ),
    Option(
        "stream_time",
        "choice",
        "fixed",
        "",
        "What tells a stream's time: the newest event time less `max_delay`, or a statistic of recent ones.",
        ("fixed", *get_args(Statistic)),
    ),
    Option(
        "max_delay",
        "interval",
        MAX_DELAY_US,
        "time",
        "How far behind the latest event time of its stream a row may come and still be on time.",
        needs=_FIXED,
    ),
    Option(
        "left_max_delay",
        "interval",
        None,
        "time",
        "The left stream's own `max_delay`; by default `max_delay`.",
        needs=_FIXED,
    ),
    Option(
        "right_max_delay",
        "interval",
        None,
        "time",
        "The right stream's own `max_delay`; by default `max_delay`.",
        needs=_FIXED,
    ),
    Option(
        "percentile",
        "number",
        _ESTIMATE.percentile,
        "percent",
        "How many of a hundred rows may be behind their stream's time when they come.",
        low=0,
        high=100,
        needs=("stream_time", ("percentile",)),
    ),
    Option(
        "ascending",
        "integer",
        _ESTIMATE.ascending,
        "values",
        "How many values of the statistic must ascend before the newest is taken as the time.",
        low=2,
        high=64,
        needs=_ESTIMATED,
    ),
    Option(
        "sample_rows",
        "integer",
        _ESTIMATE.sample_rows,
        "rows",
        "Rows of one observation, at least.",
        needs=_ESTIMATED,
    ),
    Option(
        "max_window",
        "integer",
        _ESTIMATE.max_window,
        "observations",
        "How many observations a value may be taken over: 1, 2, 4, ... up to this.",
        high=65536,
        needs=_ESTIMATED,
    ),
    Option(
        "sample_time",
        "interval",
        _ESTIMATE.sample_us,
        "time",
        "Event time of one observation, where it has fewer rows than that.",
        needs=_ESTIMATED,
    ),
    Option(
        "memory",
        "interval",
        _ESTIMATE.memory_us,
        "time",
        "How long until half of how late rows were is forgotten, in event time.",
        needs=("stream_time", ("percentile",)),
    ),
    Option(
        "pacing",
        "choice",
        "off",
        "",
        "Whether a running stream that is ahead waits for the other, so that little is held.",
        ("on", "off"),
    ),
    Option(
        "slack",
        "interval",
        UNIT_US["minute"],
        "time",
        "How far the right stream may be ahead of what the left one needs.",
        needs=_PACED,
    ),
    Option(
        "idle_timeout",
        "interval",
        None,
        "time",
        "How long a stream without new rows may hold windows open, and with pacing the other stream up; by "
        "default a minute with pacing, else for ever.",
    ),
    Option(
        "horizon",
        "interval",
        None,
        "time",
        "How far behind the clock an event time is believed; by default any is.",
    ),
    Option(
        "max_ahead",
        "interval",
        Validity().max_ahead_us,
        "time",
        "How far ahead of the clock an event time is believed.",
    ),
    Option(
        "left_cap",
        "integer",
        None,
        "rows",
        "Left rows of one key that are held at most: beyond it the oldest is resolved at once.",
    ),
    Option(
        "right_cap",
        "integer",
        None,
        "rows",
        "Right rows of one key that are held at most: beyond it the oldest is evicted.",
    ),
    Option(
        "hot_keys",
        "choice",
        "split",
        "",
        "Whether a key that makes up much of a stream is split over the tasks, or stays in one.",
        ("split", "together"),
    ),
    Option(
        "history",
        "interval",
        HISTORY_US,
        "time",
        "How long rows that the join no longer needs stay in its log, for `dovetail why` to explain.",
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
        "compression",
        "choice",
        "auto",
        "",
        "Payload in the two intermediate categories: where rows are wide and it pays, always, or never.",
        COMPRESSIONS,
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
WITHOUT_EQUALITY = ("window", "left_window", "right_window", "order")
"""Options that only joins without an equality have."""
BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True)
class JoinOptions:
    """The options of one join, defaults filled in."""

    match: Match
    pick: Pick
    left_cap: int | None
    right_cap: int | None
    buckets: int
    compression: Compression
    settings: JoinSettings
    rows: CountWindow | None  # None: the window is one of event time
    order: Order | None
    emit: str | None  # None: not asked for
    max_session_us: int | None

    def spec(self, before_us: int, after_us: int, how: JoinType) -> IntervalSpec:
        """The join within these bounds."""
        return IntervalSpec(before_us, after_us, how, self.match, self.pick, self.left_cap, self.right_cap)


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


def checked(option: Option, value: object) -> Value:
    """The value, if the option takes it."""
    if option.kind == "choice":
        if isinstance(value, str) and value.lower() in option.choices:
            return value.lower()
        hint = (
            did_you_mean(value, option.choices, listed=True)
            if isinstance(value, str)
            else "put the value between quotes"
        )
    elif _is_number(value, option):
        low = 0 if option.kind == "interval" else option.low
        if low <= value and (option.kind == "interval" or value <= option.high):
            return value
        hint = None
    else:
        hint = None
    shown = words(value) if option.kind == "interval" and isinstance(value, int) else value
    raise PlanError(f"join option `{option.name}` cannot be {shown!r}", expected=option.expected, hint=hint)


def _is_number(value: object, option: Option) -> TypeGuard[int | float]:
    kinds = (int, float) if option.kind == "number" else (int,)
    return isinstance(value, kinds) and not isinstance(value, bool)


def resolve(options: Iterable[JoinOption]) -> JoinOptions:
    """Defaults filled in."""
    options = list(options)
    for _, error in misplaced(options):
        raise error
    given = {option.name: option.value for option in options}
    value = {option.name: given.get(option.name, option.default) for option in OPTIONS}
    return JoinOptions(
        match=cast(Match, value["match"]),
        pick=cast(Pick, value["pick"]),
        left_cap=_whole(value["left_cap"]),
        right_cap=_whole(value["right_cap"]),
        buckets=int(cast(int, value["buckets"])),
        compression=cast(Compression, value["compression"]),
        settings=_settings(value),
        rows=_rows(value),
        order=cast("Order | None", value["order"]),
        emit=cast("str | None", value["emit"]),
        max_session_us=_whole(value["max_session"]),
    )


def spelled_out(options: Iterable[JoinOption]) -> tuple[JoinOption, ...]:
    """The same options with the defaults of the others, in the order of the table, without those that have
    no say or no default; each side has its own delay."""
    given = {option.name: option.value for option in options}
    value = {option.name: given.get(option.name, option.default) for option in OPTIONS}
    for side in ("left_max_delay", "right_max_delay"):
        value[side] = value["max_delay"] if value[side] is None else value[side]
    value["max_delay"] = None
    return tuple(
        JoinOption(option.name, said)
        for option in OPTIONS
        if (said := value[option.name]) is not None
        and (option.needs is None or value[option.needs[0]] in option.needs[1])
    )


def _rows(value: Mapping[str, Value | None]) -> CountWindow | None:
    left, right = (_whole(value[f"{side}_window"] or value["window"]) for side in ("left", "right"))
    if left is None and right is None:
        return None
    if left is None or right is None:
        raise PlanError(
            "only one side's rows are counted",
            expected="`left_window` and `right_window`, or `window` for both",
            hint="add the other",
        )
    return CountWindow(left, right)


def _settings(value: Mapping[str, Value | None]) -> JoinSettings:
    delay = value["max_delay"]
    left, right = (value[side] for side in ("left_max_delay", "right_max_delay"))
    pacing = _pacing(value)
    return JoinSettings(
        left_max_delay_us=int(cast(int, delay if left is None else left)),
        right_max_delay_us=int(cast(int, delay if right is None else right)),
        max_step_rows=int(cast(int, value["max_step_rows"])),
        tasks=_whole(value["tasks"]),
        estimate=_estimate(value),
        pacing=pacing,
        idle_timeout_us=pacing.idle_timeout_us if pacing else _whole(value["idle_timeout"]),
        validity=_validity(value),
        splits_hot_keys=value["hot_keys"] == "split",
        history_us=int(cast(int, value["history"])),
    )


def _estimate(value: Mapping[str, Value | None]) -> EstimateSpec | None:
    if value["stream_time"] == "fixed":
        return None
    return EstimateSpec(
        statistic=cast(Statistic, value["stream_time"]),
        percentile=float(cast(float, value["percentile"])),
        ascending=int(cast(int, value["ascending"])),
        sample_rows=int(cast(int, value["sample_rows"])),
        max_window=int(cast(int, value["max_window"])),
        sample_us=int(cast(int, value["sample_time"])),
        memory_us=int(cast(int, value["memory"])),
    )


def _pacing(value: Mapping[str, Value | None]) -> Pacing | None:
    if value["pacing"] == "off":
        return None
    idle_us = _whole(value["idle_timeout"])
    return Pacing(int(cast(int, value["slack"])), IDLE_TIMEOUT_US if idle_us is None else idle_us)


def _validity(value: Mapping[str, Value | None]) -> Validity:
    return Validity(_whole(value["horizon"]), int(cast(int, value["max_ahead"])))


def _whole(value: Value | None) -> int | None:
    return None if value is None else int(value)


def misplaced(options: Iterable[JoinOption]) -> Iterator[tuple[JoinOption, DovetailError]]:
    """Options that have no say beside the others, each with an error."""
    options = list(options)
    given = {option.name: option.value for option in options}
    for option in options:
        needs = BY_NAME[option.name].needs
        if needs is None:
            continue
        other, fitting = needs
        value = given.get(other, BY_NAME[other].default)
        if value not in fitting:
            wanted = " or ".join(f'{other} = "{choice}"' for choice in fitting)
            yield (
                option,
                PlanError(
                    f'`{option.name}` is given, but has no say with {other} = "{value}"',
                    expected=f"`{option.name}` together with {wanted}",
                    hint=f"add {wanted}, or leave `{option.name}` out",
                ),
            )
