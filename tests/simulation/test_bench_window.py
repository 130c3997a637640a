"""`dovetail bench window` on small windows: every study runs and is right; workloads are as they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bench.window import main
from bench.window_adaptive import behind, settled
from bench.window_report import draw, show_settled
from bench.window_studies import Point, Run, Size, Study, run_study, studies
from bench.window_workloads import PUBLISHED, WORKLOADS, Micro, Window

from dovetail.intra_window import cost
from dovetail.intra_window.join import ALGORITHMS

SMALL = ["--scale", "0.0002", "--threads", "2", "--repeat", "1"]


def test_every_study_at_rest_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    names = [study.name for study in studies(Size(0.1, None, 1, (2,))) if not study.moving]
    only = [word for name in names for word in ("--only", name)]
    some = [word for name in ("prj", "shj_jm", "pmj_jb") for word in ("--algorithm", name)]
    assert main([*SMALL, *only, *some, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said["studies"]) == names
    for name, runs in said["studies"].items():
        assert runs, name
        assert all(run["right"] and run["rows_per_s"] > 0 and run["rows_per_cpu_s"] > 0 for run in runs)


def test_a_study_in_motion_is_right() -> None:
    """A short window: those of the studies take their second."""
    point = Point("20 ms", Micro(100, 100, window_ms=20, duplicates=4).make, ("npj", "shj_jm", "pmj_jb"))
    study = Study("short", "none", "a short window", "ms", True, (point,))
    runs = run_study(study, (2,), ALGORITHMS, 1, lambda line: None)
    assert [run.algorithm for run in runs] == ["npj", "shj_jm", "pmj_jb"]
    for run in runs:
        assert run.right, run
        assert run.matches == 8000
        assert run.p95_latency_ms is not None
        assert run.half_ms is not None
        assert run.progress[-1][1] == 1.0


def test_tables_and_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main([*SMALL, "--only", "radix_bits", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "figure-18: PRJ: bits by which rows are partitioned; 2 threads; million input rows/s" in said
    assert [path.name for path in tmp_path.iterdir()] == ["intra-window-2021-figure-18.svg"]


def test_workloads_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    study = next(studies(Size(0.1, None, 1, (1,))))
    phases = dict.fromkeys(("wait", "partition", "build/sort", "merge", "probe", "other"), 1.0)
    runs = [
        Run("workloads", point, name, 1, 10, 5, True, 1e6, 2.0, 3.0, [(0, 0.1), (9, 1.0)], phases)
        for point in ("stock", "ysb")
        for name in ("npj", "shj_jm")
    ]
    assert draw(study, runs, tmp_path).name == "intra-window-2021-figures-5-6-7.svg"


@pytest.fixture
def quick_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "ROWS", (256, 512, 1024, 2048))
    monkeypatch.setattr(cost, "PAIRS", 4096)


@pytest.mark.usefixtures("quick_costs")
def test_choices_are_set_beside_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    window = Micro(50, 50, window_ms=20, duplicates=4).make()
    found = settled([window], 2, 2, lambda line: None)
    assert [one.wish for one in found] == ["throughput", "latency", "progress"]
    for one in found:
        assert one.right
        assert one.best in ALGORITHMS
        assert min(one.tree_loss, one.settled_loss) >= 0
    show_settled(found)
    assert "how much worse than the best of the eight" in capsys.readouterr().out


def test_a_choice_is_behind_in_the_rounds_in_which_it_took_a_tenth_longer() -> None:
    assert behind([1.0, 1.2, 1.05, 5.0], [1.0, 1.0, 1.0, 2.0]) == 0.5


@pytest.mark.usefixtures("quick_costs")
def test_a_stream_that_changes_gives_the_same_pairs_by_every_algorithm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--scale", "0.001", "--threads", "2", "--repeat", "1", "--only", "changing"]) == 0
    said = capsys.readouterr().out
    assert "adaptive" in said
    assert "at the end; calibrating took" in said


def test_a_wrong_count_fails_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Window, "matches", property(lambda self: -1))
    assert main([*SMALL, "--only", "physical"]) == 1
    assert "2 runs found other matches than there are" in capsys.readouterr().out


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_are_reproducible_and_in_order(name: str) -> None:
    first, again, other = (WORKLOADS[name](0.001, None, seed) for seed in (1, 1, 2))
    assert (first.left == again.left).all()
    assert (first.right == again.right).all()
    assert not np.array_equal(first.right, other.right)
    for keys, times in ((first.left, first.left_us), (first.right, first.right_us)):
        if times is not None:
            assert len(times) == len(keys)
            assert (np.diff(times) >= 0).all()
            assert 0 <= times[0] <= times[-1] < 1_000_000


@pytest.mark.parametrize("name", ["stock", "debs"])
def test_what_is_generated_matches_as_often_as_what_was_published(name: str) -> None:
    made = WORKLOADS[name](1.0, None, 1)
    left, right, matches = PUBLISHED[name]
    assert (len(made.left), len(made.right)) == (left, right)
    assert made.matches == pytest.approx(matches, rel=0.1)


def test_rovio_and_ysb_keep_their_duplication_when_they_are_small() -> None:
    small = WORKLOADS["rovio"](0.02, None, 1)
    left, right, matches = PUBLISHED["rovio"]
    assert small.matches / (len(small.left) * len(small.right)) == pytest.approx(
        matches / (left * right), rel=0.05
    )
    few = WORKLOADS["ysb"](0.01, None, 1)
    assert few.matches == len(few.right)


def test_micro_has_what_it_is_told() -> None:
    made = Micro(10, 30, 100, duplicates=5, seed=3).make()
    assert (len(made.left), len(made.right)) == (1000, 3000)
    assert set(np.unique(made.right, return_counts=True)[1]) == {5}
    skewed = Micro(50, 50, 100, key_skew=1.2, time_skew=1.6, seed=3).make()
    assert np.bincount(skewed.left)[0] > 500
    assert np.median(skewed.left_us) < 10_000
    alone = Micro(50, 50, 100, key_skew=1.2, right_alone=True, seed=3).make()
    assert np.bincount(alone.right)[0] > 500
    assert len(np.unique(alone.left)) == len(alone.left)
    assert alone.matches == len(alone.right)
    assert Micro(5, 5, 10, at_rest=True).make().window_ms is None
    assert made.window_ms == pytest.approx(100, rel=0.01)
