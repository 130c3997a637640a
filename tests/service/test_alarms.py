"""Every alarm begins to ring and is over: in what it finds, in time, and where people hear of it."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from dovetail.errors import CorruptFile, SettingError, StateError, Unreachable
from dovetail.log import document
from dovetail.service.alarms.bell import Bell
from dovetail.service.alarms.look import SERVICE, SILENT, Look, Usual
from dovetail.service.alarms.ringing import OVER_AFTER_US, HeldAlarm, News, ring
from dovetail.service.alarms.rules import ALARMS, MINUTE_US
from dovetail.service.alarms.runbooks import to_markdown
from dovetail.service.alarms.sending import as_alert, send
from dovetail.service.alarms.settings import Target, add_target, drop_target, mute, read_settings
from dovetail.service.checkout import checkout_root
from dovetail.service.keeping.events import events

BY_NAME = {alarm.name: alarm for alarm in ALARMS}
STREAM = {"rows": 1_000, "rows_per_s": 50.0, "backlog_rows": 0, "frequent": []}
JOIN: dict[str, Any] = {
    "name": "clicked",
    "left": STREAM,
    "right": STREAM,
    "totals": {"index_bytes": 10},
    "match_rate": 0.9,
    "tasks": 2,
    "replay": None,
}
WELL = Look("clicks", "running", "running", "as wanted", {"joins": [JOIN]}, memory_bytes=1_000)


def joined(**other: Any) -> Look:
    return replace(WELL, figures={"joins": [{**JOIN, **other}]})


def recent(**values: tuple[float, float]) -> list[tuple[float, dict[str, Any]]]:
    return [(at, {name: pair[at] for name, pair in values.items()}) for at in (0, 1)]


BEHIND = {**STREAM, "backlog_rows": 500}
ROWS = (10_000, 20_000)
ILL = {
    "crash_loop": replace(WELL, condition="crash loop", why="it has failed 5 times"),
    "not_running": replace(WELL, condition="waiting", why="it is started again in 2 s"),
    "cannot_keep_up": replace(joined(left=BEHIND, right=BEHIND), recent=recent(backlog_rows=(100, 1_000))),
    "source_silent": joined(right={**STREAM, "rows_per_s": 0.0}),
    "match_rate_low": replace(joined(match_rate=0.5), match_rate=Usual(0.9, 0.02)),
    "time_stuck": replace(WELL, recent=recent(time_us=(5, 5), rows=ROWS)),
    "late_rows": replace(WELL, recent=recent(late=(0, 500), rows=ROWS)),
    "bad_rows": replace(WELL, recent=recent(bad=(0, 500), rows=ROWS)),
    "memory": joined(totals={"index_bytes": 900}),
    "hot_key": joined(left={**STREAM, "frequent": [{"key": ["bot"], "share": 0.7}]}),
    "rebuild_long": joined(replay={"share": 0.3}),
    "log_short": replace(WELL, lost="category clicks no longer has all that clicks.c has not read"),
    "daemon_silent": Look(SERVICE, "running", SILENT, "the home cannot be reached"),
    "scaler_at_limit": replace(WELL, scaler="it is at its limit by the cores"),
}
HEALTHY = {
    "one side behind waits for the other": replace(
        joined(left=BEHIND), recent=recent(backlog_rows=(100, 1_000))
    ),
    "behind, and catching up": replace(
        joined(left=BEHIND, right=BEHIND), recent=recent(backlog_rows=(1_000, 100))
    ),
    "stopped, because somebody wants that": replace(
        WELL, wanted="stopped", condition="stopped", figures=None
    ),
    "as many matches as usual": replace(joined(match_rate=0.87), match_rate=Usual(0.9, 0.02)),
    "no history yet": joined(match_rate=0.1),
    "few rows": replace(WELL, recent=recent(late=(0, 50), rows=(0, 100))),
    "time passes": replace(WELL, recent=recent(time_us=(5, 6), rows=ROWS)),
    "nothing arrives, and time stays": replace(WELL, recent=recent(time_us=(5, 5), rows=(7, 7))),
    "a total that began again": replace(WELL, recent=recent(late=(900, 0), rows=(20_000, 10_000))),
    "one task needs no sharing": joined(
        left={**STREAM, "frequent": [{"key": ["bot"], "share": 0.7}]}, tasks=1
    ),
    "no figures": replace(WELL, figures=None),
    "the scaler is mending it": replace(
        joined(left=BEHIND, right=BEHIND), recent=recent(backlog_rows=(100, 1_000)), mending=True
    ),
    "the daemon itself, which is well": Look(SERVICE, "running", "running", "as wanted"),
}


def found(look: Look) -> list[str]:
    return [alarm.name for alarm in ALARMS if alarm.found(look) is not None]


def test_every_alarm_has_a_case() -> None:
    assert list(ILL) == [alarm.name for alarm in ALARMS]


@pytest.mark.parametrize("name", list(ILL))
def test_what_is_wrong_is_found_and_nothing_else(name: str) -> None:
    assert found(ILL[name]) == [name]


@pytest.mark.parametrize("look", HEALTHY.values(), ids=HEALTHY)
def test_what_is_right_is_left_alone(look: Look) -> None:
    assert found(look) == []


@pytest.mark.parametrize("name", list(ILL))
def test_every_alarm_rings_after_its_time_and_is_over(name: str, tmp_path: Path) -> None:
    now_us, sent = [10**15], []
    add_target(str(tmp_path), "webhook", "http://127.0.0.1/hook")
    bell = Bell(str(tmp_path), lambda: now_us[0], lambda target, news: sent.append(news.what))
    after_us = BY_NAME[name].after_us
    bell.look([ILL[name]])
    if after_us:
        assert not bell.ringing
        now_us[0] += after_us - 1
        bell.look([ILL[name]])
        assert not bell.ringing
        now_us[0] += 1
        bell.look([ILL[name]])
    assert [held.name for held in bell.of(ILL[name].application)] == [name]
    for _ in range(3):
        now_us[0] += MINUTE_US
        bell.look([ILL[name]])
    assert sent == ["rings"]
    now_us[0] += 1
    bell.look([WELL])
    assert bell.ringing, "it may come back in a moment"
    now_us[0] += OVER_AFTER_US
    bell.look([WELL])
    assert not bell.ringing
    assert sent == ["rings", "over"]
    about = ILL[name].application
    assert [event["kind"] for event in events(str(tmp_path), about)] == ["alarm over", "alarm"]


def test_one_that_comes_and_goes_rings_once() -> None:
    alarm, held, news = BY_NAME["crash_loop"], {}, []
    for second in range(0, 600, 30):
        holds = [("clicks", alarm, "words")] if second % 60 == 0 else []
        held, more = ring(held, holds, lambda *_: False, second * 1_000_000)
        news += more
    assert [one.what for one in news] == ["rings"]


def test_one_that_does_not_last_never_rings() -> None:
    alarm, held = BY_NAME["source_silent"], {}
    for minute in range(60):
        holds = [("clicks", alarm, "words")] if minute % 14 else []
        held, news = ring(held, holds, lambda *_: False, minute * MINUTE_US)
        assert news == []


def test_a_clock_that_is_set_back_delays_no_alarm() -> None:
    """By an hour: it rings, and is over, as if it had begun just now."""
    alarm = next(one for one in ALARMS if one.after_us)
    found, hour_us = [("clicks", alarm, "it is behind")], 60 * MINUTE_US
    held, news = ring({}, found, lambda *_: False, hour_us)
    for now_us in (MINUTE_US, MINUTE_US + alarm.after_us):
        held, news = ring(held, found, lambda *_: False, now_us)
    assert [one.what for one in news] == ["rings"]
    held, _ = ring(held, found, lambda *_: False, 2 * hour_us)
    for now_us in (hour_us, hour_us + OVER_AFTER_US):
        held, news = ring(held, [], lambda *_: False, now_us)
    assert [one.what for one in news] == ["over"]


def test_a_bell_that_starts_again_wakes_nobody_twice(tmp_path: Path) -> None:
    sent: list[str] = []
    add_target(str(tmp_path), "webhook", "http://127.0.0.1/hook")
    for _ in range(3):
        Bell(str(tmp_path), send=lambda target, news: sent.append(news.what)).look([ILL["crash_loop"]])
    assert sent == ["rings"]
    (tmp_path / "service/ringing.json").write_text("damaged")
    Bell(str(tmp_path), send=lambda target, news: sent.append(news.what)).look([ILL["crash_loop"]])
    assert sent == ["rings", "rings"], "a damaged file costs one more, and nothing else"


def test_a_muted_alarm_holds_and_does_not_ring(tmp_path: Path) -> None:
    bell = Bell(str(tmp_path))
    mute(str(tmp_path), "clicks", "crash_loop", 1)
    bell.look([ILL["crash_loop"]])
    assert not bell.ringing
    mute(str(tmp_path), "clicks", "crash_loop", 0)
    bell.look([ILL["crash_loop"]])
    assert bell.ringing
    mute(str(tmp_path), "*", "*", 1)
    assert read_settings(str(tmp_path)).is_muted("any", "any", 0)


def test_people_change_when_an_alarm_rings(tmp_path: Path) -> None:
    home, now_us = str(tmp_path), [10**15]
    bell = Bell(home, lambda: now_us[0])
    assert run_command("alarm", "set", "*", "source_silent", "--after", "1 minute", "--home", home) == 0
    assert run_command("alarm", "set", "clicks", "source_silent", "--severity", "ticket", "--home", home) == 0
    bell.look([ILL["source_silent"]])
    assert not bell.ringing
    now_us[0] += MINUTE_US
    bell.look([ILL["source_silent"]])
    assert [held.severity for held in bell.ringing] == ["ticket"]
    assert run_command("alarm", "set", "*", "source_silent", "--home", home) == 0
    assert len(read_settings(home).changes) == 1
    assert run_command("alarm", "set", "*", "nothing", "--home", home) == 1
    assert run_command("alarm", "set", "*", "memory", "--severity", "loud", "--home", home) == 1


def test_settings_of_an_earlier_release_are_read(tmp_path: Path) -> None:
    body = {"targets": [{"channel": "slack", "address": "https://example.org/x"}], "mutes": []}
    (tmp_path / "service").mkdir()
    (tmp_path / "service/alarms.json").write_bytes(document.encode("dovetail.alarms", 1, body))
    assert len(read_settings(str(tmp_path)).targets) == 1


def test_what_did_not_arrive_is_sent_again(tmp_path: Path) -> None:
    sent, down = [], [True]

    def sending(target: Target, news: News) -> None:
        if down[0]:
            raise Unreachable("nobody listens")
        sent.append(news.what)

    add_target(str(tmp_path), "webhook", "http://127.0.0.1/hook")
    bell = Bell(str(tmp_path), send=sending)
    bell.look([ILL["crash_loop"]])
    assert bell.trouble == "nobody listens"
    down[0] = False
    bell.look([ILL["crash_loop"]])
    assert sent == ["rings"]
    assert bell.trouble is None


# ------------------------------------------------------------------------------------- on their way


@pytest.fixture
def posted() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """A server on loopback, and what it was sent: path and body."""
    found: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.append((self.path, json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", found
    server.shutdown()
    thread.join()
    server.server_close()


HELD = HeldAlarm("clicks", "crash_loop", "page", 10**15, 10**15 + 1, "it failed", rings=True)


def test_alarms_arrive_over_http(posted: tuple[str, list[tuple[str, Any]]]) -> None:
    address, found = posted
    for channel in ("webhook", "slack", "alertmanager"):
        send(Target(channel, address + "/x"), News("rings", HELD))  # type: ignore[arg-type]
    (_, hook), (_, slack), (path, (alert,)) = found
    assert (hook["what"], hook["application"], hook["alarm"]) == ("rings", "clicks", "crash_loop")
    assert slack == {"text": "page: clicks, crash_loop: it failed"}
    assert path == "/x/api/v2/alerts"
    assert alert["labels"] == {
        "alertname": "dovetail_crash_loop",
        "application": "clicks",
        "severity": "page",
    }
    assert "endsAt" not in alert
    assert "endsAt" in as_alert(News("over", HELD))


class _Smtp(socketserver.StreamRequestHandler):
    """As much of a mail server as a client needs to hand over one message."""

    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().strip():
            word = line.split(b" ")[0].upper()
            if word == b"DATA":
                self._say("354 go on")
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    self.server.mail.append(text.decode())  # type: ignore[attr-defined]
            self._say("221 bye" if word == b"QUIT" else "250 ok")
            if word == b"QUIT":
                return

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


def test_alarms_arrive_by_mail() -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), _Smtp) as server:
        server.mail = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = server.server_address[1]
        send(
            Target("email", f"smtp://127.0.0.1:{port}?from=a@example.org&to=b@example.org"),
            News("rings", HELD),
        )
        thread.join()
        said = "".join(server.mail)  # type: ignore[attr-defined]
    assert "To: b@example.org" in said
    assert "page: clicks, crash_loop: it failed" in said


@pytest.mark.parametrize("channel", ["webhook", "email"])
def test_a_target_that_is_not_there_is_an_error_of_ours(channel: Any) -> None:
    scheme = "smtp" if channel == "email" else "http"
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        port = server.server_address[1]
    with pytest.raises(Unreachable, match="did not arrive"):
        send(Target(channel, f"{scheme}://127.0.0.1:{port}?to=a@example.org"), News("rings", HELD))


# ------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("channel", "address"), [("pigeon", "http://x"), ("webhook", "file:///etc/passwd"), ("email", "http://x")]
)
def test_a_target_that_cannot_be_is_refused(tmp_path: Path, channel: str, address: str) -> None:
    with pytest.raises(SettingError):
        add_target(str(tmp_path), channel, address)


def test_settings_are_checked_when_they_are_read(tmp_path: Path) -> None:
    home = str(tmp_path)
    add_target(home, "slack", "https://example.org/x")
    assert read_settings(home).targets == (Target("slack", "https://example.org/x"),)
    drop_target(home, "https://example.org/x")
    with pytest.raises(StateError):
        drop_target(home, "https://example.org/x")
    path = tmp_path / "service/alarms.json"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CorruptFile):
        read_settings(home)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ("--home", str(tmp_path))
    Bell(str(tmp_path)).look([ILL["crash_loop"]])
    assert run_command("alarm", "to", "slack", "https://example.org/x", *home) == 0
    assert run_command("alarm", "mute", "clicks", "hot_key", *home) == 0
    capsys.readouterr()
    assert run_command("alarm", "list", *home) == 0
    said = capsys.readouterr().out
    assert "crash_loop" in said
    assert "to slack https://example.org/x" in said
    assert "muted: clicks hot_key" in said
    assert run_command("alarm", "to", "slack", "https://example.org/x", "--drop", *home) == 0


def test_the_reference_page_is_current() -> None:
    assert (checkout_root() / "docs/reference/alarms.md").read_text() == to_markdown()
