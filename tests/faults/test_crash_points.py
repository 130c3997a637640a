"""A process that dies at any point of any file operation, and is started again: no row lost, none twice."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import theta_oracle
import windows_oracle
from dovetail.crash_points import VARIABLE
from dovetail.service.torture import nursery, points, quick_join
from dovetail.service.torture.modes import KINDS, Kind
from dovetail.service.torture.oracle import Row
from dovetail.service.torture.quick_kinds import kind_of
from dovetail.service.torture.workload import (
    AFTER,
    BEFORE,
    EVERY,
    GAP,
    LEFT_ROWS,
    LENGTH,
    LONGEST,
    RIGHT_ROWS,
    Workload,
)
from oracle import ENDED, batch_join

POINTS = points.named(points.QUICK)
FITS = {"near": lambda a, b: abs(a - b) <= 1, "next": lambda a, b: abs(a - b) in (1, 2)}


def started(home: Path, seed: int, crash: str | None) -> int:
    process = nursery.start(
        quick_join.run,
        (home, home / "index", seed),
        {VARIABLE: crash} if crash else {},
        home.with_suffix(".txt"),
    )
    process.join(300)
    assert process.exitcode is not None
    return process.exitcode


@pytest.mark.parametrize("kind", KINDS)
def test_the_two_oracles_agree(kind: Kind) -> None:
    for seed in range(4 if kind == "theta by rows" else 20):
        made = quick_join.quick_workload(seed, (kind,))
        mode, turns = made.mode, quick_join.quick_turns(made)
        found = made.expected(turns)
        assert len(found) > 50 or mode.how in ("semi", "anti"), (seed, mode)
        assert found == Counter(witness(made)), (seed, mode)


def witness(made: Workload) -> list:
    """What the oracles of the tests say."""
    mode, spec = made.mode, kind_of(made.mode).spec
    how = spec.how, spec.match, spec.pick
    if mode.kind == "interval":
        return batch_join(made.left, made.right, BEFORE, AFTER, *how)
    if mode.windowed:
        windows = {"tumbling": (LENGTH,), "hopping": (LENGTH, EVERY), "session": (GAP, LONGEST)}
        window = (mode.kind, *windows[mode.kind])
        return windows_oracle.batch_join(made.left, made.right, window, mode.how)
    if mode.kind == "theta":
        steps = [(lettered(made.left), lettered(made.right), (ENDED, ENDED))]
        (rows,) = theta_oracle.timed_join(steps, FITS[mode.condition], BEFORE, AFTER, *how)
        return rows
    turns = [(side, lettered(rows)) for side, rows in quick_join.quick_turns(made)]
    (rows,) = theta_oracle.counted_join(
        [(turns, True)], FITS[mode.condition], LEFT_ROWS, RIGHT_ROWS, *how[:2]
    )
    return rows


def lettered(rows: Sequence[Row]) -> list:
    """With numbers for letters."""
    return [(key and ord(key), *rest) for key, *rest in rows]


OTHERS: list[Kind] = [kind for kind in KINDS if kind != "interval"]
OTHER_POINTS = [point for point in POINTS if not point.startswith(("category", "rejected", "dictionary"))]


@pytest.mark.parametrize("point", OTHER_POINTS)
def test_a_join_of_another_kind_killed_at_a_point_and_started_again(tmp_path: Path, point: str) -> None:
    seed = OTHER_POINTS.index(point)
    kind = OTHERS[seed % len(OTHERS)]
    while quick_join.quick_workload(seed).mode.kind != kind or quick_join.is_wide(seed):
        seed += 100
    home = tmp_path / "home"
    code = started(home, seed, f"{point}:{1 if points.seldom(point) else 2}")
    assert code == -signal.SIGKILL, (seed, (tmp_path / "home.txt").read_text())
    assert started(home, seed, None) == 0, (seed, (tmp_path / "home.txt").read_text())
    assert Counter(quick_join.put_out(home)) == quick_join.quick_expected(seed), seed


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_point_and_started_again(tmp_path: Path, point: str) -> None:
    """Twice, early and later; then to the end."""
    seed = POINTS.index(point)
    while point.startswith("dictionary") and not quick_join.is_wide(seed):
        seed += 1
    home, kills = tmp_path / "home", 0
    for passing in (1 + seed % 2, 3 + seed % 5) if not points.seldom(point) else (1, 2):
        code = started(home, seed, f"{point}:{passing}")
        assert code in (0, -signal.SIGKILL), (seed, (tmp_path / "home.txt").read_text())
        kills += code != 0
    assert kills, f"nobody passes {point}, seed {seed}"
    assert started(home, seed, None) == 0, (seed, (tmp_path / "home.txt").read_text())
    assert Counter(quick_join.put_out(home)) == quick_join.quick_expected(seed), seed
