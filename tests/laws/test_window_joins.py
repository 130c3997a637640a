"""Every join within a window gives the pairs of the definition, on any number of threads and with any
knobs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oracle
from dovetail.errors import InputError, SettingError
from dovetail.intra_window.join import ALGORITHMS, match, pairs, summed
from dovetail.intra_window.knobs import Knobs
from dovetail.intra_window.memory import Memory
from laws.effort import examples
from window_keys import Shape, shapes

every = pytest.mark.parametrize("algorithm", ALGORITHMS)
small_knobs = st.builds(
    Knobs,
    radix_bits=st.sampled_from([None, 0, 1, 5]),
    sorting_step=st.sampled_from([0.05, 0.2, 1.0]),
    group_size=st.sampled_from([1, 2, 8]),
    router=st.booleans(),
    physical=st.booleans(),
    run_rows=st.sampled_from([1, 16, 1 << 17]),
    ways=st.sampled_from([1, 3, 4]),
    block_rows=st.sampled_from([1, 5, 64, 8192]),
    chunk_pairs=st.sampled_from([1, 7, 1 << 10]),
)


def sorted_pairs(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return sorted(zip(found[0].tolist(), found[1].tolist(), strict=True))


@every
@examples(usual=20, thorough=2000)
@given(shape=shapes, threads=st.integers(1, 8), knobs=small_knobs)
@example(Shape(0, 5, 1, 0.0, "dense", "int32", 0), 3, Knobs())
@example(Shape(5, 0, 1, 0.0, "dense", "int64", 0), 3, Knobs())
@example(Shape(0, 0, 1, 0.0, "dense", "uint64", 0), 1, Knobs())
@example(Shape(300, 300, 1, 0.0, "edges", "uint32", 0), 2, Knobs(chunk_pairs=7))
def test_pairs_of_the_definition(algorithm: str, shape: Shape, threads: int, knobs: Knobs) -> None:
    left, right = shape.draw()
    expected = oracle.window_pairs(left.tolist(), right.tolist())
    assert sorted_pairs(pairs(left, right, algorithm, threads, knobs)) == expected
    assert match(left, right, algorithm, threads, knobs) == len(expected)
    # In memory that the last join has left as it was.
    assert match(left, right, algorithm, threads, knobs, memory=USED) == len(expected)


USED = Memory(1 << 24)


def test_no_two_joins_have_the_same_memory_at_once() -> None:
    memory = Memory(1 << 20)
    with memory.lent() as one, memory.lent() as other:
        a, b, c = one.empty(1000, np.uint32), one.words(1000), other.words(1000)
        for number, array in enumerate((a, b, c)):
            array.fill(number)
        assert [set(array.tolist()) for array in (a, b, c)] == [{0}, {1}, {2}]
        assert all(array.ctypes.data % 64 == 0 for array in (a, b, c))
    assert 0 < memory.kept_bytes <= 1 << 20
    with memory.lent() as again:
        again.words(1000).fill(7)
        assert not again.zeros(1000, np.uint64).any()
    with memory.lent() as large:
        large.words(1 << 20)
    assert memory.kept_bytes <= 1 << 20, "more than it may keep"


@every
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("keys", "zipf"), [(200, 0.0), (200_000, 0.0), (5_000, 1.2)])
def test_count_and_checksum_on_larger_windows(algorithm: str, threads: int, keys: int, zipf: float) -> None:
    """200,000 rows a side, up to a thousand and more of a key: counts against NumPy, pairs against one
    another."""
    shape = Shape(200_000, 150_000, keys, zipf, "dense", "int32", seed=5)
    left, right = shape.draw()
    expected = int(np.bincount(left, minlength=keys) @ np.bincount(right, minlength=keys))
    assert match(left, right, algorithm, threads) == expected, shape
    if keys > 1000 and zipf == 0.0:
        assert summed(left, right, algorithm, threads) == summed(left, right, "npj", 1), shape


@every
def test_a_key_of_a_thousand_rows_a_side_among_others(algorithm: str) -> None:
    rng = np.random.default_rng(3)
    left = np.concatenate([np.full(1000, 77), rng.integers(0, 50_000, 20_000)]).astype(np.int64)
    right = np.concatenate([rng.integers(0, 50_000, 20_000), np.full(1000, 77)]).astype(np.int64)
    left_rows, right_rows = pairs(left, right, algorithm, 2, Knobs(chunk_pairs=999))
    assert (left[left_rows] == right[right_rows]).all()
    together = left_rows.astype(np.int64) * len(right) + right_rows
    assert len(np.unique(together)) == len(together)
    counted = np.bincount(left, minlength=50_000) @ np.bincount(right, minlength=50_000)
    assert len(together) == counted


@every
def test_wide_keys_that_collide_are_told_apart(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of 64 bits far apart are joined by a hash: with one that says the same of all keys, the pairs are
    still those of the keys."""
    from dovetail.intra_window import keys

    monkeypatch.setattr(keys, "hashed", lambda wide, start, stop, out: out[start:stop].fill(5))
    rng = np.random.default_rng(8)
    values = rng.integers(0, 1 << 63, 20, np.uint64)
    left, right = rng.choice(values, 300), rng.choice(values, 200)
    expected = oracle.window_pairs(left.tolist(), right.tolist())
    assert sorted_pairs(pairs(left, right, algorithm, 2)) == expected
    assert match(left, right, algorithm, 2) == len(expected)


def test_what_cannot_be_joined_is_refused() -> None:
    ints, longs = np.zeros(2, np.int32), np.zeros(2, np.int64)
    with pytest.raises(InputError, match="unlike types: int32 and int64") as error:
        match(ints, longs, "npj")
    assert "int64" in str(error.value.hint)
    for bad in (np.zeros(2), np.zeros(2, np.int16), np.zeros((2, 2), np.int32), np.array(["a"])):
        with pytest.raises(InputError, match="the right keys"):
            match(ints, bad, "npj")
    with pytest.raises(SettingError, match="no window join 'hash'"):
        match(ints, ints, "hash")
    for threads in (0, 65):
        with pytest.raises(SettingError, match=f"{threads} threads"):
            match(ints, ints, "npj", threads)


def test_knobs_out_of_range_are_refused() -> None:
    for bad in (
        {"radix_bits": 19},
        {"sorting_step": 0.0},
        {"group_size": 0},
        {"ways": 0},
        {"chunk_pairs": 0},
    ):
        with pytest.raises(SettingError, match=next(iter(bad))):
            Knobs(**bad)


@every
def test_an_error_of_a_thread_is_raised(algorithm: str) -> None:
    def refuse(thread: int, left: np.ndarray, right: np.ndarray, count: int) -> None:
        raise RuntimeError(f"thread {thread} will not")

    same = np.zeros(100, np.int32)
    with pytest.raises(RuntimeError, match="will not"):
        match(same, same, algorithm, 2, take=refuse)
