"""`dovetail status`: the list of applications, whether they run, how old figures are, what joins wait for."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_command
from dovetail.engine.hold import running
from dovetail.engine.measure import SourceMeasure, SourceState, measure
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.log.source_progress import SourceReport, write_report
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.plan.application_file import application_path, encode
from dovetail.plan.physical import CategoryOutput, JoinStage, NoopSink, Plan, SlicerStage
from dovetail.service.applications import FRESH_S, is_running
from dovetail.service.metrics import MeasuredJoin
from dovetail.service.words.status_words import QUIET_US, age_words, waiting_words
from unit.engine.stepping import Driven

SPEC = IntervalSpec(30, 40, "left")
SECOND = 1_000_000


def plan(name: str, left: str, right: str) -> Plan:
    sides = [
        SlicerStage(side, (), (), "", CategoryOutput(side, ("_key_0",), "_time", 4)) for side in (left, right)
    ]
    settings = JoinSettings(0, 0, 77, None)
    join = JoinStage("view", left, right, IntervalJoin(SPEC), settings, "source", (), (), "", NoopSink())
    return Plan(name, (*sides, join))


@pytest.fixture
def home(tmp_path: Path) -> str:
    """Application `app` has made one step, `bad` has a damaged plan."""
    join = Driven.make(tmp_path, SPEC)
    join.append("left", ("a", 100))
    join.step()
    store = open_store(join.config.home)
    store.replace(application_path("app"), encode(plan("app", "left", "right")))
    store.make_folder("apps/bad")
    store.replace(application_path("bad"), b"{}")
    return join.config.home


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command("status", *arguments) == 0
    return capsys.readouterr().out


def test_without_a_name_it_lists_the_applications(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    app, bad = run(capsys, "--home", home).splitlines()
    assert app.startswith("app  stopped  join view: step 1, ")
    assert app.endswith(" ago")
    assert bad.startswith("bad  ")
    assert "this is not" in bad or "file" in bad
    said = json.loads(run(capsys, "--home", home, "--json"))["applications"]
    assert [one["name"] for one in said] == ["app", "bad"]
    assert said[0]["running"] is False
    assert said[0]["joins"][0]["step"] == 1
    assert said[1]["error"]["condition"]


def test_an_application_that_has_not_begun(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(home)
    store.make_folder("apps/new")
    store.replace(application_path("new"), encode(plan("new", "new.l", "new.r")))
    assert run(capsys, "--home", home).splitlines()[-1] == "new  stopped  no step yet"


def test_a_home_without_applications_says_how_to_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "dovetail run FILE" in run(capsys, "--home", str(tmp_path / "none"))


def test_a_held_lock_is_a_running_application(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert is_running(home, "app") is False
    with running(str(home), "app"):
        assert is_running(home, "app") is True
        assert run(capsys, "app", "--home", home).startswith("app  running  version 1\n")
        line, waits = run(capsys, "--home", home).splitlines()[:2]
        assert "running" in line
        assert waits == "  join view: waiting for the right stream: it has no rows yet"
    assert is_running(home, "app") is False
    assert "waiting" not in run(capsys, "app", "--home", home), "a stopped application waits for nothing"


def test_a_lease_is_believed_while_its_metrics_are_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path))
    store.make_folder("apps/app")
    monkeypatch.setattr(type(store), "local", False)
    assert is_running(str(tmp_path), "app") is False
    store.replace("apps/app/lease.json", b"{}")
    assert is_running(str(tmp_path), "app") is None
    monkeypatch.setattr("dovetail.service.applications.time.time", lambda: 1000.0)
    for age_s, wanted in ((1, True), (FRESH_S + 1, None)):
        body = json.dumps({"measured_at_us": int((1000 - age_s) * 1e6)})
        store.replace("apps/app/metrics.json", body.encode())
        assert is_running(str(tmp_path), "app") is wanted


@pytest.fixture
def join(tmp_path: Path) -> MeasuredJoin:
    """Its left row is open until the right stream's time passes its window."""
    driven = Driven.make(tmp_path, SPEC)
    driven.append("left", ("a", 100))
    driven.append("right", ("b", 100))
    driven.step()
    found = measure(driven.config, 1_000 * SECOND)
    found = replace(found, left=replace(found.left, held_rows=1))
    return MeasuredJoin(found, IntervalJoin(SPEC), None, (), 995 * SECOND, (0, 0))


