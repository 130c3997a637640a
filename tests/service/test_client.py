"""`dovetail.Client` against a real service: what it does, and that command line, API and client say the same
words for the same error."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import uvicorn
from serving import QUERY, Quiet

import dovetail
from commands import run_command
from dovetail.errors import DovetailError, SettingError, StateError, Unreachable
from dovetail.plan.problems import ProblemsFound
from dovetail.service.access.roles import NotKnown, Refused
from dovetail.service.access.tokens import drop_token, new_token
from dovetail.service.keeping.wanted import wanted_of
from dovetail.service.server.app import make_app
from dovetail.service.server.ledger import ledger_path
from dovetail.service.server.problems import HttpError
from dovetail.service.server.state import Daemon
from dovetail.slicing.input_files import MissingInput
from service.test_landing import ADS, TAPS, ads_has_run

INSIDE = (MissingInput, HttpError)
"""Kinds that programs do not tell from others: one is a case of another, one is for requests of no client."""
CLICKS = QUERY.format(name="clicks")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = str(tmp_path_factory.mktemp("home"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        made = Quiet(home, ledger_path(home), frozenset({place}))
        config = uvicorn.Config(make_app(made), log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
        thread.start()
        while not server.started:
            thread.join(0.05)
        yield made
        server.should_exit = True
        thread.join()


def caller(daemon: Daemon, role: str = "admin") -> dovetail.Client:
    return dovetail.Client(daemon.address, new_token(daemon.home, "ada", role, 1))  # type: ignore[arg-type]


def test_the_life_of_an_application(daemon: Daemon) -> None:
    client = caller(daemon)
    assert client.check(CLICKS)["ok"]
    made = client.deploy(CLICKS)
    assert (made["name"], made["wanted"]) == ("clicks", "running")
    assert client.stop("clicks", made["revision"])["wanted"] == "stopped"
    with pytest.raises(StateError, match="was changed by ada meanwhile: stopped"):
        client.start("clicks", made["revision"])
    assert client.get("clicks")["text"] == CLICKS
    assert client.clone("clicks", "second")["name"] == "second"
    assert [one["name"] for one in client.applications()] == ["clicks", "second"]
    assert "goes" in client.delete("second")
    assert client.restore("second")["wanted"] == "stopped"
    assert [event["kind"] for event in client.events("clicks")] == ["stopped", "deployed"]
    assert client.history("clicks")["at"] == []
    assert client.alarms() == []
    assert {one["name"] for one in next(client.live())} == {"clicks", "second"}


def test_what_goes_with_a_query(daemon: Daemon, tmp_path: Path) -> None:
    ads_has_run(daemon.home, tmp_path)
    client = caller(daemon)
    with pytest.raises(StateError, match="cannot go on with this query"):
        client.deploy(TAPS)
    assert client.deploy(TAPS, begins=["c=latest"])["revision"] == 2
    assert wanted_of(daemon.home, "ads").begins == ("c=latest",)
    assert client.rollback("ads", 1, reslice=True)["revision"] == 3
    wanted = wanted_of(daemon.home, "ads")
    assert (wanted.text, wanted.begins, wanted.reslice) == (ADS, (), True)


def test_rows_go_in(daemon: Daemon) -> None:
    client = caller(daemon)
    row = {"eventtime": "2026-01-01T00:00:00Z", "ad": 1}
    for _ in range(2):
        client.append("views", [row, row], producer="test", sequence=1)
    table = pa.table({"eventtime": pa.array([0], pa.timestamp("us", "UTC")), "ad": pa.array([7])})
    assert client.append("views", table)["rows"] == 1
    (views,) = (one for one in client.categories() if one["name"] == "views")
    assert views["rows"] == 3


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (("service", "start", "nobody"), lambda client: client.start("nobody")),
        (("service", "stop", "nobody"), lambda client: client.stop("nobody")),
        (("service", "rollback", "clicks"), lambda client: client.rollback("clicks")),
        (("service", "clone", "clicks", "clicks"), lambda client: client.clone("clicks", "clicks")),
        (("service", "give", "clicks", "zoe"), lambda client: client.give("clicks", "zoe")),
        (("why", "nobody", "--key", "1"), lambda client: client.why("nobody", 1)),
    ],
)
def test_the_same_words_for_the_same_error(
    daemon: Daemon, arguments: tuple[str, ...], call: object, capsys: pytest.CaptureFixture[str]
) -> None:
    caller(daemon).deploy(CLICKS)
    assert run_command(*arguments, "--home", daemon.home) == 1
    printed = capsys.readouterr().err
    with pytest.raises(DovetailError) as failed:
        call(caller(daemon))  # type: ignore[operator]
    assert printed.splitlines()[0] == f"error: {failed.value.what}"


def catalogue() -> list[type[DovetailError]]:
    """Every error that there is: this module imports the service, and with it all of them."""
    found, todo = [], [DovetailError]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        found += [kind] if kind.__module__.startswith("dovetail.") and kind is not ProblemsFound else []
    return sorted(found, key=lambda kind: kind.__name__)


def test_every_error_has_the_same_words_on_the_command_line_over_the_api_and_in_the_client(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever error a verb ends with. Several errors of one query are several findings, asked below."""
    client = caller(daemon)
    client.deploy(CLICKS)
    assert len(catalogue()) > 20
    for kind in catalogue():
        error = kind("it is <so>", where="line 1\n  | ^", expected='"that"', hint="do this")

        def fail(*_: object, error: DovetailError = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("dovetail.service.keeping.verbs.stop", fail)
        assert run_command("service", "stop", "clicks", "--home", daemon.home) == 1
        assert capsys.readouterr().err == f"error: {error}\n"
        with pytest.raises(DovetailError) as failed:
            client.stop("clicks")
        assert str(failed.value) == str(error)
        assert failed.value.to_json() == error.to_json()
        assert isinstance(failed.value, kind if kind not in INSIDE else DovetailError), kind
    monkeypatch.undo()


def test_a_query_that_is_wrong_has_the_same_words_everywhere(
    daemon: Daemon, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = QUERY.format(name="wrong").replace("c.ad = i.ad", "c.ad = i.nothing")
    (tmp_path / "query").write_text(wrong)
    run_command("check", str(tmp_path / "query"), "--home", daemon.home)
    said = "".join(capsys.readouterr())
    with pytest.raises(DovetailError) as failed:
        caller(daemon).deploy(wrong)
    assert failed.value.what in said
    assert str(failed.value.where).split("\n", 1)[1] in said, "underlined at the same place"


def test_who_may_not_is_told_so(daemon: Daemon) -> None:
    caller(daemon).deploy(CLICKS)
    with pytest.raises(Refused, match="ada may not do this"):
        caller(daemon, "viewer").stop("clicks")
    with pytest.raises(NotKnown, match="the token is not valid"):
        dovetail.Client(daemon.address, "wrong.token").applications()
    assert wanted_of(daemon.home, "clicks").state == "running"


def test_the_stream_of_figures_ends_with_the_token(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.service.server.api.LIVE_S", 0.05)
    token = new_token(daemon.home, "bob", "viewer", 1)
    live = dovetail.Client(daemon.address, token).live()
    next(live)
    drop_token(daemon.home, token.partition(".")[0])
    with pytest.raises(NotKnown, match="the token is not valid"):
        for _ in live:
            pass


def test_a_service_that_is_not_there(daemon: Daemon) -> None:
    with pytest.raises(Unreachable, match="the service cannot be reached"):
        dovetail.Client("http://127.0.0.1:9", "x").applications()
    with pytest.raises(SettingError, match="is not the address of a service"):
        dovetail.Client("ftp://example.org", "x")
