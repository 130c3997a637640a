"""The options of a join, `WITH (...)` after its ON clause.

One table says everything about an option: its values, default, meaning, and which joins it applies to. The
parser, `dovetail check`, the DataFrame API and the reference page all read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeGuard, get_args

from dovetail.errors import PlanError
from dovetail.model.compression import COMPRESSIONS, Compression
from dovetail.model.estimate_spec import EstimateSpec, Statistic
from dovetail.model.interval import IntervalSpec, JoinType, Match, Pick, TimePick
from dovetail.model.join_settings import HISTORY_BYTES, HISTORY_US, JoinSettings, Pacing
from dovetail.model.theta import CountWindow, Expression, Order
from dovetail.model.validity import Validity
from dovetail.model.window_join import WindowShape
from dovetail.plan.interval_literal import UNIT_US, words
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.statements import JoinOption

MAX_DELAY_US = 2 * UNIT_US["minute"]
BUCKETS = 64
CONFIRMED_BY = 4
MAX_STEP_ROWS = 4_000_000
IDLE_TIMEOUT_US = UNIT_US["minute"]
MOST_WINDOW_ROWS = 10**9
MOST_NUMBER = 2**31 - 1

ValueKind = Literal["choice", "pick", "interval", "integer", "number", "rows"]
Value = str | int | float
JoinShape = Literal["interval", "windowed", "theta", "counted"]
"""What an option may depend on: keys and bounds between the times; keys and windows; neither keys nor
windows; no keys and a window that counts rows."""


class Joins(NamedTuple):
    """The joins that an option applies to."""

    words: str
    kinds: tuple[JoinShape, ...]


AGGREGATES = Joins("aggregates", ())
ALL = Joins("all joins", get_args(JoinShape))
KEYED = Joins("joins with an equality", ("interval", "windowed"))
NOT_KEYED = Joins("joins without an equality", ("theta", "counted"))
WITHIN = Joins("joins with WITHIN", ("windowed",))
BOUNDED = Joins("joins with an equality and without WITHIN", ("interval",))
TIMED = Joins("joins with a window of time", ("interval", "windowed", "theta"))

Needs = tuple[str, tuple[str, ...]]
"""Another option, and the values it must have."""


@dataclass(frozen=True)
class KnownOption:
    """One row of the table. A default of None is explained in the sentence."""

    name: str
    kind: ValueKind
    default: Value | None
    sentence: str
    needs: Needs | None = None
    joins: Joins = ALL
    choices: tuple[str, ...] = ()
    low: int = 1
    high: int = MOST_NUMBER

    @property
    def expected(self) -> str:
        if self.kind == "choice":
            return " | ".join(f'"{choice}"' for choice in self.choices)
        if self.kind == "pick":
            named = " | ".join(f'"{choice}"' for choice in get_args(TimePick))
            return f"{named} | MAX(..) | MIN(..) of an expression, such as MAX(r.price)"
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
        return f'"{self.default}"' if self.kind in ("choice", "pick") else str(self.default)


def _choice(
    name: str,
    choices: tuple[str, ...],
    default: str | None,
    sentence: str,
    needs: Needs | None = None,
    joins: Joins = ALL,
) -> KnownOption:
    return KnownOption(name, "choice", default, sentence, needs, joins, choices)


def _interval(
    name: str, default: int | None, sentence: str, needs: Needs | None = None, joins: Joins = ALL
) -> KnownOption:
    return KnownOption(name, "interval", default, sentence, needs, joins)


def _whole(
    name: str,
    default: int | None,
    sentence: str,
    needs: Needs | None = None,
    joins: Joins = ALL,
    low: int = 1,
    high: int = MOST_NUMBER,
) -> KnownOption:
    return KnownOption(name, "integer", default, sentence, needs, joins, low=low, high=high)


def _rows(name: str, sentence: str) -> KnownOption:
    return KnownOption(name, "rows", None, sentence, joins=NOT_KEYED, high=MOST_WINDOW_ROWS)


_ESTIMATE = EstimateSpec()
_FIXED = ("stream_time", ("inherited", "fixed"))
_PACED = ("pacing", ("on",))
_ESTIMATED = ("stream_time", get_args(Statistic))
_PERCENTILE = ("stream_time", ("percentile",))

OPTIONS: tuple[KnownOption, ...] = (
    _choice(
        "match",
        get_args(Match),
        "all",
        "Return every partner of a left row, or only one; within windows, one in each window.",
    ),
    KnownOption(
        "pick",
        "pick",
        "first",
        'Which partner `match = "one"` returns: the first to arrive, or one chosen when the window closes, '
        "by event time or by the largest or smallest value of an expression over both rows.",
        ("match", ("one",)),
        choices=get_args(Pick),
    ),
    _rows("window", "Compare each new row with the last N rows of the other side, not with a time window."),
    _rows("left_window", "How many left rows each new right row is compared with. Default: `window`."),
    _rows("right_window", "How many right rows each new left row is compared with. Default: `window`."),
    _choice(
        "order",
        get_args(Order),
        None,
        "Sort results by the arrival of the later row: not at all (the default), within each task of a step, "
        "or across the whole step, which then runs as one task.",
        joins=NOT_KEYED,
    ),
    _choice(
        "emit",
        ("auto", "lazy", "eager"),
        None,
        "When pairs are emitted: when the window is over (lazy), or as soon as both rows are there (eager). "
        "`auto`, the default, is eager for INNER joins within TUMBLING and HOPPING windows that return every "
        "partner, and lazy for all others.",
        joins=WITHIN,
    ),
    _interval(
        "max_session",
        None,
        "The longest a SESSION window may last, and so how long its rows are kept. Longer sessions are cut. "
        "Default: one day.",
        joins=WITHIN,
    ),
    _choice(
        "stream_time",
        ("inherited", "fixed", *get_args(Statistic)),
        "inherited",
        "A stream's time: what its input promises (`inherited`; an input that promises nothing has `fixed` "
        "time), its newest confirmed event time minus `max_delay` (`fixed`), or a statistic of recent event "
        "times.",
    ),
    _interval(
        "max_delay",
        MAX_DELAY_US,
        "How far behind the newest event time of its stream a row may arrive and still be on time.",
        _FIXED,
    ),
    _interval("left_max_delay", None, "`max_delay` of the left stream. Default: `max_delay`.", _FIXED),
    _interval("right_max_delay", None, "`max_delay` of the right stream. Default: `max_delay`.", _FIXED),
    _whole(
        "confirmed_by",
        CONFIRMED_BY,
        "How many recent rows must have reached an event time before it counts as the newest of its stream. "
        "With 1, a single row dated ahead takes stream time there.",
        _FIXED,
        high=1000,
    ),
    KnownOption(
        "percentile",
        "number",
        _ESTIMATE.percentile,
        "The percentage of rows that may be late.",
        _PERCENTILE,
        low=0,
        high=100,
    ),
    _whole(
        "ascending",
        _ESTIMATE.ascending,
        "How many values of the statistic in a row must ascend before the newest becomes the stream's time.",
        _ESTIMATED,
        low=2,
        high=64,
    ),
    _whole("sample_rows", _ESTIMATE.sample_rows, "The least number of rows in one observation.", _ESTIMATED),
    _whole(
        "max_window",
        _ESTIMATE.max_window,
        "The most observations that one value of the statistic covers: 1, 2, 4, ... up to this are tried.",
        _ESTIMATED,
        high=65536,
    ),
    _interval(
        "sample_time",
        _ESTIMATE.sample_us,
        "After this much event time an observation is complete, even with fewer than `sample_rows` rows.",
        _ESTIMATED,
    ),
    _interval(
        "memory", _ESTIMATE.memory_us, "Half-life of the lateness history, in event time.", _PERCENTILE
    ),
    _choice(
        "pacing",
        ("on", "off"),
        "off",
        "Whether a stream that is ahead waits for the other, so that the join holds fewer rows.",
        joins=TIMED,
    ),
    _interval(
        "slack",
        UNIT_US["minute"],
        "How far the right stream may run ahead of what the left stream needs.",
        _PACED,
        TIMED,
    ),
    _interval(
        "idle_timeout",
        None,
        "How long a stream without new rows may hold windows open and, with pacing, hold up the other one. "
        "Default: one minute with pacing, otherwise forever.",
    ),
    _interval(
        "horizon",
        None,
        "Event times further behind the clock than this are rejected. Default: none are.",
        joins=TIMED,
    ),
    _interval(
        "max_ahead", Validity().max_ahead_us, "Event times further ahead of the clock than this are rejected."
    ),
    _whole(
        "left_cap",
        None,
        "The most left rows held per key. Beyond the cap the oldest row is closed at once.",
        joins=BOUNDED,
    ),
    _whole(
        "right_cap",
        None,
        "The most right rows held per key. Beyond the cap the oldest row is evicted.",
        joins=BOUNDED,
    ),
    _choice(
        "hot_keys",
        ("split", "together"),
        "split",
        "Whether a key with a large share of the rows is split over several tasks or stays in one.",
        joins=KEYED,
    ),
    _interval(
        "history",
        HISTORY_US,
        "How long rows that the join no longer needs stay in its log, for `why` and `preview`.",
    ),
    _whole(
        "history_bytes",
        HISTORY_BYTES,
        "How many bytes of such rows stay in the log of each side at most.",
        low=0,
        high=2**50,
    ),
    _whole(
        "buckets",
        BUCKETS,
        "The number of shards of the join's two intermediate categories. It cannot change later.",
        joins=KEYED,
        high=4096,
    ),
    _choice(
        "compression",
        COMPRESSIONS,
        "auto",
        "Compress payload in the intermediate categories: where rows are wide and it pays, always, or never.",
    ),
    _whole(
        "tasks",
        None,
        "The number of parallel tasks of the join, at most one per bucket. Default: one per core.",
        high=4096,
    ),
    _interval(
        "early",
        None,
        "Also return what open windows have so far, each time stream time passes a multiple of this. "
        "Default: only closed windows come out.",
        joins=AGGREGATES,
    ),
    _whole("max_step_rows", MAX_STEP_ROWS, "About how many rows of both streams one step of the join reads."),
)
BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True)
class JoinOptions:
    """The options of one join, with defaults filled in."""

    match: Match
    pick: Pick
    left_cap: int | None
    right_cap: int | None
    buckets: int
    compression: Compression
    settings: JoinSettings
    rows: CountWindow | None  # None: the window is a length of time
    order: Order | None
    emit: str | None  # None: not given
    max_session_us: int | None

    def spec(
        self, before_us: int, after_us: int, how: JoinType, picked_by: Expression | None = None
    ) -> IntervalSpec:
        """The join within these bounds. `picked_by`: what a pick by value compares."""
        caps = self.left_cap, self.right_cap
        return IntervalSpec(before_us, after_us, how, self.match, self.pick, *caps, picked_by)


def find(name: str) -> KnownOption:
    """The option of that name, or an error that lists all options and suggests the nearest."""
    option = BY_NAME.get(name.lower())
    if option is None:
        raise PlanError(
            f"unknown join option `{name}`",
            expected=", ".join(BY_NAME),
            hint=did_you_mean(name, BY_NAME, listed=True),
        )
    return option


def checked(option: KnownOption, value: object) -> Value:
    """The value, if the option accepts it."""
    hint = None
    if option.kind in ("choice", "pick"):
        if isinstance(value, str) and value.lower() in option.choices:
            return value.lower()
        is_text = isinstance(value, str)
        hint = did_you_mean(str(value), option.choices, listed=True) if is_text else "put the value in quotes"
    elif _is_number(value, option):
        low = 0 if option.kind == "interval" else option.low
        if low <= value and (option.kind == "interval" or value <= option.high):
            return value
    shown = words(value) if option.kind == "interval" and isinstance(value, int) else value
    raise PlanError(f"join option `{option.name}` cannot be {shown!r}", expected=option.expected, hint=hint)


def _is_number(value: object, option: KnownOption) -> TypeGuard[int | float]:
    kinds = (int, float) if option.kind == "number" else (int,)
    return isinstance(value, kinds) and not isinstance(value, bool)


def conflicts(options: Iterable[JoinOption]) -> Iterator[tuple[JoinOption, PlanError]]:
    """Options that contradict each other or have no effect beside the others, each with an error."""
    given = {option.name: option for option in options}
    for name, option in given.items():
        if (needs := BY_NAME[name].needs) is None:
            continue
        other, fitting = needs
        value = given[other].value if other in given else BY_NAME[other].default
        if value not in fitting:
            wanted = " or ".join(f'{other} = "{choice}"' for choice in fitting)
            yield (
                option,
                PlanError(
                    f'`{name}` has no effect with {other} = "{value}"',
                    expected=f"`{name}` together with {wanted}",
                    hint=f"add {wanted}, or leave `{name}` out",
                ),
            )
    sides = [given[name] for name in ("left_window", "right_window") if name in given]
    if len(sides) == 1 and "window" not in given:
        yield (
            sides[0],
            PlanError(
                f"`{sides[0].name}` is given, but the other side has no window",
                expected="`left_window` and `right_window`, or `window` for both",
            ),
        )


def unsuitable(
    kind: JoinShape, shape: WindowShape | None, options: Iterable[JoinOption], example: str
) -> Iterator[tuple[JoinOption, PlanError]]:
    """Options that do not apply to a join of this kind, each with an error. `example` is how one asks for
    windows."""
    for option in options:
        name, joins = option.name, BY_NAME[option.name].joins
        if (name, option.value) == ("match", "all"):
            continue  # what every join does anyway
        if kind not in joins.kinds:
            expected = f"a join with windows, as in {example}" if joins is WITHIN else None
            yield (
                option,
                PlanError(
                    f"`{name}` applies only to {joins.words}", expected=expected, hint=f"leave `{name}` out"
                ),
            )
        elif name == "max_session" and shape != "session":
            yield (
                option,
                PlanError("`max_session` applies only to SESSION windows", hint="leave `max_session` out"),
            )


def resolve(options: Iterable[JoinOption]) -> JoinOptions:
    """The options with defaults filled in."""
    options = list(options)
    for _, error in conflicts(options):
        raise error
    value = _values(options)
    left, right = (value[f"{side}_window"] or value["window"] for side in ("left", "right"))
    return JoinOptions(
        match=value["match"],
        pick=value["pick"],
        left_cap=value["left_cap"],
        right_cap=value["right_cap"],
        buckets=value["buckets"],
        compression=value["compression"],
        settings=_settings(value),
        rows=CountWindow(left, right) if left and right else None,
        order=value["order"],
        emit=value["emit"],
        max_session_us=value["max_session"],
    )


def spelled_out(options: Iterable[JoinOption], kind: JoinShape) -> tuple[JoinOption, ...]:
    """The options of a join of this kind with all defaults, in the order of the table. Options without a
    default or without effect are left out; each side has its own delay."""
    value = _values(options)
    value["max_delay"] = None
    return tuple(
        JoinOption(option.name, value[option.name])
        for option in OPTIONS
        if value[option.name] is not None
        and (option.needs is None or value[option.needs[0]] in option.needs[1])
        and (kind in option.joins.kinds or option.joins not in (KEYED, BOUNDED))
    )


def _values(options: Iterable[JoinOption]) -> dict[str, Any]:
    """Every option's value. Their types are those that `checked` lets pass."""
    value = {option.name: option.default for option in OPTIONS}
    value |= {option.name: option.value for option in options}
    for side in ("left_max_delay", "right_max_delay"):
        value[side] = value["max_delay"] if value[side] is None else value[side]
    return value