def test_how_old_the_figures_are(join: MeasuredJoin) -> None:
    assert age_words(join) == "step 1, 5 s ago"
    assert age_words(replace(join, stepped_at_us=1_000 * SECOND)) == "step 1, 0 s ago"
    assert age_words(replace(join, stepped_at_us=None)) == "no step yet"


def test_what_a_join_waits_for(join: MeasuredJoin) -> None:
    now = join.measure.measured_at_us
    idle = replace(join, newest_commit_us=(now, now - 95 * SECOND))
    assert waiting_words(idle) == (
        "right stream idle since 1970-01-01 00:15:05 UTC (1 min 35 s), see idle_timeout"
    )
    assert waiting_words(replace(join, newest_commit_us=(now, now - QUIET_US))) == ""
    assert waiting_words(replace(join, newest_commit_us=(0, now))) == "", "nothing waits for the left stream"
    carried = replace(idle.measure, right=replace(idle.measure.right, carried=True))
    assert waiting_words(replace(idle, measure=carried)) == "", "idle_timeout has put its time forward"
    ahead = replace(idle.measure, right=replace(idle.measure.right, backlog_rows=7))
    left = replace(join, measure=ahead, newest_commit_us=(now - 60 * SECOND, now))
    assert waiting_words(left).startswith("left stream idle since")


def test_a_silent_stream_whose_slicer_says_why(join: MeasuredJoin) -> None:
    """Only an empty source is called idle."""
    now = join.measure.measured_at_us
    quiet = replace(join, newest_commit_us=(now, now - 95 * SECOND))

    def waiting(state: SourceState, **known: int) -> str:
        said = {"files": None, "bytes": None, "rows": None, "newest_us": None, **known}
        source = SourceMeasure(state, now - 60 * SECOND, now, **said)
        right = replace(quiet.measure.right, source=source)
        return waiting_words(replace(quiet, measure=replace(quiet.measure, right=right)))

    at = "since 1970-01-01 00:15:40 UTC"
    assert waiting("empty").startswith("right stream idle since")
    assert waiting("behind", files=3, bytes=3 << 29) == (
        f"waiting for the right stream: slicer behind {at}, 3 files, 1.50 GiB waiting"
    )
    assert waiting("behind", rows=1) == f"waiting for the right stream: slicer behind {at}, 1 row waiting"
    assert waiting("behind") == f"waiting for the right stream: slicer behind {at}"
    assert waiting("silent") == f"waiting for the right stream: slicer silent {at}"
    assert waiting("waiting") == f"waiting for the right stream: source waits for its own sources {at}"


def test_what_slicers_say_is_in_every_form(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = (Category.open(home, side) for side in ("left", "right"))
    now_us = time.time_ns() // 1000
    write_report(left, SourceReport("app.left", "app", "behind", 9, now_us, 5 * SECOND, 3, 2048, None, 7))
    write_report(right, SourceReport("app.right", "app", "empty", 9, SECOND, 0, None, None, 0))
    text = run(capsys, "app", "--home", home)
    (line,) = [line for line in text.splitlines() if line.startswith("not sliced yet")]
    assert [word for word in line.split("  ") if word][1:] == ["3 files, 2.00 KiB", "0 rows"]
    assert "left: slicer behind since 1970-01-01 00:00:05 UTC, 3 files, 2.00 KiB waiting" in text
    assert "right: slicer silent since 1970-01-01 00:00:01 UTC" in text, "its report is years old"
    (said,) = json.loads(run(capsys, "app", "--home", home, "--json"))["joins"]
    assert said["left"]["source"] == {
        "state": "behind",
        "since_us": 5 * SECOND,
        "looked_at_us": now_us,
        "files": 3,
        "bytes": 2048,
        "rows": None,
        "newest_us": 7,
        "trouble": None,
    }
    metrics = run(capsys, "app", "--home", home, "--prometheus")
    labels = 'application="app",join="view",side="left"'
    assert f"dovetail_stream_unsliced_files{{{labels}}} 3.0" in metrics
    assert f"dovetail_stream_unsliced_bytes{{{labels}}} 2048.0" in metrics
    assert f'dovetail_stream_source{{{labels},state="behind"}} 1.0' in metrics
    assert 'side="right",state="silent"} 1.0' in metrics


@pytest.mark.parametrize(
    ("totals", "words"),
    [({}, "0"), ({"missed": 1234}, "1,234"), ({"missed": 1234, "missed_variance": 101}, "1,234 ± 10")],
)
def test_what_was_missed_has_its_error(totals: dict[str, int], words: str) -> None:
    from dovetail.service.cli.status import missed_words

    assert missed_words(totals) == words
