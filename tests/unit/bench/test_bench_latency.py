"""The traffic of `bench latency`, the pairs it must give, and the figures made of stamps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.latency_figures import latencies, lone_due, lone_out, pairs_due, pairs_out, phase_medians
from bench.latency_parts import Shape
from bench.latency_pql import query
from bench.latency_report import Report, latency_table, phase_table
from bench.latency_systems import SEEN, Application, Batch, Phases
from bench.live_files import Stamps, appear, stage
from bench.live_traffic import BLOCK_S, Traffic, is_alone
from bench.slope import slope_of
from bench.workload import SIDES

from dovetail.pql import compile_pql

TRAFFICS = (
    Traffic(40, 40, 25, 0.5),
    Traffic(8, 80, 25, 0.5),
    Traffic(40, 40, 25, 0.5, lone_share=0.25, window_s=10),
    Traffic(40, 40, 40, 0.5, idle_from_s=10, idle_s=12, burst_s=3),
)


def on_time(traffic: Traffic) -> Stamps:
    return {side: [100 + at for at in traffic.appear_s] for side in SIDES}


def pairs_of(traffic: Traffic) -> list[tuple[int, int, int]]:
    """Key, left file and right file of each pair, by the obvious loops."""
    left, right = (
        {int(key): file for file, keys in enumerate(traffic.keys[side]) for key in keys} for side in SIDES
    )
    return [(key, left[key], right[key]) for key in sorted(left.keys() & right.keys())]


def batch(at: float, rows: Iterable[tuple[int, int, int | None]]) -> Batch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    types = (pa.int64(), pa.int32(), pa.int32())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return Batch(at, pa.table(arrays, names=list(SEEN)))


@pytest.mark.parametrize("traffic", TRAFFICS)
def test_a_pair_is_a_key_and_its_rows_are_within_the_block(traffic: Traffic) -> None:
    pairs = pairs_of(traffic)
    assert [key for key, _, _ in pairs] == list(range(traffic.pairs))
    assert all(abs(traffic.appear_s[a] - traffic.appear_s[b]) < 10 + traffic.idle_s for _, a, b in pairs)
    assert {(a, b) for _, a, b in pairs if 0 in (a, b)} == {(0, 0)}
    for side in SIDES:
        keys = np.concatenate(traffic.keys[side])
        assert len(set(keys.tolist())) == len(keys)
        assert [len(part) for part in traffic.keys[side]] == [
            traffic.rows(side, file) for file in range(traffic.files)
        ]


def test_the_share_of_rows_that_stay_alone() -> None:
    traffic = TRAFFICS[2]
    rows = sum(map(len, traffic.keys["left"]))
    assert len(traffic.lone_left) == rows - traffic.pairs
    assert abs(len(traffic.lone_left) / rows - 0.25) < 0.02


def test_a_burst_comes_after_the_silence() -> None:
    traffic = TRAFFICS[3]
    assert traffic.burst_file is not None
    before, at = traffic.appear_s[traffic.burst_file - 1 : traffic.burst_file + 1]
    assert (before, at) == (10, 22.5)
    assert traffic.rows("left", traffic.burst_file) == 40 * 3.5


@pytest.mark.parametrize("wrong", [{"left_per_s": 1}, {"lone_share": 1.0}, {"window_s": 5}])
def test_traffic_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"file|share|window"):
        Traffic(**{"left_per_s": 40, "right_per_s": 40, "seconds": 5, **wrong})  # type: ignore[arg-type]


def test_files_hold_the_keys_and_times_of_the_traffic(tmp_path: Path) -> None:
    traffic = Traffic(40, 80, 2, 0.5)
    staged = stage(traffic, tmp_path / "staged", "parquet")
    appear(staged, "right", 2, tmp_path / "live")
    (path,) = (tmp_path / "live/right").iterdir()
    rows = pq.read_table(path)
    assert rows.column("key").to_pylist() == traffic.keys["right"][2].tolist()
    assert set(rows.column("right_file").to_pylist()) == {2}
    times = rows.column("eventtime").cast(pa.int64()).to_numpy() - staged.begin_us
    assert times.tolist() == traffic.times_us("right", 2).tolist()


def test_latency_counts_from_the_later_row() -> None:
    traffic = TRAFFICS[0]
    due = pairs_due(traffic, on_time(traffic))
    assert due.tolist() == [
        100 + max(traffic.appear_s[a], traffic.appear_s[b]) for _, a, b in pairs_of(traffic)
    ]
    batches = [batch(200.0, pairs_of(traffic))]
    out, check = pairs_out(traffic, batches)
    assert check.equal
    found = latencies(due, out, 110.0, 120.0, ended=300.0)
    assert found.rows == int(((due >= 110) & (due < 120)).sum())
    assert found.max == 90.0


def test_what_is_wrong_with_pairs_is_counted() -> None:
    traffic = TRAFFICS[0]
    first, second, third, *rest = pairs_of(traffic)
    moved = (second[0], second[1] + 1, second[2])
    batches = [
        batch(200.0, [first, moved, third]),
        batch(201.0, [third, (10**6, 0, 0), *rest]),
        batch(202.0, []),
    ]
    out, check = pairs_out(traffic, batches)
    assert (check.missing, check.twice, check.foreign) == (1, 1, 2)
    assert out[:3].tolist() == [200.0, np.inf, 200.0]


def test_a_pair_that_is_not_out_counts_with_its_waiting() -> None:
    found = latencies(np.array([1.0, 2.0]), np.array([1.5, np.inf]), 0, 10, ended=32.0)
    assert found.max == 30.0


def test_a_lone_row_is_due_when_its_window_has_closed_on_both_sides() -> None:
    traffic = TRAFFICS[2]
    stamps = on_time(traffic)
    due = lone_due(traffic, stamps)
    assert len(due) == len(traffic.lone_left)
    place = 0
    for file, keys in enumerate(traffic.keys["left"]):
        for time_us in traffic.times_us("left", file)[is_alone(keys)]:
            closes = time_us + 12_000_000
            later = [n for n in range(traffic.files) if traffic.times_us("right", n)[-1] > closes]
            assert due[place] == (stamps["right"][later[0]] if later else np.inf)
            place += 1
    key = int(traffic.lone_left[3])
    out, check = lone_out(traffic, [batch(150.0, [(key, 0, None), (1, 0, None)])], due)
    assert out[3] == 150.0
    assert (check.foreign, check.missing) == (1, int(np.isfinite(due).sum()) - 1)


def test_a_rate_is_held_if_latency_does_not_grow() -> None:
    due = np.arange(0, 40, 0.01)
    level = latencies(due, due + 1 + (due % 1), 0, 40, ended=1000)
    assert level.share_held == 1.0
    assert level.held
    behind = latencies(due, due + 1 + due / 4, 0, 40, ended=1000)
    assert behind.share_held == pytest.approx(0.8)
    assert not behind.held


def test_a_slope_and_its_error() -> None:
    exact = slope_of([0, 1, 2, 3], [5, 7, 9, 11])
    assert exact is not None
    assert exact.per_x == pytest.approx(2)
    assert exact.error == pytest.approx(0, abs=1e-9)
    noise = np.random.default_rng(7).normal(size=1200)
    found = slope_of(np.arange(1200), noise)
    assert found is not None
    assert not found.grows
    assert slope_of([1, 2], [1, 2]) is None


def test_phases_are_those_of_micro_batches_that_did_something() -> None:
    busy = [Phases("out", at, 10, {"addBatch": ms, "walCommit": 2}) for at, ms in ((1, 30), (2, 50), (4, 40))]
    found = phase_medians([*busy, Phases("out", 3, 0, {"latestOffset": 9})], 0, 10)
    assert found == {"out": {"addBatch": 40, "walCommit": 2, "rows": 10, "batches": 3, "between": 1500}}


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_query_compiles(how: str, tmp_path: Path) -> None:
    one = Application(tmp_path / "in", tmp_path / "work", "live", TRAFFICS[0], "parquet", how)  # type: ignore[arg-type]
    assert len(compile_pql(query(one)).joins) == 1
    assert len(compile_pql(query(replace(one, tasks=16))).joins) == 1


@pytest.mark.parametrize(("shape", "joins"), [("windowed", 1), ("theta", 1), ("chain", 2)])
def test_the_queries_of_other_joins_compile(shape: Shape, joins: int, tmp_path: Path) -> None:
    one = Application(tmp_path / "in", tmp_path / "work", "live", TRAFFICS[0], "parquet", "inner", 2, shape)
    assert len(compile_pql(query(one)).joins) == joins


def test_windows_of_a_blocks_length_hold_all_pairs(tmp_path: Path) -> None:
    traffic = TRAFFICS[0]
    staged = stage(traffic, tmp_path, "parquet")
    window: dict[str, dict[int, int]] = {}
    for side in SIDES:
        times = np.concatenate([traffic.times_us(side, file) for file in range(traffic.files)])
        windows = (staged.begin_us + times) // round(BLOCK_S * 1e6)
        window[side] = dict(zip(np.concatenate(traffic.keys[side]).tolist(), windows.tolist(), strict=True))
    assert all(window["left"][key] == window["right"][key] for key in range(traffic.pairs))


def outcome(system: str, p99: float, **check: int) -> dict[str, object]:
    took = {"p50": p99 / 2, "p90": p99, "p99": p99, "max": p99, "held": True, "share_held": 1.0, "rows": 9}
    wrong = {"expected": 9, "missing": 0, "twice": 0, "foreign": 0} | check
    return {
        "label": "2,000 rows/s",
        "system": system,
        "applications": [{"latencies": {"pairs": took}, "checks": [wrong]}],
        "phases": {"out": {"rows": 1, "batches": 2, "between": 3.0, "addBatch": 4}},
        "cores": 1.0,
        "first_result_s": 9.0,
        "peak_rss_bytes": 2**30,
    }


def test_the_report_has_ratios_and_notices_what_is_wrong() -> None:
    report = Report([outcome("dovetail", 1.0), outcome("spark", 4.0)])
    assert report.ratios()["2,000 rows/s"]["dovetail"]["p99"] == 0.25
    assert report.right
    assert latency_table(report).row_count == 3
    assert phase_table(report).row_count == 2
    assert not Report([outcome("spark", 1.0, missing=1)]).right
    assert not Report([outcome("spark", 1.0, twice=1)]).right
