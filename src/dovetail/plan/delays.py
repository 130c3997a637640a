"""How late results come out, what is held for how long, and who waits for whom: over the graph of a plan.

All in event time. With delays D_l and D_r of the two streams and right rows from `before` to `after` the left
row:

    a left row        is there D_l after its time at the latest, and its last partner after + D_r
    a pair, or a left row alone    comes out max(D_l, after + D_r) after the left row's time
    a pair, or a right row alone   comes out max(D_r, before + D_l) after the right row's time

Within windows a row waits for the end of its window, and then for both streams. Where one join reads another,
the delay of the upper one's stream is that of the lower one's results: delays add up along a chain. A side
that inherits its time waits for them, one that does not may give them up. A part that the join learns as it
runs (`stream_time = "percentile"` or `"mean"`, `pacing`) is not known here.

The times of a join's result are taken to be those of its windows: how far any other column is from them, the
plan does not say.

`_stream` alone says what the delay of a stream is, from its settings and from what feeds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dovetail.model.share import Side
from dovetail.plan.build import written_category
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import JoinStage, Plan, ScribeSource, SlicerStage
from dovetail.plan.projection import plain_projection


@dataclass(frozen=True)
class Delay:
    """`learned`: and what the join learns about its streams, in addition."""

    us: int
    learned: bool = False

    def after(self, us: int) -> Delay:
        return Delay(max(0, self.us + us), self.learned)

    def words(self) -> str:
        if not self.learned:
            return words(self.us)
        return f"a learned delay + {words(self.us)}" if self.us else "a learned delay"


def worst(*delays: Delay) -> Delay:
    return Delay(max(delay.us for delay in delays), any(delay.learned for delay in delays))


@dataclass(frozen=True)
class JoinDelays:
    """`pairs` and `left_alone` count from the left row's time, `right_alone` from the right row's. None: such
    rows do not come out. `counted`: the window counts rows, and time plays no part."""

    pairs: Delay | None
    left_alone: Delay | None
    right_alone: Delay | None
    left_held: Delay
    right_held: Delay
    waits_for: tuple[str, ...]
    late: tuple[tuple[Side, Delay, Delay], ...] = ()  # sides that come later than the join expects
    pairs_from_right: Delay = Delay(0)  # pairs, counted from the right row's time
    counted: bool = False
    span_us: int = 0  # how far apart the event times in one row may be

    def lines(self) -> list[str]:
        lines = []
        if not self.counted:
            said = [
                f"{what} {delay.words()}"
                for what, delay in (
                    ("pairs", self.pairs),
                    ("left rows alone", self.left_alone),
                    ("right rows alone", self.right_alone),
                )
                if delay is not None
            ]
            lines.append(f"out at most {', '.join(said)} after their time")
            lines.append(f"holds left rows {self.left_held.words()}, right rows {self.right_held.words()}")
        lines.append(f"waits for {', '.join(self.waits_for)}")
        return lines


def delays(plan: Plan) -> dict[str, JoinDelays]:
    """By join. Stages are in the order of the data, so what feeds a join is known before it."""
    found: dict[str, JoinDelays] = {}
    for stage in plan.joins:
        found[stage.name] = _of(plan, stage, found)
    return found


def late_warnings(plan: Plan) -> Iterator[str]:
    """Joins that give up rows of a join below before that lets them out."""
    for name, join in delays(plan).items():
        for side, comes, expected in join.late:
            yield (
                f"join `{name}`: rows of its {side} side come out of the join below up to {comes.words()} "
                f"after their time, but {side}_max_delay is {expected.words()}; later ones are late. "
                f"Write WITH ({side}_max_delay = INTERVAL '{words(comes.us)}')"
            )


def _of(plan: Plan, stage: JoinStage, found: dict[str, JoinDelays]) -> JoinDelays:
    left, right = _stream(plan, stage, "left", found), _stream(plan, stage, "right", found)
    kind = stage.join_kind
    if (window := kind.windows) is not None:
        length_us = window.longest_us + window.length_us if window.is_session else window.length_us
        closes = worst(left, right).after(length_us)
        pairs, left_alone, right_alone, held = closes, closes, closes, (closes, closes)
        apart_us = length_us
        from_right = closes
        if window.emit == "eager":
            pairs, from_right = worst(left, right.after(length_us)), worst(right, left.after(length_us))
    else:
        pairs = left_alone = worst(left, right.after(kind.spec.after_us))
        right_alone = from_right = worst(right, left.after(kind.spec.before_us))
        if kind.spec.match == "one" and kind.spec.pick != "first":  # chosen when the left row's window closes
            from_right = worst(from_right, right.after(kind.spec.before_us + kind.spec.after_us))
        held = right.after(kind.spec.after_us), left.after(kind.spec.before_us)
        apart_us = max(abs(kind.spec.before_us), abs(kind.spec.after_us))
    how = kind.how
    late: list[tuple[Side, Delay, Delay]] = []
    for side in SIDES:
        comes, expected = _upstream(plan, stage, side, found), _expected(stage, side)
        if (
            comes is not None
            and not _inherits(stage, side)
            and not comes.learned
            and not expected.learned
            and comes.us > expected.us
        ):
            late.append((side, comes, expected))
    return JoinDelays(
        pairs=None if how == "anti" else pairs,
        left_alone=left_alone if how in ("left", "full", "anti") else None,
        right_alone=right_alone if how in ("right", "full") else None,
        left_held=held[0],
        right_held=held[1],
        waits_for=tuple(dict.fromkeys(name for side in SIDES for name in _feeds(plan, stage, side))),
        late=tuple(late),
        pairs_from_right=from_right,
        counted=kind.by_rows,
        span_us=apart_us
        + sum(found[join.name].span_us for side in SIDES for _, join in _joins_below(plan, stage, side)),
    )


SIDES: tuple[Side, Side] = ("left", "right")


def _stream(plan: Plan, stage: JoinStage, side: Side, found: dict[str, JoinDelays]) -> Delay:
    """How long after their time rows of a side are there: what the join expects, or what feeds it implies."""
    upstream = _upstream(plan, stage, side, found)
    expected = _expected(stage, side)
    if upstream is None:
        return expected
    return upstream if _inherits(stage, side) else worst(expected, upstream)


def _inherits(stage: JoinStage, side: Side) -> bool:
    """The side's time is what feeds it promises: its rows are waited for as long as they take."""
    settings = stage.settings
    return settings.left_inherits if side == "left" else settings.right_inherits


