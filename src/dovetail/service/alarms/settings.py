"""Where alarms are sent, and which are muted: one document in the home, `service/alarms.json`."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from dovetail.errors import CorruptFile, SettingError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.alarms.rules import Alarm
from dovetail.service.alarms.runbooks import RUNBOOKS, Severity

KIND, VERSIONS = "dovetail.alarms", (1, 2)
"""Before version 2 nobody could change when an alarm rings."""
PATH = "service/alarms.json"
_REMEDY = "delete the file, and name the targets again with `dovetail alarm to`"
Channel = Literal["webhook", "slack", "alertmanager", "email"]
CHANNELS: tuple[Channel, ...] = get_args(Channel)


@dataclass(frozen=True)
class Target:
    """`address`: a URL; of e-mail `smtp://host:port?from=..&to=..`."""

    channel: Channel
    address: str


@dataclass(frozen=True)
class Mute:
    application: str
    name: str
    until_us: int


@dataclass(frozen=True)
class RuleChange:
    """When somebody wants an alarm to ring, instead of when the table says. None: as the table says."""

    application: str
    name: str
    after_us: int | None = None
    severity: Severity | None = None


@dataclass(frozen=True)
class AlarmSettings:
    targets: tuple[Target, ...] = ()
    mutes: tuple[Mute, ...] = ()
    changes: tuple[RuleChange, ...] = ()

    def changed(self, application: str, alarm: Alarm) -> Alarm:
        """The alarm as somebody wants it for this application, or for all."""
        for one in sorted(self.changes, key=lambda change: change.application != "*"):
            if one.name == alarm.name and one.application in (application, "*"):
                after_us = alarm.after_us if one.after_us is None else one.after_us
                alarm = replace(alarm, after_us=after_us, severity=one.severity or alarm.severity)
        return alarm

    def is_muted(self, application: str, name: str, now_us: int) -> bool:
        return any(
            mute.application in (application, "*") and mute.name in (name, "*") and mute.until_us > now_us
            for mute in self.mutes
        )


def read_settings(home: str) -> AlarmSettings:
    store = open_store(home)
    where = f"{store.root}/{PATH}"
    try:
        body = document.decode(store.read(PATH), KIND, VERSIONS, where=where, remedy=_REMEDY)
    except FileNotFoundError:
        return AlarmSettings()
    try:
        fields = said.fields({"changes": [], **body}, AlarmSettings.__dataclass_fields__)
        return AlarmSettings(
            tuple(_target(one) for one in said.items(fields["targets"])),
            tuple(_mute(one) for one in said.items(fields["mutes"])),
            tuple(_change(one) for one in said.items(fields["changes"])),
        )
    except (ValueError, SettingError) as error:
        raise CorruptFile(
            f"the file is not a setting of alarms: {error}", where=where, hint=_REMEDY
        ) from error


def add_target(home: str, channel: str, address: str) -> None:
    target = _target({"channel": channel, "address": address})
    settings = read_settings(home)
    if target not in settings.targets:
        _write(home, replace(settings, targets=(*settings.targets, target)))


def drop_target(home: str, address: str) -> None:
    settings = read_settings(home)
    left = tuple(target for target in settings.targets if target.address != address)
    if left == settings.targets:
        raise StateError(f"no alarm goes to {address}", hint="`dovetail alarm list` shows the targets")
    _write(home, replace(settings, targets=left))


def mute(home: str, application: str, name: str, hours: float) -> None:
    """`*` for the name: all alarms of the application. 0 hours: no longer."""
    now_us = time.time_ns() // 1000
    settings = read_settings(home)
    others = tuple(
        one
        for one in settings.mutes
        if (one.application, one.name) != (application, name) and one.until_us > now_us
    )
    own = (Mute(application, name, now_us + round(hours * 3_600_000_000)),) if hours > 0 else ()
    _write(home, replace(settings, mutes=(*others, *own)))


def change(home: str, wanted: RuleChange) -> None:
    """Instead of an earlier change of the same; one that says nothing undoes it."""
    if wanted.name not in {one.name for one in RUNBOOKS}:
        raise SettingError(
            f"there is no alarm {wanted.name}", expected=f"one of {', '.join(one.name for one in RUNBOOKS)}"
        )
    settings = read_settings(home)
    key = wanted.application, wanted.name
    others = tuple(one for one in settings.changes if (one.application, one.name) != key)
    own = (wanted,) if wanted.after_us is not None or wanted.severity is not None else ()
    _write(home, replace(settings, changes=(*others, *own)))


def _write(home: str, settings: AlarmSettings) -> None:
    store = open_store(home)
    store.make_folder("service")
    store.replace(PATH, document.encode(KIND, VERSIONS[-1], asdict(settings)))


def _target(body: Any) -> Target:
    fields = said.fields(body, Target.__dataclass_fields__)
    channel, address = said.text(fields["channel"]), said.text(fields["address"])
    schemes = ("smtp://",) if channel == "email" else ("http://", "https://")
    if channel not in CHANNELS or not address.startswith(schemes):
        raise SettingError(
            f"alarms cannot go to {channel} {address}",
            expected=f"one of {', '.join(CHANNELS)}, and an address that begins with {' or '.join(schemes)}",
        )
    return Target(channel, address)


def _mute(body: Any) -> Mute:
    fields = said.fields(body, Mute.__dataclass_fields__)
    return Mute(said.text(fields["application"]), said.text(fields["name"]), said.time_us(fields["until_us"]))


def _change(body: Any) -> RuleChange:
    fields = said.fields(body, RuleChange.__dataclass_fields__)
    after_us = None if fields["after_us"] is None else said.whole(fields["after_us"])
    severity = None if fields["severity"] is None else said.text(fields["severity"])
    if severity not in (None, *get_args(Severity)):
        raise ValueError(f"{severity!r} is not a severity")
    return RuleChange(said.text(fields["application"]), said.text(fields["name"]), after_us, severity)  # type: ignore[arg-type]
