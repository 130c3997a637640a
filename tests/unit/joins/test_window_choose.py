"""The paper's tree, leaf by leaf, and the facts it rests on."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dovetail.intra_window.choose import (
    SAMPLE_ROWS,
    SideFacts,
    StreamFacts,
    chosen,
    facts_at_rest,
    side_facts,
    tree,
)


def facts(
    rates: tuple[float, float], duplicates: float, rows: int, top: float = 0.0, cores: int = 2
) -> StreamFacts:
    left, right = (SideFacts(rows // 2, rate, duplicates, top) for rate in rates)
    return StreamFacts(left, right, cores)


@pytest.mark.parametrize(
    ("rates", "duplicates", "rows", "top", "cores", "wish", "leaf", "reason"),
    [
        ((100, 9e9), 1, 10_000, 0.0, 2, "throughput", "shj_jm", "one stream is slow"),
        ((inf, 61), 68, 10_000, 0.0, 2, "latency", "shj_jm", "one stream is slow"),
        ((3000, 3000), 100, 6_000_000, 0.0, 2, "throughput", "pmj_jb", "many duplicates"),
        ((3000, 3000), 1, 6_000_000, 0.0, 2, "latency", "shj_jm", "latency counts most"),
        ((3000, 3000), 1, 6_000_000, 0.0, 2, "progress", "shj_jm", "progress counts most"),
        ((3000, 3000), 1, 6_000_000, 0.0, 2, "throughput", "prj", "throughput counts most"),
        ((9000, 9000), 100, 6_000_000, 0.0, 2, "latency", "mway", "cores are few"),
        ((90_000, 90_000), 100, 6_000_000, 0.0, 16, "latency", "mpass", "16 cores are many"),
        ((inf, inf), 1, 6_000_000, 0.0, 2, "throughput", "prj", "no key is hot"),
        ((inf, inf), 1, 6_000_000, 0.3, 2, "throughput", "npj", "one key has 30%"),
        ((inf, inf), 1, 6_000, 0.0, 2, "throughput", "npj", "rows are few"),
    ],
)
def test_leaves(rates, duplicates, rows, top, cores, wish, leaf, reason):
    choice = tree(facts(rates, duplicates, rows, top, cores), wish)
    assert choice.algorithm == leaf
    assert reason in str(choice)


@pytest.mark.parametrize("duplicates", [1, 10, 100, 1000])
def test_duplication_is_told_from_a_sample(duplicates: int) -> None:
    rows = 1_000_000
    keys = (np.random.default_rng(4).permutation(rows) // duplicates).astype(np.int32)
    found = side_facts(keys, 1000.0)
    assert duplicates / 2 <= found.duplicates <= 2 * duplicates + 8, found
    assert found.rate_per_ms == 1000


def test_a_hot_key_is_seen() -> None:
    keys = np.random.default_rng(5).permutation(1_000_000)
    keys[keys < 200_000] = 7
    assert side_facts(keys, None).top_share == pytest.approx(0.2, abs=0.03)
    assert side_facts(keys, None).rate_per_ms == inf


class Counted(np.ndarray):
    """Counts the elements that are read by fancy indexing."""

    read = 0

    def __getitem__(self, at):  # type: ignore[override]
        found = super().__getitem__(at)
        Counted.read += np.size(found)
        return np.asarray(found)


def test_no_more_than_a_sample_is_read() -> None:
    keys = np.arange(1_000_000).view(Counted)
    Counted.read = 0
    side_facts(keys, None)
    assert 0 < Counted.read <= SAMPLE_ROWS


def test_small_and_empty_sides() -> None:
    assert side_facts(np.empty(0, np.int32), None) == SideFacts(0, 0.0, 1.0, 0.0)
    small = side_facts(np.array([1, 1, 2], np.int32), 3.0)
    assert (small.rows, small.rate_per_ms, small.duplicates) == (3, 1.0, pytest.approx(5 / 3))
    nothing = np.empty(0, np.int32)
    assert tree(facts_at_rest(nothing, nothing, 1)).algorithm == chosen("auto", nothing, nothing, 1)
