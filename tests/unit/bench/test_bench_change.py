"""`bench change`: what its figures are made of."""

from __future__ import annotations

import itertools

import pytest
from bench import change_check, change_diff
from bench.change import CHANGES, Pause, Planned, pause_ratios, pauses_of, step_time, text_of

from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql

SECOND = 1_000_000


def test_a_pause_ends_with_the_first_step_that_takes_rows() -> None:
    at = [(1, 0, True), (2, 1, True), (3, 2, True), (4, 4, False), (5, 6, True), (6, 7, True)]
    steps = [Planned(step, second * SECOND, takes) for step, second, takes in at]
    assert pauses_of(steps, [3]) == [4.0]
    assert pauses_of(steps, [3, 6]) == [4.0], "nothing came after the last change"
    assert step_time(steps, [3]) == 1.0


def test_what_is_lost_is_the_pause_without_the_step_that_would_have_been_there() -> None:
    pauses = [Pause(CHANGES[0], 3.0, 1.5), Pause(CHANGES[0], 5.0, 2.5), Pause(CHANGES[1], 1.0, 0.5)]
    found = pause_ratios(2.0, pauses)
    assert [(one.took_s, one.ratio) for one in found] == [(2.0, 1.0), (0.0, 0.0)]


@pytest.mark.parametrize("lines", [1, 200])
def test_the_application_that_is_compared_has_as_many_lines(lines: int) -> None:
    text = change_diff.text_of(lines)
    assert lines <= text.count("\n") < lines + 30
    assert compile_pql(text) != compile_pql(change_diff.changed(text))


def test_the_application_that_is_checked_has_mistakes_of_both_kinds() -> None:
    text = change_diff.text_of(50)
    assert check(text).ok
    found = "\n".join(map(str, check(change_check.mistaken(text)).errors))
    assert "COALESCEE" in found
    assert "date_add" in found


def test_each_change_of_a_round_is_one_and_the_last_goes_back() -> None:
    first = "SELECT left_eventtime, x BETWEEN t - INTERVAL '60 seconds'"
    texts = [first, *(text_of(first, number) for number in range(len(CHANGES)))]
    assert all(one != other for one, other in itertools.pairwise(texts))
    assert texts[-1] == first


def test_the_real_query_is_changed() -> None:

    from pathlib import Path

    from bench.change import WINDOW_US
    from bench.dovetail_run import query
    from bench.workload import Dataset, Workload

    first = query(Dataset(Workload(rows=100, seed=1), Path("files"), SECOND), WINDOW_US)
    assert "SELECT 1 AS one, left_eventtime" in text_of(first, 0)
    assert "120" in text_of(first, 2).replace("120 seconds", "120")
    assert text_of(first, 2) != first
