"""`dovetail service` and `dovetail token`: what people want, written to the home, with no service running."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import run_command
from dovetail.service.access.tokens import find_token
from dovetail.service.keeping.events import events
from dovetail.service.keeping.wanted import wanted_names, wanted_of
from service.test_landing import ADS, TAPS, ads_has_run

QUERY = """CREATE APPLICATION {name};
CREATE INPUT TABLE c (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("clicks");
CREATE INPUT TABLE i (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("impressions");
CREATE VIEW v AS SELECT c.eventtime AS eventtime, c.ad AS ad FROM c JOIN i ON c.ad = i.ad
  AND i.eventtime BETWEEN c.eventtime - INTERVAL '1 minute' AND c.eventtime;
CREATE TABLE result AS SELECT eventtime, ad FROM v STORAGE SCRIBE (category = "{name}_out");
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "queries"
    made.mkdir()
    for name in ("one", "two"):
        (made / f"{name}.pql").write_text(QUERY.format(name=name))
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path / "home"))
    return str(tmp_path / "home")


def test_a_folder_is_applied_as_a_whole(folder: Path, home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("service", "apply", str(folder), "--look") == 0
    assert capsys.readouterr().out == "one: new\ntwo: new\n"
    assert wanted_names(home) == []
    assert run_command("service", "apply", str(folder)) == 0
    assert {name: wanted_of(home, name).state for name in wanted_names(home)} == {
        "one": "running",
        "two": "running",
    }
    capsys.readouterr()
    assert run_command("service", "apply", str(folder / "one.pql")) == 0
    assert "two: not in" in capsys.readouterr().out


def test_one_mistake_in_a_folder_changes_nothing(
    folder: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "two.pql").write_text(QUERY.format(name="two").replace("c.ad = i.ad", "c.ad = i.nothing"))
    assert run_command("service", "apply", str(folder)) == 1
    assert "nothing was changed" in capsys.readouterr().err
    assert wanted_names(home) == []


def test_one_application_in_two_files_is_refused(folder: Path, home: str) -> None:
    (folder / "three.pql").write_text(QUERY.format(name="one"))
    assert run_command("service", "apply", str(folder)) == 1
    assert wanted_names(home) == []


def test_an_applied_folder_that_has_drifted_is_put_right(
    folder: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command("service", "apply", str(folder))
    run_command("service", "stop", "one")
    before = wanted_of(home, "two").revision
    capsys.readouterr()
    run_command("service", "apply", str(folder))
    assert capsys.readouterr().out == "one: stopped\ntwo: same\n"
    assert wanted_of(home, "one").state == "running"
    assert wanted_of(home, "two").revision == before


def test_the_life_of_an_application(folder: Path, home: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_command("service", "apply", str(folder))
    for verb, state in (("stop", "stopped"), ("start", "running"), ("restart", "running")):
        assert run_command("service", verb, "one") == 0
        assert wanted_of(home, "one").state == state
    assert run_command("service", "clone", "one", "other") == 0
    assert wanted_of(home, "other").state == "stopped"
    assert run_command("service", "delete", "one", "--yes") == 0
    assert run_command("service", "start", "one") == 1
    assert run_command("service", "restore", "one") == 0
    assert wanted_of(home, "one").state == "stopped"
    assert [event["kind"] for event in events(home, "one")][:3] == ["restored", "deleted", "restarted"]
    capsys.readouterr()
    assert run_command("service", "events", "one", "-n", "2") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "deleted" in first
    assert "restored" in second


def test_what_goes_with_a_query_is_said_of_one_file(
    folder: Path, home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ads_has_run(home, tmp_path)
    file = tmp_path / "ads.pql"
    file.write_text(TAPS)
    assert run_command("service", "apply", str(file)) == 1
    assert "say where it begins: --from c=latest" in capsys.readouterr().err
    assert run_command("service", "apply", str(folder), "--from", "c=latest") == 1
    assert "expected: one .pql file" in capsys.readouterr().err
    assert run_command("service", "apply", str(file), "--from", "c=latest", "--look") == 0
    assert "the new one begins with what comes from the change on" in capsys.readouterr().out
    assert run_command("service", "apply", str(file), "--from", "c=latest") == 0
    assert wanted_of(home, "ads").begins == ("c=latest",)
    assert run_command("service", "rollback", "ads", "1", "--reslice") == 0
    wanted = wanted_of(home, "ads")
    assert (wanted.text, wanted.begins, wanted.reslice) == (ADS, (), True)


def test_a_token_is_made_listed_and_dropped(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("token", "new", "ci", "--role", "deployer", "--days", "1") == 0
    secret = capsys.readouterr().out.strip()
    caller = find_token(home, secret)
    assert caller is not None
    assert (caller.name, caller.role) == ("ci", "deployer")
    run_command("token", "list")
    number = capsys.readouterr().out.split()[0]
    assert run_command("token", "drop", number) == 0
    assert find_token(home, secret) is None
    assert run_command("token", "drop", number) == 1
    assert run_command("token", "new", "ci", "--role", "king") == 1


def test_only_loopback_is_served(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("serve", "--host", "0.0.0.0") == 1
    assert "there are no users" in capsys.readouterr().err
