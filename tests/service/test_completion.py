"""Shell completion, by the protocol that the shells speak: words and a position in the environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from commands import run_command
from dovetail.log.category import Category
from dovetail.service.cli import main as cli

SHELLS = ("bash", "zsh", "fish")


def complete(
    shell: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What a shell is offered after `dovetail WORDS`, where the last word is being typed."""
    line = f"dovetail {words}"
    monkeypatch.setenv("_DOVETAIL_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    run_command()
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_shown(shell: str) -> None:
    code = f"from dovetail.service.cli.main import main; main(['--show-completion', {shell!r}])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert f"complete_{shell}" in done.stdout
    assert "_DOVETAIL_COMPLETE" in done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_offered(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offered = complete(shell, "", monkeypatch, capsys)
    assert [name for name in cli.COMMANDS if name not in offered] == []
    assert "settings" in complete(shell, "sett", monkeypatch, capsys)


OPTIONS = {
    "bench": None,  # passes its options on
    "demo": "--seconds",
    "log": None,  # a group, see below
    "prepare": "--help",
    "test": "--list",
    "version": "--help",
    "settings": "--markdown",
    "torture": "--kills",
    "simulate": "--cores",
    "run": "--drain",
    "plan": "--rules",
    "check": "--home",
    "diff": "--json",
    "preview": "--since",
    "deploy": "--shadow",
    "shadow": "--promote",
    "advise": "--apply",
    "versions": "--json",
    "rollback": "--available-now",
    "serve": "--port",
    "service": None,  # a group
    "alarm": None,  # a group
    "backup": "--home",
    "restore": "--home",
    "token": None,  # a group
    "user": None,  # a group
    "access": None,  # a group
    "scale": "--tasks",
    "show": "--table",
    "status": "--home",
    "why": "--key",
}


@pytest.mark.parametrize("name", list(cli.COMMANDS))
@pytest.mark.parametrize("shell", SHELLS)
def test_the_options_of_a_command_are_offered(
    shell: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    option = OPTIONS[name]
    if option is not None:
        assert option in complete(shell, f"{name} --", monkeypatch, capsys)


def test_a_group_offers_its_commands_and_their_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "append" in complete("bash", "log ", monkeypatch, capsys)
    assert "--compression" in complete("bash", "log append --", monkeypatch, capsys)
    assert "completion" not in complete("bash", "log --", monkeypatch, capsys)


def test_names_of_a_home_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = str(tmp_path)
    Category.create(home, "clicks", pa.schema([pa.field("k", pa.int64())]), buckets=1)
    (tmp_path / "apps" / "search").mkdir(parents=True)
    (tmp_path / "apps" / "search" / "application.json").write_text("{}")
    monkeypatch.setenv("DOVETAIL_HOME", home)
    assert complete("bash", "log cat cl", monkeypatch, capsys).split() == ["clicks"]
    for command in ("status", "why", "scale", "show", "diff", "versions", "rollback"):
        assert complete("bash", f"{command} ", monkeypatch, capsys).split() == ["search"]
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path / "nowhere"))
    assert complete("bash", "status ", monkeypatch, capsys).split() == []


def test_benchmarks_and_tiers_are_offered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete("bash", "bench inter", monkeypatch, capsys).split() == ["interval"]
    assert complete("bash", "test la", monkeypatch, capsys).split() == ["laws"]
