"""The demo's own parts: its directory, its feeder, its report. The join behind it is tested on Spark."""

from __future__ import annotations

import io
import os
import shlex
import signal
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from dovetail.errors import HomeError
from dovetail.service.cli import main as cli
from dovetail.service.cli.demo import DemoResult, _folder, report
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.demo.feed import Feeder, create_categories
from dovetail.service.demo.streams import DemoStreams

RESULT = DemoResult(
    left_rows=603_883,
    joined_rows=603_883,
    streaming=0.9280,
    batch_in_window=0.92816,
    batch_at_any_time=0.94241,
    folder="d",
    query="d/search_quality.pql",
    results="d/results/joined_searches",
    plan="d/plan.svg",
    log="d/home/log",
)


def shown() -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    report(RESULT, console)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_the_report_sets_the_rates_side_by_side() -> None:
    assert shown()[1:5] == [
        "match rate                          client rows",
        "streaming join            92.80 %       603,883",
        "batch join, same window   92.82 %       603,883",
        "batch join, any time      94.24 %       603,883",
    ]
    assert "plan     d/plan.svg" in shown()


def test_the_commands_to_try_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [shlex.split(line) for line in shown() if line.startswith("  dovetail ")]
    assert len(commands) == 4
    for command in commands:
        with pytest.raises(SystemExit) as ended:
            cli.main([*command[1:], "--help"])
        assert not ended.value.code


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    assert _folder(tmp_path / "new" / "one").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(HomeError, match="has something in it"):
        _folder(tmp_path)
    with pytest.raises(HomeError, match="cannot write there"):
        _folder(tmp_path / "file" / "below")


def test_the_feeder_feeds_and_says_when_it_is_done(tmp_path: Path) -> None:
    left, right = create_categories(str(tmp_path))
    done = threading.Event()
    feeder = Feeder(DemoStreams(7, searches_per_s=50), left, right, 1, done)
    feeder.start_once()
    feeder.start_once()
    assert done.wait(30)
    feeder.finish()
    assert (left.next_commit(), right.next_commit()) == (1, 1)


def test_the_feeders_trouble_is_raised_by_finish(tmp_path: Path) -> None:
    left, right = create_categories(str(tmp_path))

    class Broken(DemoStreams):
        def batches(self, wall_second: int) -> tuple[pa.Table, pa.Table]:
            raise OSError("disk full")

    done = threading.Event()
    feeder = Feeder(Broken(7), left, right, 5, done)
    feeder.start_once()
    assert done.wait(30)
    with pytest.raises(OSError, match="disk full"):
        feeder.finish()


def test_the_first_signal_asks_and_the_second_insists(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopped_by_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().err == "stopping\n"
