"""`bench sliding` reads results as they come: a join refuses rows when too many results are unread."""

from __future__ import annotations

import pytest
from bench import sliding_rates
from bench.sliding_rates import Case

from dovetail.errors import RunError


@pytest.mark.parametrize("cores", [1, 2])
def test_a_punctuation_for_each_row_of_the_window_stays_within_what_may_be_unread(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sliding_rates, "MOST_UNREAD", 1 << 16)
    case = Case(cores=cores, window=1 << 10, order="inner", group=1, batch=32, seconds=0.01)
    assert sliding_rates.measured(case).taken_rows_per_s > 0


def test_a_refusal_for_another_reason_is_not_taken_for_results_to_read() -> None:
    with sliding_rates.made(Case(design="kang", window=100)) as join:
        join.failures[0] = ValueError("the core broke")
        with pytest.raises(RunError, match="the core broke"):
            sliding_rates.fill(join, Case(window=100))
