"""The command line: it starts light, it prints errors for people, and its statuses say what happened."""

from __future__ import annotations

import json
import sys

import pytest

import dovetail
from commands import imported_by, run_command
from dovetail.errors import InputError
from dovetail.service.checkout import checkout_root
from dovetail.service.cli import main as cli

HEAVY = ("pyspark", "numba", "pyarrow", "pandas", "numpy", "sqlglot")


def stand_in(monkeypatch: pytest.MonkeyPatch, function: object) -> None:
    """Put a function in the place of the `version` command."""
    from dovetail.service.cli import settings as settings_command

    monkeypatch.setattr(settings_command, "version", function)


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["version"], ["settings"], ["test", "--list"], ["demo", "--help"]]
)
def test_starting_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported_by(arguments, HEAVY) == []


def test_help_shows_every_command_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command() == 0
    shown = capsys.readouterr().out
    for name, command in cli.COMMANDS.items():
        assert f"{name} " in shown
        assert command.help in shown
    assert "dovetail run app.pql --drain" in shown


def test_the_reference_page_has_the_table_of_commands() -> None:
    page = (checkout_root() / "docs/reference/command-line.md").read_text()
    shown = [line for line in page.splitlines() if line.startswith("| `")]
    assert shown == [f"| `{command.name}` | {command.help} |" for command in cli.COMMANDS.values()]


def test_the_version_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("--version") == 0
    shown = capsys.readouterr().out
    assert shown == f"dovetail {dovetail.__version__}\n"
    assert run_command("version") == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_of_the_table_loads_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(name, "--help") == 0
    assert f"dovetail {name}" in capsys.readouterr().out


def test_an_error_is_one_block_without_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> None:
        raise InputError("there is no file [a]", where="a.csv", expected="a file", hint="look again")

    stand_in(monkeypatch, fails)
    assert run_command("version") == cli.EXIT_ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: there is no file [a]",
        "  where:    a.csv",
        "  expected: a file",
        "  hint:     look again",
    ]


def test_with_json_an_error_is_json_on_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("bench", "nothing-of-this-name", "--json") == cli.EXIT_ERROR
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["error"]["condition"] == "INPUT_INVALID"


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_of_ours_is_one_line_and_70(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], debug: bool
) -> None:
    def fails() -> None:
        raise ZeroDivisionError("by\nzero")

    stand_in(monkeypatch, fails)
    if debug:
        monkeypatch.setenv("DOVETAIL_DEBUG", "1")
    assert run_command("version") == cli.EXIT_INTERNAL
    err = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: by zero" in err
    assert ("Traceback" in err) is debug
    assert ("DOVETAIL_DEBUG=1" in err) is not debug


def test_control_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    stand_in(monkeypatch, interrupted)
    assert run_command("version") == cli.EXIT_INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


def test_an_unknown_command_is_2_and_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("lgo") == 2
    assert "'log'" in capsys.readouterr().err


def test_torture_between_places_names_the_library_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it starts a server."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert run_command("torture", "--connectors", "--kills", "1") == 1
    said = capsys.readouterr().err
    assert "torture --connectors needs a library that is not installed: deltalake" in said
    assert "install" in said
