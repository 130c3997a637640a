"""`dovetail bench recovery` on a small window: a rebuilt index is as good as the live one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench import recovery_figure, recovery_join, recovery_replay, recovery_snapshots
from bench.recovery import main
from bench.recovery_figure import Figure11
from bench.recovery_report import Report, show
from bench.recovery_restart import Restart

from dovetail.engine.planner import JoinPlanner
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset


def one_after_another(
    work: Callable[..., Any], config: JoinConfig, tasks: int, *args: Any, **kwargs: Any
) -> list[Any]:
    return [work(config, task, *args, **kwargs) for task in range(tasks)]


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start processes takes longer than the work."""
    for module in (recovery_replay, recovery_snapshots, recovery_join):
        monkeypatch.setattr(module, "side_by_side", one_after_another)


SMALL = ["--rows", "20000", "--commit-rows", "3000", "--step-rows", "2000", "--repeat", "1"]
SMALL += ["--only", "replay", "--only", "snapshots"]


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--work", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert set(said) == {"replay", "snapshots", "figure_11", "restart"}
    replay = said["replay"]
    assert replay["equal"]
    assert (replay["rows"], replay["commits"]) == (20_000, 7)
    assert [(one["cache"], one["what"]) for one in replay["rates"]] == [
        (cache, what) for cache in ("cold", "warm") for what in ("read", "read and check", "rebuild")
    ]
    assert 0.03 < said["snapshots"]["open_rows"] / 2000 < 0.07
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_an_index_that_gives_other_rows_fails_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recovery_replay, "same_rows", lambda *_: False)
    assert main([*SMALL[:-2], "--work", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "Replay of 20,000 right rows in 7 commits" in said
    assert "other rows than the live one" in said


def test_the_join_of_figure_11_takes_its_window_and_plans_on(tmp_path: Path) -> None:
    size = recovery_replay.WindowSize(5_000, 1_000)
    home = tmp_path / "home"
    recovery_figure.build(home, size, next_step=False)
    recovery_join.take_window(home, tmp_path / "index", size)
    plan = recovery_figure.Plan(size, rows_per_s=1_000)
    feed = recovery_figure.Feed(home, plan)
    feed.tick()
    assert feed.backlog() == 550
    start = recovery_join.done(home)
    planner = JoinPlanner(recovery_join.config(home, tmp_path / "index"))
    end = planner.plan(start, tasks=2)
    assert (start.step, end.step) == (1, 2)
    assert (start.right, end.right) == (5, 6)
    done = one_after_another(
        recovery_join.step_task, recovery_join.config(home, tmp_path / "index"), 2, start, end
    )
    assert sum(one.held_rows for one in done) == size.rows
    assert sum(one.out_rows for one in done) > 0, "left rows find partners in the window"
    assert recovery_join.planned(home, JoinOffset()) == start


def test_figure_11_is_judged_drawn_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    from bench.recovery_plots import draw

    found = Figure11(1_000, 10, index_lost=True, down_s=2.0, replay_s=1.0)
    found.line = {
        "s": [-2.0, -1.0, 1.0, 2.0, 3.0],
        "index_bytes": [100.0, 100.0, 0.0, 120.0, 100.0],
        "rss_bytes": [200.0, 200.0, 50.0, 220.0, 200.0],
        "backlog_rows": [5.0, 10.0, 20.0, 30.0, 10.0],
        "replayed": [0.0, 0.0, 0.5, 0.0, 0.0],
    }
    recovery_figure.judge(found)
    assert (found.most_backlog_rows, found.caught_up_s) == (30, 2.0)
    cut_short = Figure11(1_000, 10, index_lost=True)
    cut_short.line = {name: values[:4] for name, values in found.line.items()}
    recovery_figure.judge(cut_short)
    assert cut_short.caught_up_s is None
    draw(found, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["facebook-2018-figure-11.svg"]
    show(Report(figure_11=found, restart=[Restart("dovetail run, index kept", 5, 3.25, 0.1)]))
    said = capsys.readouterr().out
    assert "kill to no more backlog than before" in said
    assert "dovetail run, index kept" in said
