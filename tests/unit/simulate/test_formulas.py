"""The papers' formulas: worked by hand, and consistent with each other where one follows from another."""

from __future__ import annotations

import pytest

from dovetail.simulate import formulas


def test_equations_by_hand() -> None:
    assert formulas.low_latency_processing_ns(28, 100, hop=10, monitor=5, compare=2, collect=7) == (
        10 + 27 * 15 + 200 + 7
    )
    assert formulas.low_latency_visiting_ns(28, 100, hop=10, monitor=5, compare=2) == 10 + 13 * 15 + 100
    assert formulas.split_processing_paths_ns([[1, 2], [3, 4]], 10, compare=2, collect=5) == 7 + 20 + 5
    assert formulas.split_visiting_ns(16, 4, 100, hop=10, compare=2) == pytest.approx(20 + 100)
    assert formulas.handshake_visiting_s(900, 1) == 0
    assert formulas.handshake_visiting_s(900, 10) == 202.5


@pytest.mark.parametrize("cores", [1, 2, 3, 7])
def test_rows_that_walk_towards_each_other_meet_when_they_are_in_one_core(cores: int) -> None:
    """Reference: every pair, moved one place at a time until both are in the same segment."""
    segment = 20
    window = cores * segment
    walked = []
    for age in range(window):
        steps = 0
        while steps // segment < (window - 1 - age - steps) // segment:
            steps += 1
        walked.append(steps)
    assert formulas.handshake_visiting_s(window, cores) == pytest.approx(sum(walked) / window, abs=0.51)


def test_equation_3_gives_4_and_5_under_their_assumptions() -> None:
    k, b, w, hop, compare = 64, 4, 1000, 10.0, 2.0
    paths = [[hop] * 3 for _ in range(k)]
    third = formulas.split_processing_paths_ns(paths, w, compare, collect=hop * 6)
    fourth = formulas.split_processing_path_ns([hop] * k, k, b, w, compare, collect=hop * 6)
    assert third == pytest.approx(fourth)
    assert third == pytest.approx(formulas.split_processing_ns(k, b, 2, w, hop, compare))


def test_a5_of_the_earlier_handshake_paper() -> None:
    """100 cores and windows of 1,000: 10 cycles a row; 150 cores need 7."""
    assert formulas.lock_step_rows_per_s(100, 1000, 1000, 150e6) == 15e6
    assert formulas.lock_step_rows_per_s(150, 1000, 700, 140e6) == 20e6


@pytest.mark.parametrize(("k", "b", "depth"), [(1, 2, 0), (2, 2, 1), (28, 2, 5), (64, 4, 3), (65, 4, 4)])
def test_levels(k: int, b: int, depth: int) -> None:
    assert formulas.levels(k, b) == depth
