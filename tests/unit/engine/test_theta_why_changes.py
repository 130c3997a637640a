"""`why` follows a row of a join without an equality through changes: of bounds, type, picks and condition."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.joins.theta.fate import ThetaFate
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.theta import Theta
from laws.theta import band, counting
from unit.engine.stepping import Driven

NEAR, FAR = Theta((band(0, 1),)), Theta((band(-3, 3),))


def timed(before: int, after: int, how: str, *match: str, theta: Theta = FAR) -> ThetaJoin:
    return ThetaJoin(IntervalSpec(before, after, how, *match), theta)  # type: ignore[arg-type]


def counted(left: int, right: int, how: str, theta: Theta = FAR) -> ThetaJoin:
    return ThetaJoin(IntervalSpec(0, 0, how), counting(theta, left, right))  # type: ignore[arg-type]


CHANGES = {
    "inner, wider": [timed(5, 5, "inner"), timed(30, 20, "inner")],
    "left, wider": [timed(5, 5, "left"), timed(30, 20, "left")],
    "left, narrower": [timed(30, 20, "left"), timed(5, 5, "left")],
    "inner becomes left": [timed(20, 20, "inner"), timed(20, 20, "left")],
    "left becomes inner, and wider": [timed(10, 20, "left"), timed(30, 30, "inner")],
    "one becomes all pairs": [timed(20, 30, "left", "one", "first"), timed(20, 30, "inner")],
    "the nearest, then the latest": [
        timed(20, 30, "left", "one", "nearest"),
        timed(20, 30, "left", "one", "latest"),
    ],
    "left becomes full, and back": [timed(20, 30, "left"), timed(20, 30, "full"), timed(20, 30, "left")],
    "semi becomes left": [timed(20, 30, "semi"), timed(25, 30, "left")],
    "another condition": [timed(20, 20, "left", theta=NEAR), timed(30, 20, "left", theta=FAR)],
    "and back": [
        timed(20, 20, "inner", theta=NEAR),
        timed(30, 20, "left"),
        timed(20, 20, "inner", theta=NEAR),
    ],
    "more rows are counted": [counted(3, 3, "left"), counted(9, 9, "left")],
    "fewer rows are counted": [counted(9, 9, "inner"), counted(3, 4, "left", NEAR)],
}


@pytest.mark.parametrize("kinds", CHANGES.values(), ids=CHANGES)
def test_each_match_is_named_with_its_step(tmp_path: Path, kinds: list[ThetaJoin]) -> None:
    rng = random.Random(1)
    join = Driven.make(tmp_path, kinds[0])
    now, changed_in = 0, set()
    for kind in kinds:
        if kind is not kinds[0]:
            join.config = replace(join.config, join_kind=kind, query=join.config.query + 1)
            join.step()
            changed_in.add(join.offset.step)
        for _ in range(4):
            for side in ("left", "right"):
                rows = [(rng.randrange(6), max(0, now + rng.randrange(-15, 6))) for _ in range(3)]
                join.append(side, *rows)
            now += 6
            join.step()
    pairs = {row for row in join.out if None not in row}
    lone = {(row[0], row[1]) for row in join.out if row[2] is None}
    said, alone = set(), set()
    for number in range(join.rows("left")):
        (fate,) = join.why_row(number).fates
        assert isinstance(fate, ThetaFate)
        assert not fate.doubts
        said |= {(match.at.step, number, match.right.values["id"]) for match in fate.matches}
        if fate.status == "unmatched" and kind_in(kinds, fate.closed.step).spec.keeps_left:  # type: ignore[union-attr]
            alone.add((fate.closed.step, number))  # type: ignore[union-attr]
    # Of a semi join only the left row comes out.
    shown = {row for row in said if kind_in(kinds, row[0]).spec.emits_pairs}
    assert shown == pairs
    assert alone <= lone
    assert any(row[0] > max(changed_in) for row in pairs)


def kind_in(kinds: list[ThetaJoin], step: int) -> ThetaJoin:
    """Four steps by each, and one for each change."""
    return kinds[step // 5]
