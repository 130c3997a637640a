"""The designs in which rows travel, or are dealt out, as people use them: on threads, with payload, and with
pauses in which nothing is pushed."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import sliding_oracle
from dovetail.errors import SettingError
from unit.sliding.sliding_workload import BAND, LOOSE, PREDICATES, arrivals, batch, pieces
from unit.sliding.test_engine import WINDOWS, join_of, joined

DESIGNS = ["cell", "handshake", "low_latency_handshake"]


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("design", DESIGNS)
def test_the_pairs_of_the_three_step_procedure(design: Any, cores: int, windows: Any) -> None:
    for text in (BAND, LOOSE):
        found, wanted = joined(11, text, windows, design=design, cores=cores)
        assert Counter(found) == Counter(wanted)
        assert wanted, "a test without pairs tests nothing"


@pytest.mark.parametrize("cores", [1, 3])
def test_blocks_that_are_merged(cores: int) -> None:
    for block_rows in (2, 16):
        found, wanted = joined(11, BAND, WINDOWS[0], design="handshake", cores=cores, block_rows=block_rows)
        assert Counter(found) == Counter(wanted)


def test_only_handshake_join_merges_blocks() -> None:
    with pytest.raises(SettingError, match="split cannot merge blocks of 16 rows"):
        join_of(BAND, WINDOWS[0], design="split", block_rows=16)
    with pytest.raises(SettingError, match="handshake cannot merge blocks of 0 rows"):
        join_of(BAND, WINDOWS[0], design="handshake", block_rows=0)


@pytest.mark.parametrize("design", DESIGNS)
def test_rows_that_wait_in_a_chain_still_have_their_payload(design: Any) -> None:
    """After a flush only rows that no result can name may be forgotten, wherever they are."""
    windows = (("rows", 20), ("rows", 7))
    rng = random.Random(13)
    stream = arrivals(rng, 200)
    out: list[tuple[int, float, int, float]] = []
    with join_of(BAND, windows, design=design, cores=3) as join:
        for piece in pieces(rng, stream):
            join.push(**{piece[0].side: batch(piece)})
            if rng.random() < 0.3:
                join.flush()
        join.settle()
        table = join.results().to_pydict()
        out += zip(table["x"], table["y"], table["a"], table["b"], strict=True)
    sides = [[row.row for row in stream if row.side == side] for side in ("left", "right")]
    wanted = [
        (sides[0][left]["x"], sides[0][left]["y"], sides[1][right]["a"], sides[1][right]["b"])
        for left, right in sliding_oracle.pairs(stream, *windows, PREDICATES[BAND])
    ]
    assert sorted(out) == sorted(wanted)