def _expected(stage: JoinStage, side: Side) -> Delay:
    settings = stage.settings
    if settings.estimate is not None or settings.pacing is not None:
        return Delay(0, learned=True)
    return Delay(settings.left_max_delay_us if side == "left" else settings.right_max_delay_us)


def _upstream(plan: Plan, stage: JoinStage, side: Side, found: dict[str, JoinDelays]) -> Delay | None:
    """The delay of the joins that feed a side; None if none does."""
    known = []
    for slicer, join in _joins_below(plan, stage, side):
        below, of = found[join.name], _time_of(plan, slicer, join)
        if of == "left":
            outs = [below.pairs, below.left_alone]
        elif of == "right":
            outs = [below.pairs_from_right, below.right_alone]
        else:  # any time in the row: as far from the join's own as times in it can be
            every = (below.pairs, below.left_alone, below.right_alone)
            outs = [delay.after(below.span_us) for delay in every if delay is not None]
        known += [delay for delay in outs if delay is not None]
    return worst(*known) if known else None


def _time_of(plan: Plan, slicer: SlicerStage | None, join: JoinStage) -> Side | None:
    """The side of the lower join whose own time the upper one takes, where plain columns show it."""
    taken, made = plain_projection(slicer) if slicer else {"_time": "_time"}, plain_projection(join)
    name = (made or {}).get((taken or {}).get("_time", ""))
    column = next((c for c in join.columns if c.name == name), None)
    for side in SIDES:
        if column is not None and column.side == side:
            sliced = [plain_projection(below) for below in _writers(plan, join, side)]
            if sliced and all(one and one["_time"] == one.get(column.source) for one in sliced):
                return side
    return None


def _writers(plan: Plan, stage: JoinStage, side: Side) -> list[SlicerStage | JoinStage]:
    """The stages that slice a side of a join."""
    category = stage.left if side == "left" else stage.right
    writers: list[SlicerStage | JoinStage] = [*plan.slicers, *plan.joins]
    return [writer for writer in writers if written_category(writer) == category]


def _joins_below(plan: Plan, stage: JoinStage, side: Side) -> Iterator[tuple[SlicerStage | None, JoinStage]]:
    """The joins that feed a side, each with the slicer between; None: the join slices its rows itself."""
    for writer in _writers(plan, stage, side):
        if isinstance(writer, JoinStage):
            yield None, writer
            continue
        for table in writer.inputs:
            for join in plan.joins:
                if isinstance(table.source, ScribeSource) and written_category(join) == table.source.category:
                    yield writer, join


def _feeds(plan: Plan, stage: JoinStage, side: Side) -> list[str]:
    """The input tables and joins whose rows a side takes."""
    return [
        name
        for writer in _writers(plan, stage, side)
        for name in ([writer.name] if isinstance(writer, JoinStage) else [t.name for t in writer.inputs])
    ]
