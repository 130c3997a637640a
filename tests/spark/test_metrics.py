"""Metrics of a run, through the whole of Spark: as files, over HTTP while it runs, by `dovetail status`."""

from __future__ import annotations

import json
import threading
import urllib.request

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from commands import run_command
from dovetail.service import metrics_reporter
from dovetail.service.cli.run import run_application
from dovetail.service.figures import RunFigures
from dovetail_dev.ports import free_port
from spark.application import Application
from spark.events import events, write_files
from spark.pairs import pairs
from spark.test_skew import skewed

ROWS = 20_000
PQL = pairs("LEFT", 'stream_time = "percentile", sample_rows = 500', storage="NOOP")
Samples = dict[tuple[str, ...], float]


def samples(text: str) -> Samples:
    """Values by metric and labels."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = [sample.labels[name] for name in sorted(sample.labels) if name != "application"]
            found[sample.name, *labels] = sample.value
    return found


def test_files_and_status(application: Application, capsys: pytest.CaptureFixture[str]) -> None:
    tables: dict[str, pa.Table] = {"l": skewed(61, 0.3).slice(0, ROWS), "r": events(ROWS, 2000, 62)}
    for name, table in tables.items():
        write_files(table, application.folder / name, 5)
    (join,) = application.run(PQL, "available-now").joins
    folder = application.folder / "home/apps/app"
    said = json.loads((folder / "metrics.json").read_text())["joins"][0]
    assert said["totals"]["pairs"] == join.matches > 0
    assert said["match_rate"] == join.match_rate
    assert (said["left"]["rows"], said["left"]["backlog_rows"]) == (ROWS, 0)
    assert said["left"]["held_rows"] == join.open_rows
    assert said["left"]["frequent"][0]["key"] == ["7"]
    assert said["left"]["frequent"][0]["share"] == pytest.approx(0.3, abs=0.02)
    assert said["right"]["accuracy"] > 0.9
    assert said["match_distance_us"]["after"]["p99"] <= 300_000_000
    found = samples((folder / "metrics.prom").read_text())
    assert found["dovetail_join_matches_total", "pairs"] == join.matches
    assert found["dovetail_stream_rows_total", "pairs", "right"] == ROWS
    assert found["dovetail_stream_key_ratio", "pairs", "7", "left"] == pytest.approx(0.3, abs=0.02)
    assert run_command("status", "app", "--home", application.home) == 0
    said = capsys.readouterr().out
    assert f"matches {join.matches:,}" in said
    assert "frequent keys, left: 7 (" in said
    run_command("status", "app", "--home", application.home, "--prometheus")
    assert samples(capsys.readouterr().out).keys() == found.keys()


def test_served_while_it_runs(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_reporter, "EVERY_S", 0.2)
    for name, seed in (("l", 63), ("r", 64)):
        write_files(events(ROWS, 2000, seed), application.folder / name, 4)
    port = free_port()
    stop, fetched = threading.Event(), []

    def look(now: RunFigures) -> None:
        if now.joins and now.joins[0].matches:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                fetched.append(samples(answer.read().decode()))
            if fetched[-1].get(("dovetail_join_matches_total", "pairs"), 0) > 0:
                stop.set()

    path = application.folder / "app.pql"
    fixed = PQL.replace('stream_time = "percentile", sample_rows = 500', "tasks = 2")
    path.write_text(fixed.replace("{here}", str(application.folder)))
    run_application(
        path,
        home=application.home,
        master="local[2]",
        mode="stream",
        settings={},
        on_figures=look,
        stop=stop,
        spark=application.spark,
        metrics_port=port,
    )
    assert 0 <= fetched[-1]["dovetail_join_match_ratio", "pairs"] <= 1
    assert fetched[-1]["dovetail_stream_delay_seconds", "pairs", "left"] > 0
