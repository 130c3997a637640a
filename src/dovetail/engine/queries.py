"""Law: a state, and a recorded step, can be read with the configuration that made it, however often the join
was changed since.

A join that is changed keeps its state, its steps and its records (`model/kind_change.py`). Offsets and
records say by number which configuration they are of. What that meant is written down here, once, before the
first step that runs it is planned: `<state>/queries/<number>.json`. Settings and columns are no part of it:
they hold from the next planned step on, and say nothing about the state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dovetail.errors import CorruptFile, DovetailError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import JoinKind, kind_from_json, kind_to_json

KIND, VERSION = "dovetail.query", 1


def remember(config: JoinConfig, *, stateless: bool = False) -> None:
    """Write down which kind of join this configuration is, unless that is known. StateError if its number
    already means another kind, UnknownVersion if a later release has written it. `stateless`: nothing can
    depend on what it meant, there is no state yet."""
    store, path = open_store(config.home), _path(config, config.query)
    try:
        if _read(config, config.query) == config.join_kind:
            return
        known = not stateless
    except FileNotFoundError:
        known = False
    except CorruptFile:
        known = False  # damaged: this process knows what it says
    if known:
        raise StateError(
            f"query {config.query} of join {config.join} had another meaning",
            where=f"{store.root}/{path}",
            expected="the next number for a configuration that means something else",
            hint="start the query under a new application name, or restore the home",
        )
    store.make_folder(path.rpartition("/")[0])
    store.replace(path, document.encode(KIND, VERSION, _body(config)))


def config_at(config: JoinConfig, number: int) -> JoinConfig:
    """The configuration of a number, as far as the state depends on it; the rest is as it is now."""
    if number == config.query:
        return config
    try:
        kind = _read(config, number)
    except FileNotFoundError:
        raise StateError(
            f"it is not known what query {number} of join {config.join} was",
            where=f"{open_store(config.home).root}/{_path(config, number)}",
            expected="the file that was written before the query's first step",
            hint="restore it from a copy of the home, or start the application in a new home",
        ) from None
    return replace(config, join_kind=kind, query=number)


def _path(config: JoinConfig, number: int) -> str:
    return f"{config.state_path}/queries/{number}.json"


def _body(config: JoinConfig) -> dict[str, Any]:
    return {"join": config.reader, "query": config.query, "join_kind": kind_to_json(config.join_kind)}


def _read(config: JoinConfig, number: int) -> JoinKind:
    store, path = open_store(config.home), _path(config, number)
    where, remedy = f"{store.root}/{path}", "restore it from a copy of the home"
    said = document.decode(store.read(path), KIND, VERSION, where=where, remedy=remedy)
    try:
        if (said["join"], said["query"]) != (config.reader, number):
            raise ValueError(f"it is query {said['query']} of {said['join']}")
        return kind_from_json(said["join_kind"])
    except (KeyError, TypeError, ValueError, AttributeError, DovetailError) as error:
        raise CorruptFile(
            f"the file does not say what a join was: {error}",
            where=where,
            expected=f"query {number} of join {config.join}",
            hint=remedy,
        ) from error
