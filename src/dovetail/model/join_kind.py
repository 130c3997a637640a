"""What kinds of joins there are. A join is of exactly one kind, and says here what its kind means to others.

    IntervalJoin    equal keys, event times within bounds of each other
    WindowedJoin    equal keys, both rows in one tumbling, hopping or session window
    ThetaJoin       any condition, within bounds of event time or among the last rows

These are values: planner, coordinator and tasks read them. What a kind does is in `dovetail.joins`, one
package for each, with the same verbs (`joins/kinds.py`). A new kind is a class here and a package there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec, JoinType, Match, Pick
from dovetail.model.offset import ENDED, NEVER, JoinOffset
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import Expression, Theta, dealt_sides, expression_from_json, expression_to_json
from dovetail.model.window_join import WindowJoin

MOST_TASKS = 64
"""That can be asked for while a join runs; also of a join without keys, which has no buckets to share out."""
_LOWEST = -(2**62)


class Since(NamedTuple):
    """Rows at or after these event times may still be needed."""

    left_us: int
    right_us: int


class LastRows(NamedTuple):
    """The last rows of each side may still be needed."""

    left: int
    right: int


class Apart(NamedTuple):
    """A right row is at most this long before and after its left partner."""

    before_us: int
    after_us: int


class Fixed(NamedTuple):
    """A part of a join's configuration without which its state means nothing, and why that is so."""

    part: tuple[object, ...] = ()
    because: str = ""


class _Kind:
    """What holds for a kind that does not say otherwise."""

    @property
    def dealt(self) -> tuple[Side, ...] | None:
        """Whose rows tasks share by row number; None: tasks share buckets of keys."""
        return None

    @property
    def splits_keys(self) -> bool:
        """Rows of one key may be spread over tasks."""
        return True

    @property
    def keeps_turns(self) -> bool:
        """The offset records in which order commits of the two sides entered."""
        return False

    @property
    def by_rows(self) -> bool:
        """The side of which fewer rows have entered goes first, whatever the event times are."""
        return False

    @property
    def in_order(self) -> bool:
        """What a task puts out is in an order that must be kept."""
        return False

    def most_tasks(self, buckets: int) -> int:
        """More tasks would have nothing to do, or could not keep the order."""
        return buckets

    @property
    def apart(self) -> Apart | None:
        """How far the times of two partners may be apart; None: any distance."""
        return None

    @property
    def windows(self) -> WindowJoin | None:
        """The windows that two partners share; None: each left row has a window of its own."""
        return None

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """What the join itself decides about a pair, besides keys and times."""
        return ()

    @property
    def reads_left(self) -> bool:
        """The state's left rows come from the log: nothing depends on what they have met, and so that is not
        kept."""
        return False

    @property
    def fixed(self) -> Fixed:
        """What a change of the join cannot change if its state is to be kept."""
        return Fixed()


@dataclass(frozen=True)
class IntervalJoin(_Kind):
    spec: IntervalSpec

    @property
    def noun(self) -> str:
        return "a join with bounds of event time"

    @property
    def how(self) -> JoinType:
        return self.spec.how

    @property
    def state_spec(self) -> IntervalSpec:
        return self.spec

    @property
    def paced_after_us(self) -> int:
        """How far pacing lets the right stream be ahead of the left one."""
        return self.spec.after_us

    @property
    def apart(self) -> Apart | None:
        return Apart(self.spec.before_us, self.spec.after_us)

    def needed(self, at: JoinOffset) -> Since | LastRows:
        """What the state at an offset may still need from the log."""
        return needed_since(self.spec, at)


@dataclass(frozen=True)
class WindowedJoin(_Kind):
    """With match one, a left row has at most one partner in each of its windows, picked when that is over."""

    how: JoinType
    window: WindowJoin
    match: Match = "all"
    pick: Pick = "first"
    picked_by: Expression | None = None

    def __post_init__(self) -> None:
        if self.match == "one" and self.window.emit == "eager":
            raise PlanError(
                'a partner is picked when the window is over: match = "one" cannot be eager', expected="lazy"
            )

    @property
    def noun(self) -> str:
        return f"a join in {self.window.shape} windows"

    @property
    def windows(self) -> WindowJoin | None:
        return self.window

    @property
    def fixed(self) -> Fixed:
        window = self.window
        part = window.shape, window.length_us, window.every_us, window.longest_us
        return Fixed(part, "windows of another shape or size hold other rows together")

    @property
    def spec(self) -> IntervalSpec:
        """Rows that share a window are less than its length apart."""
        length_us = self.window.length_us
        return IntervalSpec(length_us, length_us, self.how, self.match, self.pick, picked_by=self.picked_by)

    @property
    def state_spec(self) -> IntervalSpec:
        """What join state is made for. Nothing is picked before a window is over, so no picks are kept."""
        return IntervalSpec(self.window.length_us, self.window.length_us, self.how)

    @property
    def splits_keys(self) -> bool:
        """A session consists of all rows of its key: they stay together."""
        return not self.window.is_session

    @property
    def paced_after_us(self) -> int:
        """Both sides see the same window end."""
        return 0

    @property
    def apart(self) -> Apart | None:
        """Rows of a tumbling or hopping window; a session may last longer than its gap."""
        length_us = self.window.length_us
        return None if self.window.is_session else Apart(length_us, length_us)

    def needed(self, at: JoinOffset) -> Since | LastRows:
        since = ENDED if at.ended else self.window.needed_since(at.left_time, at.right_time)
        return Since(since, since)


