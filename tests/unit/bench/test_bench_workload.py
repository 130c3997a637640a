"""The generator: the same rows every time, with the statistics that the workload promises."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.reference import by_duckdb, by_sorting
from bench.workload import (
    END_ROWS,
    SCHEMAS,
    SIDES,
    START_US,
    Workload,
    columns,
    disorder_us,
    end_rows,
    generate,
)

SMALL = Workload(rows=20_000, files=4, seed=7)


def times(table: pa.Table) -> np.ndarray:
    return table["eventtime"].cast(pa.int64()).to_numpy()


@pytest.mark.parametrize("side", SIDES)
def test_the_same_seed_gives_the_same_rows(side: str) -> None:
    assert columns(SMALL, side).equals(columns(SMALL, side))
    assert not columns(SMALL, side).equals(columns(replace(SMALL, seed=8), side))


def test_the_two_sides_are_independent() -> None:
    left, right = (columns(SMALL, side)["key"].to_numpy() for side in SIDES)
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.05


def test_the_number_of_files_does_not_change_the_rows(tmp_path: Path) -> None:
    few, many = (generate(replace(SMALL, files=files), tmp_path) for files in (1, 7))
    assert pq.read_table(few.files("left")).equals(pq.read_table(many.files("left")))


@pytest.mark.parametrize("side", SIDES)
def test_keys_are_uniform_in_a_quarter_of_the_rows(side: str) -> None:
    key = columns(SMALL, side)["key"].to_numpy()
    assert key.min() >= 0
    assert key.max() < SMALL.keys == 5_000
    share = np.bincount(key // 500, minlength=10) / len(key)
    assert share == pytest.approx(np.full(10, 0.1), abs=0.015)


@pytest.mark.parametrize("side", SIDES)
def test_event_time_advances_over_the_span_behind_by_an_exponential(side: str) -> None:
    arrival_us = (np.arange(SMALL.rows) + 0.5) * 3_600e6 / SMALL.rows
    behind_s = (START_US + arrival_us - times(columns(SMALL, side))) / 1e6
    assert behind_s.min() >= 0
    assert behind_s.mean() == pytest.approx(30, rel=0.05)
    assert behind_s.std() == pytest.approx(30, rel=0.05)
    assert np.median(behind_s) == pytest.approx(30 * np.log(2), rel=0.05)


def test_disorder_is_the_greatest_fall_below_an_earlier_time() -> None:
    assert disorder_us(np.array([5, 3, 9, 4, 10])) == 5
    assert disorder_us(np.array([1, 2, 3])) == 0
    assert disorder_us(np.array([], np.int64)) == 0


def test_no_row_is_as_late_as_the_delay_and_the_delay_is_no_longer_than_needed(tmp_path: Path) -> None:
    made = generate(SMALL, tmp_path)
    most = max(disorder_us(times(columns(SMALL, side))) for side in SIDES)
    assert 0 < made.max_delay_us - most <= 1_000_000


@pytest.mark.parametrize("side", SIDES)
def test_end_rows_close_every_window_and_match_nothing(side: str) -> None:
    end = end_rows(SMALL, side)
    other = end_rows(SMALL, "right" if side == "left" else "left")
    assert end.num_rows == END_ROWS
    assert times(end).min() > times(columns(SMALL, side)).max() + 24 * 3_600_000_000
    assert not set(end["key"].to_pylist()) & set(other["key"].to_pylist())
    assert max(end["key"].to_pylist()) < 0


def test_files_come_in_the_order_of_arrival_with_the_end_rows_last(tmp_path: Path) -> None:
    made = generate(SMALL, tmp_path)
    for side in SIDES:
        files = sorted(made.files(side).glob("*.parquet"), key=os.path.getmtime)
        assert len({os.path.getmtime(file) for file in files}) == SMALL.files + 1
        read = pa.concat_tables([pq.read_table(file) for file in files])
        assert read.schema.equals(SCHEMAS[side])
        assert read.equals(pa.concat_tables([columns(SMALL, side), end_rows(SMALL, side)]))


def test_a_finished_workload_is_found_and_half_a_one_is_made_again(tmp_path: Path) -> None:
    made = generate(SMALL, tmp_path)
    first = made.files("left") / "part-00000.parquet"
    first.unlink()
    assert generate(SMALL, tmp_path) == made
    assert not first.exists()
    (made.path / "manifest.json").unlink()
    assert generate(SMALL, tmp_path) == made
    assert first.exists()


@pytest.mark.parametrize("wrong", [{"rows": 3, "files": 4}, {"rows": 0}, {"span_minutes": 0}, {"files": 0}])
def test_a_workload_that_cannot_be_made_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"rows a side|span must be positive"):
        replace(SMALL, **wrong)


@pytest.mark.parametrize("window_us", [0, 1_000_000, 180_000_000, 7_200_000_000])
def test_two_ways_to_count_the_batch_join_agree(tmp_path: Path, window_us: int) -> None:
    made = generate(SMALL, tmp_path)
    counted = by_sorting(made, window_us)
    assert counted == by_duckdb(made, window_us)
    assert counted.unmatched <= SMALL.rows


def test_the_window_holds_the_same_share_at_every_size(tmp_path: Path) -> None:
    few, many = (generate(replace(SMALL, rows=rows), tmp_path) for rows in (20_000, 80_000))
    share = [by_sorting(made, 180_000_000).matched / made.workload.rows for made in (few, many)]
    assert share[0] == pytest.approx(share[1], rel=0.05)
