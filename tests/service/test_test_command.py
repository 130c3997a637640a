"""`dovetail test`: order, stopping, totals, and statuses that cannot hide a failure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_command
from dovetail.service.checkout import find_checkout
from dovetail_dev import fetch_ahead, test_command
from dovetail_dev.test_command import NOTHING_RAN, SHORT_LIVED, TIERS, count, run_tiers

LINT, PURE, LAWS, FAULTS, WHOLE, SPARK, BROWSER, CONNECTORS, FULL, SEARCH, FUZZ = TIERS
USUAL = [tier for tier in TIERS if tier.usual]
Runner = Callable[[Sequence[str], Path, Mapping[str, str]], int]


def junit(tests: int, failures: int = 0, errors: int = 0, skipped: int = 0) -> str:
    counts = f'tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    return f"<testsuites><testsuite {counts}/></testsuites>"


def fake(reports: dict[str, tuple[int, str | None]], seen: list[str]) -> Runner:
    """A runner that writes the JUnit file of the tier whose first folder is on the command line."""

    def run(command: Sequence[str], root: Path, environment: Mapping[str, str]) -> int:
        if "pytest" not in command:
            seen.append("lint")
            return 0
        folder = next(part for part in command if part.startswith("tests/"))
        seen.append(folder)
        status, text = reports[folder]
        if text is not None:
            Path(next(p for p in command if p.startswith("--junitxml=")).partition("=")[2]).write_text(text)
        return status

    return run


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for tier in TIERS:
        for folder in tier.folders:
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    return tmp_path


def test_all_tiers_pass_and_the_last_line_is_the_total(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    reports = {
        "tests/unit": (0, junit(10, skipped=1)),
        "tests/laws": (0, junit(4)),
        "tests/simulation": (0, junit(3)),
        "tests/spark": (0, junit(4)),
    }
    assert run_tiers(USUAL, checkout, [], fake(reports, seen)) == 0
    assert seen == ["lint"] * 5 + ["tests/unit", "tests/laws", "tests/simulation", "tests/spark"]
    assert capsys.readouterr().out.splitlines()[-1] == "25 passed, 0 failed"


def test_stops_at_the_first_failing_tier_with_its_status(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    reports = {"tests/unit": (0, junit(10)), "tests/laws": (1, junit(4, failures=1, errors=1))}
    assert run_tiers([PURE, LAWS, WHOLE], checkout, [], fake(reports, seen)) == 1
    assert seen == ["tests/unit", "tests/laws"]
    assert capsys.readouterr().out.splitlines()[-1] == "12 passed, 2 failed"


@pytest.mark.parametrize("report", [(0, junit(0)), (0, None), (0, junit(3, skipped=3)), (5, junit(0))])
def test_a_tier_that_ran_nothing_fails(checkout: Path, report: tuple[int, str | None]) -> None:
    assert run_tiers([PURE], checkout, [], fake({"tests/unit": report}, [])) == NOTHING_RAN


def test_a_tier_without_folders_fails(tmp_path: Path) -> None:
    assert run_tiers([PURE], tmp_path, [], fake({}, [])) == NOTHING_RAN


def test_a_selection_may_leave_a_tier_empty_but_not_all(checkout: Path) -> None:
    empty, some = (NOTHING_RAN, junit(0)), (0, junit(1))
    reports = {"tests/unit": empty, "tests/laws": some}
    assert run_tiers([PURE, LAWS], checkout, ["-k", "one"], fake(reports, [])) == 0
    assert run_tiers([PURE], checkout, ["-k", "none"], fake(reports, [])) == NOTHING_RAN


def test_a_crash_that_left_no_report_keeps_its_status(tmp_path: Path) -> None:
    assert count(tmp_path / "none.xml", 139).status == 139


def test_a_real_pytest_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tests/unit").mkdir(parents=True)
    (tmp_path / "tests/unit/test_two.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    assert run_tiers([replace(PURE, processes=0)], tmp_path, []) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"


def test_arguments_after_the_dashes_are_pytests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(
        "dovetail_dev.test_command.run_tiers",
        lambda tiers, root, extra: asked.append((tiers, extra)) or 0,
    )
    run_command("test", "laws", "pure", "--", "-k", "one or two", "--list")
    assert asked == [([LAWS, PURE], ["-k", "one or two", "--list"])]


def test_long_tiers_run_when_they_are_named_and_look_further(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(
        test_command, "run_tiers", lambda tiers, root, extra: asked.append([t.name for t in tiers]) or 0
    )
    for arguments in ([], ["full", "search"]):
        run_command("test", *arguments)
    usual = ["lint", "pure", "laws", "faults", "whole"]
    assert asked == [usual, ["full", "search"]]

    given: list[Mapping[str, str]] = []
    run_tiers([LAWS, SEARCH], checkout, [], lambda command, root, environment: given.append(environment) or 1)
    for tier in (FULL, SEARCH):
        run_tiers([tier], checkout, [], lambda command, root, environment: given.append(environment) or 1)
    thorough = {"HYPOTHESIS_PROFILE": "thorough"}
    more = {"DOVETAIL_RANDOM_QUERIES": "500", "FUZZ_MUTANTS": "100000"}
    assert given == [{}, {**SHORT_LIVED, **thorough}, {**thorough, **more}]


def test_outside_a_checkout_there_are_no_commands_for_developers(tmp_path: Path) -> None:
    assert find_checkout(tmp_path / "lib/site-packages/dovetail/service/checkout.py") is None
    assert find_checkout() == Path(__file__).parents[2]


def test_files_of_tests_are_in_memory_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_command, "IN_MEMORY", tmp_path)
    monkeypatch.setattr(test_command, "ROOM_BYTES", 1)
    assert test_command.quick_folder() == tmp_path
    monkeypatch.setattr(test_command, "ROOM_BYTES", 1 << 60)
    assert test_command.quick_folder() is None
    monkeypatch.setattr(test_command, "IN_MEMORY", tmp_path / "none")
    assert test_command.quick_folder() is None


def test_kernels_can_be_compiled_ahead() -> None:
    """Without the compiler here, for time's sake: whether the program runs at all."""
    (command,) = (one for one in test_command.AHEAD if "dovetail_dev.compile_ahead" in one)
    path = os.pathsep.join(filter(None, (str(test_command.DEV), os.environ.get("PYTHONPATH"))))
    subprocess.run(command, check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path})


def test_a_server_that_cannot_be_fetched_keeps_no_other_away(monkeypatch: pytest.MonkeyPatch) -> None:
    got = list[str]()

    def unreachable() -> None:
        raise AssertionError("it cannot be fetched")

    monkeypatch.setattr(fetch_ahead, "SERVERS", (unreachable, lambda: got.append("the next")))
    fetch_ahead.fetch_ahead()
    assert got == ["the next"]
