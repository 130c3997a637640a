"""The report: which keys its JSON has, what is a median, and when results count as equal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench import interval
from bench.child import Order, dataset_from_json, dataset_to_json
from bench.dovetail_run import query
from bench.measure import Figures
from bench.reference import Counts
from bench.report import Outcome, Report
from bench.workload import Dataset, Workload, generate
from rich.console import Console

from dovetail.pql.parser import parse

EXPECTED = Counts(matched=40, unmatched=60)
KEYS = {
    "rows_per_s",
    "spark_rows_per_s",
    "ratio",
    "cold_start_s",
    "peak_rss_bytes",
    "state_bytes_per_row",
    "matched",
    "unmatched",
    "equal",
    "rows",
    "window_minutes",
    "repeats",
    "systems",
    "versions",
    "cores",
}


def outcome(system: str, rows_per_s: float, counts: Counts = EXPECTED) -> Outcome:
    figures = Figures(200 / rows_per_s, 200, counts.matched, counts.unmatched, None, 10, 320)
    return Outcome(system, figures, cpu_s=1.0, cold_start_s=3.0, peak_rss_bytes=1_000)


REPORT = Report(
    rows=100,
    window_minutes=3.0,
    max_delay_s=60.0,
    cores=2,
    repeats=3,
    expected=EXPECTED,
    outcomes=tuple(
        outcome(system, speed)
        for system, speeds in (("dovetail", (90.0, 100.0, 500.0)), ("spark", (9.0, 10.0, 11.0)))
        for speed in speeds
    ),
    versions={"python": "3"},
    spark_setup={"partitions": 2},
)


def test_the_json_has_the_promised_keys_and_is_json() -> None:
    said = json.loads(json.dumps(REPORT.to_json()))
    assert set(said) >= KEYS
    assert set(said["systems"]) == {"dovetail", "spark"}
    assert len(said["systems"]["spark"]) == 3
    assert set(said["systems"]["spark"][0]) == {
        *("elapsed_s", "rows_per_s", "cpu_s", "cold_start_s", "peak_rss_bytes", "state_rows", "state_bytes"),
        *("state_bytes_per_row", "matched", "unmatched", "details"),
    }


def test_figures_are_medians_and_the_ratio_is_theirs() -> None:
    said = REPORT.to_json()
    assert (said["rows_per_s"], said["spark_rows_per_s"], said["ratio"]) == (100.0, 10.0, 10.0)
    assert said["state_bytes_per_row"] == 32
    assert (said["matched"], said["unmatched"]) == (40, 60)


@pytest.mark.parametrize("wrong", [Counts(41, 60), Counts(40, 59)])
def test_one_differing_repeat_is_enough_to_be_unequal(wrong: Counts) -> None:
    assert REPORT.equal
    differs = replace(REPORT, outcomes=(*REPORT.outcomes, outcome("spark", 10.0, wrong)))
    assert not differs.equal
    assert differs.to_json()["equal"] is False


def test_no_outcome_at_all_is_not_equal() -> None:
    assert not replace(REPORT, outcomes=()).equal


def test_one_system_alone_has_no_ratio() -> None:
    alone = replace(REPORT, outcomes=tuple(REPORT.of("spark")))
    said = alone.to_json()
    assert (said["rows_per_s"], said["ratio"], said["spark_rows_per_s"]) == (None, None, 10.0)
    assert set(said["systems"]) == {"spark"}


def test_the_table_fits_a_plain_terminal_and_tells_the_truth() -> None:
    console = Console(width=80, file=io.StringIO())
    with console.capture() as captured:
        console.print(REPORT.table())
    text = captured.get()
    assert "…" not in text
    for expected in ("10.0", "90 .. 500", "dovetail", "equal to the batch join"):
        assert expected in text
    assert "NOT equal" not in text


def test_the_query_is_pql_with_every_column_of_both_sides(tmp_path: Path) -> None:
    dataset = Dataset(Workload(rows=10, files=1), tmp_path, 561_000_000)
    text = query(dataset, 90_500_000)
    parse(text, name="bench")
    for needed in (
        "INTERVAL '561 seconds'",
        "INTERVAL '90.500000 seconds'",
        "l.label AS left_label",
        "r.tag",
    ):
        assert needed in text


def test_an_order_reaches_the_child_whole(tmp_path: Path) -> None:
    dataset = generate(Workload(rows=10, files=1), tmp_path)
    said = dataset_to_json(dataset)
    order = Order("spark", said, said, 1, 2, "1g", {"partitions": 2}, "work", "outcome", 0.0)
    assert Order(**json.loads(order.to_json())) == order
    assert dataset_from_json(json.loads(order.to_json())["timed"]) == dataset


@pytest.mark.parametrize(
    "argv", [["--rows", "5"], ["--cores", "0"], ["--window-minutes", "-1"], ["--only", "flink"]]
)
def test_options_that_make_no_sense_are_refused_before_anything_runs(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        interval.main(argv)
    assert ended.value.code == 2
    assert "dovetail bench interval: error:" in capsys.readouterr().err
