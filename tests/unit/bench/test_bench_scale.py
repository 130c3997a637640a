"""The model of `bench scale`, and that the page has the tables which the command makes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.scale import COSTS, PAGE, main, read_model, write_model
from bench.scale_measure import SECONDS, Point, line, step_cpu_s
from bench.scale_model import Model
from bench.scale_tables import TABLES, tables
from bench.tables import with_tables

from dovetail.errors import InputError, RunError

MODEL = read_model()


def test_the_page_has_the_tables_of_the_stored_costs() -> None:
    page = PAGE.read_text()
    assert with_tables(page, tables(MODEL)) == page
    assert all(f"<!-- table: {name} -->" in page for name in TABLES)


def test_the_page_says_what_breaks_first() -> None:
    assert MODEL.held(1_000, 1.0).first_to_break == "coordinator"
    _, _, after = PAGE.read_text().partition("## What breaks first")
    assert after.lstrip().startswith("**The coordinator.**")


def test_costs_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_model(MODEL, tmp_path / "costs.json")
    assert read_model(tmp_path / "costs.json") == MODEL


def test_costs_of_another_version_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "costs.json"
    other.write_text(json.dumps(json.loads(COSTS.read_text()) | {"version": 99}))
    with pytest.raises(InputError, match="version 99"):
        read_model(other)


def test_more_cores_hold_more_rows_and_take_as_long_to_recover() -> None:
    small, large = MODEL.held(16, 30.0), MODEL.held(32, 30.0)
    assert large.rows_per_s == pytest.approx(2 * small.rows_per_s)
    assert large.window_rows == pytest.approx(2 * small.window_rows)
    assert large.recovery_s == pytest.approx(small.recovery_s)
    assert large.hourly_rows_per_s <= large.rows_per_s
    assert large.hourly_rows_per_s * 3600 <= large.window_rows


def test_a_step_is_as_long_as_its_coordinator_needs() -> None:
    most = MODEL.most_tasks(5.0)
    assert MODEL.held(most, 5.0).step_s == 5.0
    beyond = MODEL.held(2 * most, 5.0)
    assert beyond.step_s > 5.0
    assert beyond.coordinator_load > 1 >= MODEL.held(most, 5.0).coordinator_load


def test_cheaper_tasks_let_a_coordinator_start_more() -> None:
    costs = replace(MODEL.costs, coordinator_task_s=MODEL.costs.coordinator_task_s / 10)
    assert Model(costs, MODEL.machines).most_tasks(5.0) > MODEL.most_tasks(5.0)


def test_the_part_with_the_greatest_load_breaks_first() -> None:
    held = replace(MODEL.held(2, 30.0), coordinator_load=0.5, home_load=2.0, log_load=1.5)
    assert held.first_to_break == "home"
    assert replace(held, home_load=0.1, log_load=0.9).first_to_break == "cores"


def test_two_runs_tell_a_step_from_its_tasks() -> None:
    assert line(Point(2, 0.5), Point(16, 1.2)) == pytest.approx((0.05, 0.4))
    with pytest.raises(RunError, match="no more"):
        line(Point(2, 0.5), Point(16, 0.4))


def test_cpu_time_of_a_step_is_that_of_the_kinds_asked_for() -> None:
    run = {
        "cores_by_kind": {"driver": 0.2, "jvm": 0.4, "workers": 0.1},
        "phases": {"joined": {"batches": 2 * SECONDS}},
    }
    assert step_cpu_s(run, "driver", "jvm") == pytest.approx(0.3)
    assert step_cpu_s(run, "workers", "none of these") == pytest.approx(0.05)


def test_the_document_has_every_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["clusters"]) == len(list(MODEL.grid()))
