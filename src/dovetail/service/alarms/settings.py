"""Whom alarms reach, and which are muted: one document in the home, `service/alarms.json`."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from dovetail.errors import CorruptFile, SettingError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said

KIND, VERSION = "dovetail.alarms", 1
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
class AlarmSettings:
    targets: tuple[Target, ...] = ()
    mutes: tuple[Mute, ...] = ()

    def is_muted(self, application: str, name: str, now_us: int) -> bool:
        return any(
            mute.application in (application, "*") and mute.name in (name, "*") and mute.until_us > now_us
            for mute in self.mutes
        )


def read_settings(home: str) -> AlarmSettings:
    store = open_store(home)
    where = f"{store.root}/{PATH}"
    try:
        body = document.decode(store.read(PATH), KIND, VERSION, where=where, remedy=_REMEDY)
    except FileNotFoundError:
        return AlarmSettings()
    try:
        fields = said.fields(body, AlarmSettings.__dataclass_fields__)
        return AlarmSettings(
            tuple(_target(one) for one in said.items(fields["targets"])),
            tuple(_mute(one) for one in said.items(fields["mutes"])),
        )
    except (ValueError, SettingError) as error:
        raise CorruptFile(f"the file is no setting of alarms: {error}", where=where, hint=_REMEDY) from error


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


def _write(home: str, settings: AlarmSettings) -> None:
    store = open_store(home)
    store.make_folder("service")
    store.replace(PATH, document.encode(KIND, VERSION, asdict(settings)))


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
