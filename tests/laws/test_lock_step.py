"""The lock-step circuit: the pairs of the oracle over count windows, and the throughput of formula A.5."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
import sliding_oracle as oracle
from dovetail.errors import InputError, SettingError
from dovetail.model.sliding import Window
from dovetail.sliding.driver import Driver
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.lock_step import Chip, emulate
from dovetail.sliding.topology import SlidingJob
from laws.effort import examples

COLUMN = {"x": np.dtype(np.int32)}
ENCODING = Encoding(parsed("abs(left.x - right.x) <= 1"), COLUMN, COLUMN, "scan")


def stream(sides, keys):
    """Messages of rows on sides "l" and "r"."""
    rights = np.array([side == "r" for side in sides], bool)
    values = np.array(keys, np.int32)
    messages = np.zeros((len(rights), ENCODING.layout.words), np.int64)
    for side, which in (("left", ~rights), ("right", rights)):
        messages[which] = ENCODING.messages(side, {"x": values[which]}, None, which.sum())
    job = SlidingJob(ENCODING, Window(rows=1), Window(rows=1))
    Driver(job, wants_first=False).number(messages, np.arange(len(rights)))
    return messages


def expected(sides, keys, rows_r, rows_s):
    arrivals = [
        oracle.Arrival("left" if side == "l" else "right", n, {"x": key})
        for n, (side, key) in enumerate(zip(sides, keys, strict=True))
    ]

    def near(left, right):
        return abs(left["x"] - right["x"]) <= 1

    return sorted(oracle.pairs(arrivals, ("rows", rows_r), ("rows", rows_s), near))


@st.composite
def chips(draw):
    cores = draw(st.integers(1, 9))
    rows = st.integers(cores, 4 * cores + 3)
    rows_r, rows_s = draw(rows), draw(rows)
    deepest = max(-(-rows_r // cores), -(-rows_s // cores))
    return Chip(
        cores,
        rows_r,
        rows_s,
        fan_in=draw(st.integers(2, 8)),
        fifo_depth=deepest + draw(st.integers(0, 3)),
        merges_a_cycle=draw(st.integers(1, 3)),
    )


streams = st.lists(st.tuples(st.sampled_from("lr"), st.integers(0, 4)), max_size=60)


@examples(usual=40, thorough=3000)
@given(chips(), streams, st.integers(0, 5))
def test_pairs_are_those_of_the_oracle_however_narrow_the_network(chip, rows, cycles_between):
    sides, keys = [side for side, _ in rows], [key for _, key in rows]
    came = emulate(chip, ENCODING, stream(sides, keys), cycles_between)
    assert sorted(map(tuple, came.pairs.tolist())) == expected(sides, keys, chip.rows_r, chip.rows_s)
    assert (came.admitted, came.discarded, came.dropped) == (len(rows), 0, 0)


@examples(usual=20, thorough=1000)
@given(chips(), streams)
def test_columns_of_two_streams_go_through_it_as_messages_do(chip, rows):
    sides, keys = [side for side, _ in rows], np.array([key for _, key in rows], np.int32)
    rights = np.array([side == "r" for side in sides], bool)
    came = dovetail.lock_step_join(
        "abs(left.x - right.x) <= 1",
        left={"x": keys[~rights]},
        right=pa.record_batch({"x": keys[rights]}),
        chip=chip,
        rights=rights,
    )
    assert sorted(map(tuple, came.pairs.tolist())) == expected(sides, keys.tolist(), chip.rows_r, chip.rows_s)


def test_rows_come_by_turns_if_nothing_else_is_said_and_nulls_meet_nobody():
    left, right = {"x": [1, 2, None, 4]}, {"x": [1, None]}
    came = dovetail.lock_step_join("left.x == right.x", left=left, right=right, chip=dovetail.Chip(1, 4, 4))
    assert came.pairs.tolist() == [[0, 0]]
    assert came.admitted == 6
    sides = "lrlrll"
    again = dovetail.lock_step_join(
        "left.x == right.x",
        left=left,
        right=right,
        chip=dovetail.Chip(1, 4, 4),
        rights=[side == "r" for side in sides],
    )
    assert again.cycles == came.cycles


@pytest.mark.parametrize(
    "broken",
    [
        {"rights": [True]},
        {"rights": [0, 1]},
        {"rights": [True, True]},
        {"left": [1, 2]},
        {"left": {"x": [[1], "a"]}},
        {"left": {"x": [datetime.date(2024, 5, 1)]}, "right": {"x": [datetime.datetime(2024, 5, 1)]}},
        {"on": None},
        {"cycles_between": -1},
        {"cycles_between": 0.5},
    ],
)
def test_what_is_no_pair_of_streams_is_refused(broken):
    given = {"left": {"x": [1]}, "right": {"x": [1]}, "chip": dovetail.Chip(1, 2, 2)} | broken
    with pytest.raises((InputError, SettingError)):
        dovetail.lock_step_join(given.pop("on", "left.x == right.x"), **given)


@examples(usual=20, thorough=1000)
@given(chips(), streams, st.sampled_from(["discard", "drop"]))
def test_what_is_lost_under_overload_is_counted(chip, rows, overload):
    sides, keys = [side for side, _ in rows], [key for _, key in rows]
    chip = Chip(chip.cores, chip.rows_r, chip.rows_s, chip.fan_in, chip.fifo_depth, overload=overload)
    came = emulate(chip, ENCODING, stream(sides, keys))
    assert came.admitted + came.discarded == len(rows)
    pairs = list(map(tuple, came.pairs.tolist()))
    assert len(set(pairs)) == len(pairs)
    if overload == "drop":
        everything = expected(sides, keys, chip.rows_r, chip.rows_s)
        assert set(pairs) <= set(everything)
        assert len(pairs) + came.dropped == len(everything)
    elif came.discarded == 0:
        assert sorted(pairs) == expected(sides, keys, chip.rows_r, chip.rows_s)


@pytest.mark.parametrize("window", [100, 64, 30])
@pytest.mark.parametrize("cores", [1, 2, 5, 10, 30])
def test_throughput_is_that_of_formula_a5_where_few_rows_match(cores, window):
    rows = 400
    came = emulate(
        Chip(cores, window, window, fan_in=4), ENCODING, stream("lr" * (rows // 2), range(0, 9 * rows, 9))
    )
    assert came.throttled_cycles == 0
    assert came.rows_per_cycle == pytest.approx(1 / -(-window // cores), rel=1e-9)


def test_table_1_of_the_paper_half_a_million_rows_a_second():
    for cores, megahertz in ((1, 50), (2, 25), (5, 10), (10, 5)):
        assert megahertz * 1e6 / Chip(cores, 100, 100).cycles_a_row == 500_000


def test_a_wide_hit_rate_throttles_and_a_faster_network_helps():
    messages = stream("lr" * 100, [1] * 200)
    slow, fast = (
        emulate(Chip(8, 32, 32, fifo_depth=8, merges_a_cycle=merges), ENCODING, messages) for merges in (1, 8)
    )
    assert slow.throttled_cycles > 0
    assert fast.rows_per_cycle > slow.rows_per_cycle
    assert len(slow.pairs) == len(fast.pairs) == len(expected("lr" * 100, [1] * 200, 32, 32))


def test_the_arbiter_is_fair():
    """For cores that all have results, none gets ahead by more than a turn."""
    came = emulate(Chip(4, 4, 4, fan_in=4, fifo_depth=64), ENCODING, stream("lr" * 40, [1] * 80))
    assert len(came.pairs) == len(expected("lr" * 40, [1] * 80, 4, 4))
    assert (np.diff(came.pairs[:, 0]) >= -4).all()


@pytest.mark.parametrize(
    "broken",
    [
        {"cores": 0},
        {"cores": 9},
        {"cores": "2"},
        {"cores": 1.5},
        {"rows_r": 2**70},
        {"fan_in": 1},
        {"fan_in": 9},
        {"fifo_depth": 3},
        {"merges_a_cycle": 0},
        {"overload": "bogus"},
        {"overload": ["wait"]},
    ],
)
def test_chips_that_cannot_work_are_refused(broken):
    with pytest.raises(SettingError):
        Chip(**({"cores": 2, "rows_r": 8, "rows_s": 8} | broken))
