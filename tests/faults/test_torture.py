"""A sample of `dovetail torture`, and that it would notice."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from dovetail.crash_points import FILE_VARIABLE, passing
from dovetail.service import cli
from dovetail.service.torture import nursery, report
from dovetail.service.torture.case import Case, Fault
from dovetail.service.torture.oracle import difference
from dovetail.service.torture.suite import Wish, kind_of, run_case, run_suite
from dovetail.service.torture.workload import Workload


@pytest.mark.parametrize("seed", range(100, 106))
def test_a_sample_of_kills(tmp_path: Path, seed: int) -> None:
    cases = run_suite(Wish(seed, tmp_path, kills=5, only="quick"))
    assert sum(case.kills for case in cases) >= 5
    assert [(case.seed, case.number, case.wrong) for case in cases if case.wrong] == []
    assert list(tmp_path.iterdir()) == [], "what survived leaves nothing behind"


def test_a_case_is_the_same_again(tmp_path: Path) -> None:
    first, second = (run_case(7, 5, tmp_path) for _ in range(2))
    assert first.what == second.what
    assert first.faults[:1] == second.faults[:1]
    assert first.kills


def test_a_wrong_result_is_noticed_kept_and_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Workload.expected
    monkeypatch.setattr(Workload, "expected", lambda self: right(self) + Counter({(1, 999): 1}))
    with pytest.raises(SystemExit) as ended:
        cli.main(["torture", "--seed", "7", "--case", "1", "--home", str(tmp_path)])
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert "1 rows lost, 0 twice, 0 wrong" in told
    assert "dovetail torture --seed 7 --case 1" in told
    assert (tmp_path / "7-1" / "home").exists() or list((tmp_path / "7-1").glob("home-*"))


def test_a_join_that_cannot_go_on_is_told_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = run_case(7, 3, tmp_path)
    assert case.wrong is None
    monkeypatch.setattr("dovetail.service.torture.quick_join.run", _cannot)
    assert "ended with status 1: RuntimeError: no way" in str(run_case(7, 3, tmp_path).wrong)


def _cannot(*_: object) -> None:
    raise RuntimeError("no way")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([(1, 2), (3, None)], None),
        ([(1, 2)], "1 rows lost, 0 twice, 0 wrong; lost [(3, None)], too many []"),
        ([(1, 2), (1, 2), (3, None)], "0 rows lost, 1 twice, 0 wrong; lost [], too many [(1, 2)]"),
        ([(1, 2), (3, 2)], "1 rows lost, 0 twice, 1 wrong; lost [(3, None)], too many [(3, 2)]"),
    ],
)
def test_what_is_wrong_is_said(found: list[tuple[int, int | None]], told: str | None) -> None:
    assert difference(found, Counter([(1, 2), (3, None)])) == told


def test_the_table_counts_by_kind_and_point() -> None:
    kill, lost = (
        Fault("files", "SIGKILL", "at any time"),
        Fault("files", "before a start", "lost", kills=False),
    )
    fine = Case(1, 0, Path("a"), "left", [kill, kill, lost])
    wrong = Case(1, 1, Path("b"), "full", [kill], "2 rows lost")
    assert report.lines([fine, wrong]) == [(kill, 3, 2), (lost, 1, 1)]
    assert report.summary([fine, wrong]) == "2 joins, 3 kills, 0 of them on Spark; 1 joins failed"
    text = report.to_markdown([fine], "dovetail torture --seed 1")
    assert "| files | SIGKILL | at any time | 2 | 2 |" in text
    assert "all outputs equal to the oracle's." in text
    told = json.loads(json.dumps(report.to_json([fine, wrong])))
    assert told["kills"] == 3
    assert told["failed"] == [{"seed": 1, "case": 1, "what": "2 rows lost", "folder": "b"}]


def test_cases_on_spark_come_at_fixed_numbers(tmp_path: Path) -> None:
    """So that a number says what a case is, whatever else is asked for."""
    numbers = Wish(1, tmp_path, only="spark").numbers()
    first, second = next(numbers), next(numbers)
    assert second - first == 35
    assert kind_of(first) == "spark"
    assert kind_of(first + 1) == "quick"


def _pass(times: int) -> None:
    for _ in range(times):
        passing("sink", "begun")
        passing("sink", "written")


def test_a_point_in_a_file_kills_one_process(tmp_path: Path) -> None:
    orders, log = tmp_path / "orders", tmp_path / "log"
    orders.write_text("sink.written")
    running = [nursery.start(_pass, (1000,), {FILE_VARIABLE: str(orders)}, log) for _ in range(4)]
    for process in running:
        process.join(60)
    assert sorted(process.exitcode or 0 for process in running) == [-9, 0, 0, 0]
    assert not orders.exists()
