"""Looks at all applications, rings alarms, and sends what has changed. One bell per daemon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict

from dovetail.errors import DovetailError, Unreachable
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.service.alarms.look import Look
from dovetail.service.alarms.ringing import HeldAlarm, Key, News, ring
from dovetail.service.alarms.rules import ALARMS
from dovetail.service.alarms.sending import send
from dovetail.service.alarms.settings import Target, read_settings
from dovetail.service.keeping.events import Event, record

KIND, VERSION = "dovetail.ringing", 1
PATH = "service/ringing.json"
UNSENT = 100
"""Messages kept for a target that cannot be reached; the oldest are dropped first."""


class Bell:
    """Ringing alarms are kept in the home, so that a restarted daemon does not wake people twice."""

    def __init__(
        self,
        home: str,
        clock_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        send: Callable[[Target, News], None] = send,
    ) -> None:
        self.home = home
        self.trouble: str | None = None
        self._clock_us = clock_us
        self._send = send
        self._held = _read(home)
        self._unsent: list[tuple[Target, News]] = []

    @property
    def ringing(self) -> list[HeldAlarm]:
        return sorted((one for one in self._held.values() if one.rings), key=lambda one: one.since_us)

    def of(self, application: str) -> list[HeldAlarm]:
        return [one for one in self.ringing if one.application == application]

    def look(self, looks: Iterable[Look]) -> list[News]:
        settings, now_us = read_settings(self.home), self._clock_us()
        found = [
            (look.application, settings.changed(look.application, alarm), words)
            for look in looks
            for alarm in ALARMS
            if (words := alarm.found(look)) is not None
        ]
        before = self._held
        self._held, news = ring(
            before, found, lambda application, name: settings.is_muted(application, name, now_us), now_us
        )
        for one in news:
            kind = "alarm" if one.what == "rings" else "alarm over"
            words = f"{one.held.name}: {one.held.words}"
            record(self.home, Event(one.held.application, kind, words, "service"))
            self._unsent += [(target, one) for target in settings.targets]
        if self._held != before:
            _write(self.home, self._held)
        self._deliver()
        return news

    def _deliver(self) -> None:
        """What did not arrive is tried again at the next look."""
        waiting, self._unsent, self.trouble = self._unsent[-UNSENT:], [], None
        for target, news in waiting:
            try:
                self._send(target, news)
            except Unreachable as error:
                self.trouble = str(error)
                self._unsent.append((target, news))


def _write(home: str, held: dict[Key, HeldAlarm]) -> None:
    body = {"held": [asdict(one) for one in held.values()]}
    store = open_store(home)
    store.make_folder("service")
    store.replace(PATH, document.encode(KIND, VERSION, body), durable=False)


def _read(home: str) -> dict[Key, HeldAlarm]:
    """If the file cannot be read, an alarm may ring a second time, nothing worse."""
    try:
        data = open_store(home).read(PATH)
        body = document.decode(data, KIND, VERSION, where=PATH, remedy="delete the file")
        found = [HeldAlarm(**one) for one in body["held"]]
    except (FileNotFoundError, DovetailError, KeyError, TypeError):
        return {}
    return {one.key: one for one in found}
