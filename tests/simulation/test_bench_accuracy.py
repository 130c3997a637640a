"""`dovetail bench accuracy` on small streams: how the paper's figures relate; tables, JSON and plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.accuracy import main
from bench.accuracy_defaults import Cost, Spread, overall
from bench.accuracy_figures import BATCH, REALTIME, Report, Settings, figure_8, figures_9_and_10, lagging
from bench.accuracy_report import tables
from bench.processes import PROCESSES

SMALL = Settings(
    seed=3, days=2, window_days=1, per_s=0.5, commit_s=600, window_hours=(1, 6), estimate_hours=1, lag_hours=1
)


def test_realtime_is_close_to_the_batch_join_of_the_same_window() -> None:
    mean = figure_8(SMALL).mean
    assert abs(mean[REALTIME] - mean[BATCH[2]]) < 0.01
    assert mean[BATCH[2]] < mean[BATCH[0]] < mean[BATCH[1]]


def test_memory_follows_the_window_and_success_barely() -> None:
    sizes = figures_9_and_10(SMALL)
    rows = [one.mean_rows for one in sizes]
    assert rows == sorted(rows)
    assert rows[1] > 4 * rows[0]
    assert 0 < sizes[1].success - sizes[0].success < 0.03
    assert all(one.success <= one.batch for one in sizes)


def test_pacing_holds_the_window_and_not_the_lag() -> None:
    on, off = lagging(SMALL)
    assert on.peak_rows < 1.5 * on.window_rows < off.peak_rows
    assert on.success > 0.995 * on.batch


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["--estimate-hours", "0.1", "--lag-hours", "1", "--estimate-per-second", "5"]
    arguments += ["--per-second", "0.5", "--out", str(tmp_path)]
    assert main([*arguments, "--only", "figure_12", "--only", "lagging", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    parts = {"figure_8", "figures_9_and_10", "figure_12", "lagging", "defaults"}
    assert set(said) == {"settings", "row_bytes", *parts}
    assert [one["stream"] for one in said["figure_12"]] == ["A, clients", "B, servers"]
    assert main([*arguments, "--only", "figure_12"]) == 0
    assert "Figure 12" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "facebook-2018-figure-12.svg",
        "facebook-2018-pacing.svg",
    }


def test_defaults(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A stream within the default delay is joined whole by fixed time; one of minutes only by percentile."""
    some = {name: PROCESSES[name] for name in ("seconds", "minutes")}
    monkeypatch.setattr("bench.accuracy_defaults.PROCESSES", some)
    assert (
        main(["--only", "defaults", "--defaults-hours", "1.5", "--defaults-per-second", "2", "--json"]) == 0
    )
    costs = json.loads(capsys.readouterr().out)["defaults"]
    assert len(costs) == 4 * len(some) * 3
    found = {(one["streams"], one["process"], one["setting"]): one["found"] for one in costs}
    assert found["dense", "seconds", "fixed"] == 1
    assert found["dense", "minutes", "fixed"] < 0.6
    assert found["dense", "minutes", "percentile"] > 0.97
    lone_s = {one["setting"]: one["lone_s"] for one in costs if one["streams"] == "dense"}  # of minutes
    assert lone_s["fixed"][1] < lone_s["percentile"][0]


def test_defaults_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    costs = [
        Cost("dense", "seconds", "fixed", 1.0, (180, 200), (120, 130), 1900),
        Cost("dense", "minutes", "fixed", 0.33, (30, 250), (190, 200), 900),
        Cost("drained", "minutes", "fixed", 0.5),
    ]
    dense, drained = overall(costs)
    assert dense.found == Spread(0.665, 0.33)
    assert dense.below_98 == 1
    assert dense.lone_s == (Spread(105, 180), Spread(225, 250))
    assert dense.held_rows == Spread(1400, 1900)
    assert drained.lone_s is drained.held_rows is None
    each, whole = tables(Report(SMALL, defaults=costs), each=True)
    assert (each.row_count, whole.row_count) == (3, 2)
    (whole,) = tables(Report(SMALL, defaults=costs))
    assert whole.row_count == 2
