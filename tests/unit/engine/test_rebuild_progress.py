"""What a rebuild reports: nothing if it is short, its progress while it lasts, nothing afterwards."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path

import pytest

from dovetail.engine import live_index
from dovetail.engine.measure import measure
from dovetail.joins import read_back, rebuild_progress
from dovetail.joins.rebuild_progress import KIND, STALE_US, VERSION, Rebuilding, RebuildProgress, rebuilding
from dovetail.log import document
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.share import Share

from .stepping import Driven
from .workload import config

NOW_US = 1_700_000_000_000_000


@pytest.fixture
def join(tmp_path: Path) -> JoinConfig:
    return config(tmp_path / "home", tmp_path / "index", IntervalSpec(100, 100, "left"), 4, 0)


def folder(join: JoinConfig) -> Path:
    return Path(join.home) / join.state_path / "replay"


def report(join: JoinConfig, task: int, rows: int, of: int, seconds: float, ago_s: float = 0) -> Path:
    now_us = NOW_US - int(ago_s * 1e6)
    body = {"rows": rows, "of": of, "began_us": now_us - int(seconds * 1e6), "now_us": now_us}
    folder(join).mkdir(parents=True, exist_ok=True)
    path = folder(join) / f"{task}-of-2.json"
    path.write_bytes(document.encode(KIND, VERSION, body))
    return path


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that reports sleeps: the test says when."""
    monkeypatch.setattr(rebuild_progress, "EVERY_S", 3600)


def test_a_short_replay_leaves_no_trace(join: JoinConfig) -> None:
    with RebuildProgress(join, Share(0, 2, 4), 100) as progress:
        progress.add(100)
    assert not folder(join).exists()


def test_a_long_one_is_told_while_it_lasts(join: JoinConfig, by_hand: None) -> None:
    with RebuildProgress(join, Share(1, 2, 4), 100) as progress:
        progress.add(25)
        assert progress.report()
        progress.add(50)
        assert (shown := rebuilding(join)) is not None
        assert shown.rows == 25
        assert progress.report()
        found = rebuilding(join)
        assert found is not None
        assert (found.share, found.of) == (0.75, 100)
        assert found.rows_per_s > 0
        assert [path.name for path in folder(join).glob("*.json")] == ["1-of-2.json"]
    assert list(folder(join).iterdir()) == []
    assert rebuilding(join) is None


def test_one_that_fails_takes_its_file_along(join: JoinConfig, by_hand: None) -> None:
    progress = RebuildProgress(join, Share(0, 1, 4), 9)

    def failing() -> None:
        with progress:
            progress.report()
            assert rebuilding(join)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert list(folder(join).iterdir()) == []


def test_where_nothing_can_be_written_the_replay_goes_on(join: JoinConfig, by_hand: None) -> None:
    folder(join).parent.mkdir(parents=True)
    folder(join).write_text("a file is in the way")
    with RebuildProgress(join, Share(0, 1, 4), 9) as progress:
        assert not progress.report()
    assert rebuilding(join) is None


def test_tasks_are_added_up(join: JoinConfig) -> None:
    report(join, 0, rows=600, of=1000, seconds=2)
    report(join, 1, rows=200, of=1000, seconds=2)
    assert rebuilding(join, NOW_US) == Rebuilding(800, 2000, 0.2, 400.0, 8.0)
    report(join, 1, rows=0, of=1000, seconds=2)
    assert rebuilding(join, NOW_US) == Rebuilding(600, 2000, 0.0, 300.0, None)


def test_one_that_a_killed_worker_left_is_not_believed_for_long(join: JoinConfig) -> None:
    report(join, 0, rows=600, of=1000, seconds=2)
    assert rebuilding(join, NOW_US + STALE_US - 1) is not None
    assert rebuilding(join, NOW_US + STALE_US) is None


@pytest.mark.parametrize("change", [{"rows": 11}, {"rows": -1}, {"rows": 1.5}, {"of": "10"}, {"more": 1}])
def test_what_makes_no_sense_is_not_shown(join: JoinConfig, change: dict[str, object]) -> None:
    path = report(join, 0, rows=5, of=10, seconds=1)
    body = json.loads(path.read_bytes())["body"] | change
    path.write_bytes(document.encode(KIND, VERSION, body))
    assert rebuilding(join, NOW_US) is None
    report(join, 1, rows=5, of=10, seconds=1)
    assert rebuilding(join, NOW_US) == Rebuilding(5, 10, 0.5, 5.0, 1.0)
    path.write_bytes(b"{")
    assert rebuilding(join, NOW_US) == Rebuilding(5, 10, 0.5, 5.0, 1.0)


def test_a_rebuild_tells_and_measures_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driven = Driven.make(tmp_path, IntervalSpec(1000, 1000, "left"))
    for start in range(0, 40, 10):
        driven.append("right", *((f"k{n}", n) for n in range(start, start + 10)))
    driven.step()
    shutil.rmtree(tmp_path / "index")
    live_index.unmap_all()
    driven.append("left", ("k7", 9))
    join, seen = driven.config, []
    real, report = read_back.arrivals_in, RebuildProgress.report
    reported = threading.Event()

    def telling(progress: RebuildProgress) -> bool:
        done = report(progress)
        reported.set()
        return done

    def slow(*arguments: object) -> object:
        assert reported.wait(60)
        seen.append(measure(join, time.time_ns() // 1000).replay)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(rebuild_progress, "EVERY_S", 0.001)
    monkeypatch.setattr(RebuildProgress, "report", telling)
    monkeypatch.setattr(read_back, "arrivals_in", slow)
    driven.step()
    assert [(found.rows, found.of) for found in seen] == [(0, 40)]
    assert list(folder(join).iterdir()) == []
    assert driven.pairs == {(0, 7)}
