"""What a kind of join says about itself, and what holds where it says nothing.

A kind overrides what is different for it. Code that plans, paces, draws or changes a join asks here, and so
need not know which kinds there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.offset import ENDED, JoinOffset
from dovetail.model.share import Side
from dovetail.model.theta import CountWindow, Expression, Theta
from dovetail.model.window_join import Emit, WindowJoin

if TYPE_CHECKING:
    from dovetail.model.join_kind import JoinKind

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


class Kind:
    """What holds for a kind that does not say otherwise. Each has a noun, a type and a spec of its own."""

    tag: ClassVar[str]
    """Its name in JSON."""
    means: ClassVar[str]
    """What two partners have in common."""

    if TYPE_CHECKING:

        @property
        def noun(self) -> str: ...

        @property
        def how(self) -> JoinType: ...

        @property
        def spec(self) -> IntervalSpec: ...

    # ------------------------------------------------------------ what tasks and the coordinator ask

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
    def in_order(self) -> bool:
        """What a task puts out is in an order that must be kept."""
        return False

    @property
    def reads_left(self) -> bool:
        """The state's left rows come from the log: nothing depends on what they have met, and so that is not
        kept."""
        return False

    @property
    def state_spec(self) -> IntervalSpec:
        """What join state is made for."""
        return self.spec

    @property
    def paced_after_us(self) -> int:
        """How far pacing lets the right stream be ahead of the left one."""
        return self.spec.after_us

    def most_tasks(self, buckets: int) -> int:
        """More tasks would have nothing to do, or could not keep the order."""
        return buckets

    def needed(self, at: JoinOffset) -> Since | LastRows:
        """What the state at an offset may still need from the log."""
        return needed_since(self.spec, at)

    # ------------------------------------------------------------ which windows it has, one of these three

    @property
    def own_window(self) -> Apart | None:
        """The window of event time that each left row has of its own."""
        return None

    @property
    def windows(self) -> WindowJoin | None:
        """The windows that two partners share."""
        return None

    @property
    def counted(self) -> CountWindow | None:
        """The window, if it counts rows."""
        return None

    @property
    def by_rows(self) -> bool:
        """The side of which fewer rows have entered goes first, whatever the event times are."""
        return self.counted is not None

    @property
    def apart(self) -> Apart | None:
        """How far the times of two partners may be apart; None: any distance."""
        return self.own_window

    @property
    def held_us(self) -> int | None:
        """How long a row may be in use; None: that is no time, or no fixed one."""
        own = self.own_window
        return None if own is None else max(0, own.before_us + own.after_us)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Sizes of its window that a change of the query may move: event times in microseconds, or rows."""
        return {} if self.own_window is None else self.own_window._asdict()

    # ------------------------------------------------------------ what comes out, and when

    @property
    def condition(self) -> Theta | None:
        """What the join itself decides about a pair, besides keys and times."""
        return None

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The same, one by one."""
        return () if self.condition is None else self.condition.conditions

    @property
    def emit(self) -> Emit | None:
        """When pairs of shared windows come out."""
        return None if self.windows is None else self.windows.emit

    @property
    def lets_pairs_out(self) -> bool:
        """All pairs come out, and maybe rows that have no partner."""
        return self.spec.emits_pairs and self.spec.match == "all"

    @property
    def answers_late(self) -> bool:
        """Nothing comes out of a row before its window is over."""
        return self.how == "anti" or self.spec.defers_pick

    @property
    def answers_left_rows(self) -> bool:
        """It is known of each left row whether it has had an answer, and no right row has one."""
        return not self.spec.keeps_right

    @property
    def closing(self) -> tuple[object, ...]:
        """Two joins of which this is equal close their windows at the same times."""
        return self.spec.after_us, self.spec.keeps_right

    # ------------------------------------------------------------ what a change of the query may change

    @property
    def fixed(self) -> Fixed:
        """What a change of the join cannot change if its state is to be kept."""
        return Fixed()

    def resized(self, sizes: Mapping[str, int]) -> Self:
        """With other sizes; one that it does not have changes nothing."""
        raise NotImplementedError

    def letting_out(self, other: JoinKind) -> Self:
        """With type, picks, caps and emission of another join of its kind."""
        raise NotImplementedError

    def judging_as(self, other: JoinKind) -> Self:
        """With the condition of another join of its kind."""
        return self

    def capped(self, caps: Mapping[str, int]) -> Self:
        """With `left_cap` or `right_cap`, where it has them."""
        return self

    # ------------------------------------------------------------ how it is written down

    def said(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def read(cls, said: dict[str, Any]) -> Self:
        raise NotImplementedError


OUT = ("how", "match", "pick", "picked_by", "left_cap", "right_cap")
"""What of an `IntervalSpec` says what comes out."""


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
