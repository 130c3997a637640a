"""A sample of `dovetail torture`, and that it would notice."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_command
from dovetail.crash_points import FILE_VARIABLE, crash_point
from dovetail.service.torture import nursery, report, suite
from dovetail.service.torture.aggregate import Aggregate
from dovetail.service.torture.case import Case, Fault
from dovetail.service.torture.chain import ChainWorkload, Link, joined
from dovetail.service.torture.modes import (
    AGGREGATE,
    BY_VALUE,
    CHAIN,
    MODES,
    SPARK_TURNS,
    TURNS,
    VALUE_MODES,
    Mode,
)
from dovetail.service.torture.oracle import Result, Turn, difference
from dovetail.service.torture.quick_case import sort_of
from dovetail.service.torture.spark_case import wrong_in
from dovetail.service.torture.suite import Wish, kind_of, run_case, run_suite, turn_of
from dovetail.service.torture.workload import Workload


@pytest.mark.parametrize("seed", range(100, 103))
def test_a_sample_of_kills(tmp_path: Path, seed: int) -> None:
    cases = run_suite(Wish(seed, tmp_path, kills=5, only="quick"))
    assert sum(case.kills for case in cases) >= 5
    assert [(case.seed, case.number, case.wrong) for case in cases if case.wrong] == []
    assert list(tmp_path.iterdir()) == [], "what survived leaves nothing behind"


@pytest.mark.parametrize(
    ("number", "join", "seed"),
    [*((6, CHAIN, seed) for seed in (2, 3, 5)), (2, AGGREGATE, 1), (2, AGGREGATE, 3), (4, BY_VALUE, 1)],
)
def test_chains_aggregates_and_picks_that_are_killed(
    tmp_path: Path, number: int, join: str, seed: int
) -> None:
    case = run_case(seed, number, tmp_path)
    assert (sort_of(number), case.join, case.wrong) == (join, join, None)
    assert case.kills


def test_aggregates_by_hand() -> None:
    """Rows without a time are in no window, those without a key are a group. A session ends where a row is as
    late as the gap."""
    rows = [("a", 1, (7, 5)), ("a", 11, (1, None)), (None, 12, (None, 2)), ("a", None, (3, 3))]
    tumbling = Aggregate("tumbling", 10, 10, keyed=True)
    assert set(tumbling.over(rows)) == {
        (0, 10, 97, 1, 7, 5),
        (10, 20, 97, 1, 1, None),
        (10, 20, None, 1, None, 2),
    }
    hopping = Aggregate("hopping", 10, 5, keyed=False)
    assert set(hopping.over(rows)) == {
        (-5, 5, 1, 7, 5),
        (0, 10, 1, 7, 5),
        (5, 15, 2, 1, 2),
        (10, 20, 2, 1, 2),
    }
    apart, together = (Aggregate("session", gap, gap, keyed=False) for gap in (10, 11))
    assert set(apart.over(rows)) == {(1, 11, 1, 7, 5), (11, 22, 2, 1, 2)}
    assert set(together.over(rows)) == {(1, 23, 3, 8, 5)}


def test_every_window_and_every_pick_by_value_is_drawn() -> None:
    drawn = [Aggregate.of(f"1/{number}", keyed_sessions=True) for number in range(50)]
    assert {aggregate.shape for aggregate in drawn} == {"tumbling", "hopping", "session"}
    assert all(aggregate.keyed for aggregate in drawn)
    assert {Workload.by_value(f"1/{number}", 1).mode for number in range(400)} == set(VALUE_MODES)


def test_a_chain_by_hand() -> None:
    """The oracle of a chain: a lone row of the first join goes on with the time and key of its left side."""
    link = Link(Mode("left"), True, True, 5, 5, 10, 10)
    view = joined(link, [("a", 10, (0,)), ("b", 20, (1,))], [("a", 12, (7,)), ("a", 16, (8,))])
    assert view == [("a", 10, (0, 7)), ("b", 20, (1, None))]
    anti = replace(link, mode=Mode("anti"), view_is_left=False)
    assert joined(anti, view, [("b", 18, (3,)), ("c", 18, (4,))]) == [("c", 18, (4,))]


def test_chains_of_all_kinds_and_types_are_drawn() -> None:
    drawn = [ChainWorkload.of(f"1/{number}", 12) for number in range(150)]
    assert {len(chain.links) for chain in drawn} == {2, 3}
    first, last = ({chain.links[n].mode for chain in drawn} for n in (0, -1))
    for modes in (first, last):
        assert {mode.kind for mode in modes} == {"interval", "theta", "tumbling", "hopping", "session"}
        assert {mode.how for mode in modes} == {"inner", "left", "right", "full", "semi", "anti"}


def test_every_mode_of_every_kind_of_join_is_drawn() -> None:
    drawn = {Workload.of(f"1/{number}", 1).mode for number in range(2000)}
    assert drawn == {mode for modes in MODES.values() for mode in modes}


def test_what_a_seed_means_stays() -> None:
    """The order of draws is part of what a seed means: a later release can repeat a case that failed."""
    drawn = [str(Workload.of(f"1/{number}", 3).mode) for number in range(5)]
    assert drawn == ["session, full", "theta by rows, left, near", "left, nearest", "full", "hopping, inner"]
    made = Workload.of("1/0", 3)
    assert made.left == [("b", 32, 0), ("b", 42, 1), ("d", 65, 2)]
    assert made.right == [("h", 52, 0), ("e", None, 1), ("g", 48, 2)]


def test_a_case_is_the_same_again(tmp_path: Path) -> None:
    first, second = (run_case(7, 5, tmp_path) for _ in range(2))
    assert first.what == second.what
    assert first.faults[:1] == second.faults[:1]
    assert first.kills


def test_a_wrong_result_is_noticed_kept_and_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Workload.expected
    monkeypatch.setattr(Workload, "expected", lambda *given: right(*given) + Counter({(1, 999): 1}))
    assert run_command("torture", "--seed", "7", "--case", "1", "--home", str(tmp_path)) == 1
    printed = capsys.readouterr().err
    assert "1 rows lost, 0 twice, 0 wrong" in printed
    assert "dovetail torture --seed 7 --case 1" in printed
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
    ("found", "wrong"),
    [
        ([(1, 2), (3, None)], None),
        ([(1, 2)], "1 rows lost, 0 twice, 0 wrong; lost [(3, None)], too many []"),
        ([(1, 2), (1, 2), (3, None)], "0 rows lost, 1 twice, 0 wrong; lost [], too many [(1, 2)]"),
        ([(1, 2), (3, 2)], "1 rows lost, 0 twice, 1 wrong; lost [(3, None)], too many [(3, 2)]"),
    ],
)
def test_what_is_wrong_is_said(found: list[tuple[int, int | None]], wrong: str | None) -> None:
    assert difference(found, Counter([(1, 2), (3, None)])) == wrong


def test_the_table_counts_by_kind_and_point() -> None:
    kill, lost = (
        Fault("files", "SIGKILL", "at any time"),
        Fault("files", "before a start", "lost", kills=False),
    )
    fine = Case(1, 0, Path("a"), "left", [kill, kill, lost])
    wrong = Case(1, 1, Path("b"), "full", [kill], "2 rows lost")
    assert report.lines([fine, wrong]) == [(kill, 3, 2), (lost, 1, 1)]
    other = Case(1, 2, Path("c"), "tumbling, left", [kill], runs_on="Spark", join="tumbling")
    assert report.join_lines([fine, wrong, other]) == [
        ("Spark", "tumbling", 1, 1, 1),
        ("files", "interval", 2, 1, 3),
    ]
    assert report.summary([fine, wrong]) == "2 joins, 3 kills, 0 of them on Spark; 1 joins failed"
    text = report.to_markdown([fine], "dovetail torture --seed 1")
    assert "| files | SIGKILL | at any time | 2 | 2 |" in text
    assert "| files | interval | 1 | 1 | 2 |" in text
    assert "all outputs equal to the oracle's." in text
    as_json = json.loads(json.dumps(report.to_json([fine, wrong])))
    assert as_json["kills"] == 3
    assert as_json["kinds"] == [
        {"runs_on": "files", "join": "interval", "tried": 2, "survived": 1, "kills": 3}
    ]
    assert as_json["failed"] == [{"seed": 1, "case": 1, "what": "2 rows lost", "folder": "b"}]


class Ran:
    """An application on Spark that has come to its end."""

    def __init__(self, turns: list[Turn], result: list[Result]) -> None:
        self.turns = lambda: turns
        self.result = lambda: result


def test_where_rows_are_counted_the_order_they_entered_in_is_looked_at_too() -> None:
    workload = Workload.of("a seed", 40, ("theta by rows",))
    assert workload.mode.emits_pairs
    turns: list[Turn] = [("right", workload.right), ("left", workload.left)]
    result = list(workload.expected(turns).elements())
    assert wrong_in(Ran(turns, result), workload) is None  # type: ignore[arg-type]
    other: list[Turn] = [("left", workload.left), ("right", workload.right)]
    assert "rows lost" in str(wrong_in(Ran(other, result), workload))  # type: ignore[arg-type]
    short: list[Turn] = [turns[0], ("left", workload.left[1:])]
    assert "of the left rows that entered: 1 rows lost" in str(
        wrong_in(Ran(short, result), workload)  # type: ignore[arg-type]
    )


def test_cases_on_spark_come_at_fixed_numbers(tmp_path: Path) -> None:
    """So that a number says what a case is, whatever else is asked for."""
    numbers = Wish(1, tmp_path, only="spark").numbers()
    first, second = next(numbers), next(numbers)
    assert second - first == 35
    assert kind_of(first) == "spark"
    assert kind_of(first + 1) == "quick"


def test_every_kind_of_join_has_its_turn_on_spark(tmp_path: Path) -> None:
    turns = [turn_of(number) for number in itertools.islice(Wish(1, tmp_path, only="spark").numbers(), 13)]
    assert turns == list(TURNS)
    assert set(SPARK_TURNS) < set(TURNS)
    drawn = {Workload.on_spark(f"1/{number}", turn, 1).mode for number in range(300) for turn in SPARK_TURNS}
    assert drawn == {mode for modes in SPARK_TURNS.values() for mode in modes}
    assert {mode.kind for mode in drawn} == set(MODES)
    assert {mode.kind for mode in drawn if mode.how == "right" and mode.theta} == {"theta", "theta by rows"}
    assert {mode.kind for mode in drawn if mode.dataframes} == {"interval", "tumbling", "hopping", "session"}


def test_kills_on_spark_are_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(seed: int, number: int, folder: Path, servers: object) -> Case:
        count = 8 if kind_of(number) == "spark" else 2
        return Case(seed, number, folder, faults=[Fault("", "SIGKILL", "")] * count)

    monkeypatch.setattr(suite, "run_case", killed)
    cases = run_suite(Wish(1, tmp_path, kills=304, spark=104))
    kills = Counter[str]()
    for case in cases:
        kills[kind_of(case.number)] += case.kills
    assert kills == {"quick": 200, "spark": 104}
    assert {turn_of(case.number) for case in cases if kind_of(case.number) == "spark"} == set(TURNS)
    assert {kind_of(case.number) for case in run_suite(Wish(1, tmp_path, spark=10))} == {"spark"}
    assert sum(case.kills for case in run_suite(Wish(1, tmp_path, kills=10))) == 10


def _pass(times: int) -> None:
    for _ in range(times):
        crash_point("sink", "begun")
        crash_point("sink", "written")


def test_a_point_in_a_file_kills_one_process(tmp_path: Path) -> None:
    orders, log = tmp_path / "orders", tmp_path / "log"
    orders.write_text("sink.written")
    running = [nursery.start(_pass, (1000,), {FILE_VARIABLE: str(orders)}, log) for _ in range(4)]
    for process in running:
        process.join(300)
    assert sorted(process.exitcode or 0 for process in running) == [-9, 0, 0, 0]
    assert not orders.exists()