def _settings(value: Mapping[str, Any]) -> JoinSettings:
    idle_us, paced = value["idle_timeout"], value["pacing"] == "on"
    time, inherits = value["stream_time"], value["stream_time"] == "inherited"
    if paced and idle_us is None:
        idle_us = IDLE_TIMEOUT_US
    return JoinSettings(
        left_max_delay_us=value["left_max_delay"],
        right_max_delay_us=value["right_max_delay"],
        max_step_rows=value["max_step_rows"],
        tasks=value["tasks"],
        estimate=_estimate(value) if time in get_args(Statistic) else None,
        pacing=Pacing(value["slack"], idle_us) if paced else None,
        idle_timeout_us=idle_us,
        validity=Validity(value["horizon"], value["max_ahead"]),
        splits_hot_keys=value["hot_keys"] == "split",
        history_us=value["history"],
        history_bytes=value["history_bytes"],
        left_inherits=inherits,
        right_inherits=inherits,
        confirmed_by=value["confirmed_by"],
    )


def _estimate(value: Mapping[str, Any]) -> EstimateSpec:
    return EstimateSpec(
        statistic=value["stream_time"],
        percentile=float(value["percentile"]),
        ascending=value["ascending"],
        sample_rows=value["sample_rows"],
        max_window=value["max_window"],
        sample_us=value["sample_time"],
        memory_us=value["memory"],
    )
