"""The demo's own parts: its directory, its feeder, its report. The join behind it is tested on Spark."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from dovetail.errors import HomeError
from dovetail.service.cli import main as cli
from dovetail.service.cli.demo import DemoResult, demo_folder, finishing_phase, live_phase, report
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.demo import APPLICATION
from dovetail.service.demo.feed import Feeder, create_categories
from dovetail.service.demo.streams import DemoStreams
from dovetail.service.figures import RunFigures, StreamFigures
from dovetail.service.follower import Follower

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


def shown(result: DemoResult = RESULT) -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    report(result, console)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_the_report_sets_the_rates_side_by_side() -> None:
    assert shown()[1:5] == [
        "match rate                          client rows",
        "streaming join            92.80 %       603,883",
        "batch join, same window   92.82 %       603,883",
        "batch join, any time      94.24 %       603,883",
    ]
    assert "plan     d/plan.svg" in shown()


def test_the_report_begins_with_joined_rows() -> None:
    rows = tuple(
        {"search_id": f"s{n}", "action": "click", "query": "jazz trio near me", "ranking_version": "r41"}
        for n in range(2)
    )
    lines = shown(replace(RESULT, sample=rows))
    assert lines[1:5] == [
        "Some of the joined rows",
        "search_id  action  query              ranking_version",
        "s0         click   jazz trio near me  r41",
        "s1         click   jazz trio near me  r41",
    ]


FIRST_LOOK = """
import sys
from pathlib import Path
from dovetail.service.cli import demo, live_view

class View:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def update(self, figures):
        print(figures.phase, figures.waiting, {"pyspark", "py4j"} & set(sys.modules), sep="; ")
        raise SystemExit

live_view.LiveView = View
demo.play(Path("nowhere"), seconds=1, rate=1, seed=1, master="local[1]")
"""


def test_the_view_is_there_before_spark_and_says_what_it_waits_for() -> None:
    """What takes seconds, importing PySpark and starting Java, comes after the first figures."""
    done = subprocess.run([sys.executable, "-c", FIRST_LOOK], capture_output=True, text=True, check=True)
    assert done.stdout == "phase 1 of 2: starting; waiting for Spark to start; set()\n"


def test_the_two_phases_have_names_and_say_what_they_wait_for() -> None:
    start = RunFigures(APPLICATION, 0.1, "starting", waiting="waiting for Spark to start")
    assert live_phase(start).phase == "phase 1 of 2: starting"
    assert live_phase(start).waiting == "waiting for Spark to start"
    streams = (StreamFigures("client_events", "left"), StreamFigures("server_events", "right"))
    live = replace(start, phase="joining", streams=streams, waiting="")
    assert live_phase(live).phase == "phase 1 of 2: live"
    assert "first rows of both streams" in live_phase(live).waiting
    fed = replace(live, streams=(replace(streams[0], rows_in=1), streams[1]))
    assert "first joined rows" in live_phase(fed).waiting
    assert live_phase(replace(fed, out_rows=1)).waiting == ""
    assert finishing_phase(replace(fed, phase="slicing")).phase == "phase 2 of 2: finishing"
    assert finishing_phase(fed).streams == fed.streams


def test_a_second_run_goes_on_where_the_first_stopped() -> None:
    """While Spark starts the second run, the view keeps its numbers and its clock."""
    now, seen = [10.0], list[RunFigures]()
    follower = Follower(seen.append, clock=lambda: now[0])
    follower.starting("app")
    assert (seen[-1].elapsed_s, seen[-1].phase) == (0.0, "starting")
    follower.previous = replace(seen[-1], out_rows=42, phase="stopped")
    now[0] = 70.0
    follower.starting("app")
    assert (seen[-1].elapsed_s, seen[-1].out_rows, seen[-1].phase) == (60.0, 42, "starting")


def test_the_commands_to_try_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [shlex.split(line) for line in shown() if line.startswith("  dovetail ")]
    assert len(commands) == 6
    for command in commands:
        with pytest.raises(SystemExit) as ended:
            cli.main([*command[1:], "--help"])
        assert not ended.value.code


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    assert demo_folder(tmp_path / "new" / "one").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(HomeError, match="is not empty"):
        demo_folder(tmp_path)
    with pytest.raises(HomeError, match="cannot write there"):
        demo_folder(tmp_path / "file" / "below")


def test_the_feeder_feeds_and_says_when_it_is_done(tmp_path: Path) -> None:
    left, right = create_categories(str(tmp_path))
    done = threading.Event()
    feeder = Feeder(DemoStreams(7, searches_per_s=50), left, right, 1, done)
    feeder.start_once()
    feeder.start_once()
    assert done.wait(300)
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
    assert done.wait(300)
    with pytest.raises(OSError, match="disk full"):
        feeder.finish()


def test_the_first_signal_asks_and_the_second_insists(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopped_by_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(300)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().err == "stopping\n"
