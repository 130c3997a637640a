"""A process that dies at any point of any file operation, and is started again: no row lost, none twice."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from dovetail.crash_points import VARIABLE
from dovetail.service.torture import nursery, points, quick_join
from dovetail.service.torture.workload import AFTER, BEFORE
from oracle import batch_join
from theta_oracle import batch_join as theta_join

POINTS = points.named(points.QUICK)


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


def test_the_two_oracles_agree() -> None:
    for seed in range(40):
        made = quick_join.quick_workload(seed)
        spec = quick_join.spec_of(made)
        if made.mode.theta and made.mode.pick is None:
            rows = [[(key and ord(key), *rest) for key, *rest in side] for side in (made.left, made.right)]
            witness = theta_join(*rows, lambda a, b: abs(a - b) <= 1, BEFORE, AFTER, spec.how)
            assert made.expected() == Counter(witness), seed
        if made.mode.theta:
            continue
        witness = batch_join(made.left, made.right, BEFORE, AFTER, spec.how, spec.match, spec.pick)
        assert made.expected() == Counter(witness), seed


THETA_POINTS = [point for point in POINTS if not point.startswith(("category", "rejected", "dictionary"))]


@pytest.mark.parametrize("point", THETA_POINTS)
def test_a_theta_join_killed_at_a_point_and_started_again(tmp_path: Path, point: str) -> None:
    seed = THETA_POINTS.index(point)
    while not quick_join.quick_workload(seed).mode.theta or quick_join.is_wide(seed):
        seed += 100
    home = tmp_path / "home"
    code = started(home, seed, f"{point}:{1 if points.seldom(point) else 2}")
    assert code == -signal.SIGKILL, (seed, (tmp_path / "home.txt").read_text())
    assert started(home, seed, None) == 0, (seed, (tmp_path / "home.txt").read_text())
    assert Counter(quick_join.put_out(home)) == quick_join.quick_workload(seed).expected(), seed


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
    assert Counter(quick_join.put_out(home)) == quick_join.quick_workload(seed).expected(), seed