@dataclass(frozen=True)
class ThetaJoin(_Kind):
    """`spec` has bounds of event time unless `theta` counts rows."""

    spec: IntervalSpec
    theta: Theta

    def __post_init__(self) -> None:
        spec = self.spec
        if self.theta.rows is not None and (spec.before_us or spec.after_us):
            raise PlanError(
                "a window that counts rows has no bounds of event time",
                expected="left_rows and right_rows, or event times within bounds, not both",
            )
        if spec.left_cap is not None or spec.right_cap is not None:
            raise PlanError("a join without an equality has no caps", expected="no left_cap and no right_cap")

    @property
    def how(self) -> JoinType:
        return self.spec.how

    @property
    def state_spec(self) -> IntervalSpec:
        return self.spec

    @property
    def noun(self) -> str:
        return "a join without an equality"

    @property
    def conditions(self) -> tuple[Expression, ...]:
        return self.theta.conditions

    @property
    def reads_left(self) -> bool:
        return self.dealt == SIDES

    @property
    def fixed(self) -> Fixed:
        return Fixed((self.by_rows,), "a window of event time and one that counts rows hold different rows")

    @property
    def dealt(self) -> tuple[Side, ...] | None:
        return dealt_sides(self.spec.how, self.spec.match)

    @property
    def splits_keys(self) -> bool:
        return False  # there are none

    @property
    def keeps_turns(self) -> bool:
        return True

    @property
    def by_rows(self) -> bool:
        return self.theta.rows is not None

    @property
    def in_order(self) -> bool:
        return self.theta.order != "none"

    @property
    def paced_after_us(self) -> int:
        return self.spec.after_us

    @property
    def apart(self) -> Apart | None:
        return None if self.theta.rows is not None else Apart(self.spec.before_us, self.spec.after_us)

    def most_tasks(self, buckets: int) -> int:
        """Where lone rows of both sides come out, all left rows must be seen where a right row is, and all
        right rows where a left row is."""
        return 1 if self.theta.order == "step" or self.spec.keeps_right else MOST_TASKS

    def needed(self, at: JoinOffset) -> Since | LastRows:
        rows = self.theta.rows
        if rows is None:
            return needed_since(self.spec, at)
        return LastRows(0, 0) if at.ended else LastRows(rows.left_rows, rows.right_rows)


JoinKind = IntervalJoin | WindowedJoin | ThetaJoin


def needed_since(spec: IntervalSpec, at: JoinOffset) -> Since:
    """Event times from which on left and right rows may still be needed at an offset.

    The right bound reaches back to partners that open left rows may have chosen already (deferred picks).
    """
    if at.ended:
        return Since(ENDED, ENDED)
    open_since = max(_LOWEST, at.right_time) - spec.after_us
    retained_since = max(_LOWEST, at.left_time) - spec.before_us
    if spec.defers_pick:
        retained_since = min(retained_since, open_since - spec.before_us)
    return Since(open_since, retained_since)


def promised_times(kind: JoinKind, at: JoinOffset) -> tuple[int, int] | None:
    """No row that a join puts out after this offset has a left or a right time below these, unless it was
    late. Such a row is either new, and at or above its stream's time, or held, and then it is one that the
    state still needs. None: rows are held by their number, however old they are."""
    needed = kind.needed(at)
    if isinstance(needed, LastRows):
        return None
    # After an end the streams start over, at any time.
    left_time, right_time = at.times
    if NEVER in (left_time, right_time):
        return NEVER, NEVER
    return min(left_time, needed.left_us), min(right_time, needed.right_us)


def kind_to_json(kind: JoinKind) -> dict[str, Any]:
    match kind:
        case IntervalJoin(spec):
            return {"kind": "interval", "spec": spec.to_json()}
        case WindowedJoin(how, window, match, pick, by):
            said = {"kind": "windowed", "how": how, "window": asdict(window)}
            one = [pick, None if by is None else expression_to_json(by)]
            return said if match == "all" else {**said, "one": one}
        case ThetaJoin(spec, theta):
            return {"kind": "theta", "spec": spec.to_json(), "theta": theta.to_json()}


def kind_from_json(said: dict[str, Any]) -> JoinKind:
    match said["kind"]:
        case "interval":
            return IntervalJoin(IntervalSpec.from_json(said["spec"]))
        case "windowed":
            window = WindowJoin(**said["window"])
            if "one" not in said:
                return WindowedJoin(said["how"], window)
            pick, by = said["one"]
            by = None if by is None else expression_from_json(by)
            return WindowedJoin(said["how"], window, "one", pick, by)
        case "theta":
            return ThetaJoin(IntervalSpec.from_json(said["spec"]), Theta.from_json(said["theta"]))
        case other:
            raise ValueError(f"{other!r} is not a kind of join")
