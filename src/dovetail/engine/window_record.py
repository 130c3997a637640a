"""Where an aggregate's last planned step ends, written down for people: `<state>/windows.json`.

Nothing that runs reads it. A record that cannot be read only affects `dovetail status`.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values
from dovetail.model.window_config import WindowConfig
from dovetail.model.window_offset import WindowOffset

KIND, VERSION = "dovetail.windows", 1
_REMEDY = "delete the file: the next step writes it again"


class WindowRecord(NamedTuple):
    planned_at_us: int
    end: WindowOffset


def write_record(config: WindowConfig, record: WindowRecord) -> None:
    store = open_store(config.home)
    store.make_folder(config.state_path)
    body = {"planned_at_us": record.planned_at_us, "end": record.end.to_json()}
    store.replace(_path(config), document.encode(KIND, VERSION, body))


def read_record(config: WindowConfig) -> WindowRecord | None:
    """None: no step was planned yet."""
    store = open_store(config.home)
    where = f"{store.root}/{_path(config)}"
    try:
        body = document.decode(store.read(_path(config)), KIND, VERSION, where=where, remedy=_REMEDY)
    except FileNotFoundError:
        return None
    try:
        at_us = json_values.time_us(body["planned_at_us"])
        return WindowRecord(at_us, WindowOffset.from_json(body["end"]))
    except (KeyError, ValueError) as error:
        raise CorruptFile(f"the file has no step: {error}", where=where, hint=_REMEDY) from error


def _path(config: WindowConfig) -> str:
    return f"{config.state_path}/windows.json"
