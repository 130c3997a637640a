"""Law: a join has the number of tasks that was asked for last. Asking changes no row and cannot stop the
join.

`dovetail scale` writes the number to `<state>/tasks.json` in the home. The coordinator reads it whenever it
plans, and puts it into the offset of the step. So a step that is planned again gets the same number, whatever
has been asked for since. Usually there is no file: then the query's option `tasks` holds, or else the number
of Spark's cores.

A file that cannot be read is reported and ignored: the join keeps the number that it has. Any other number
would move all of its state because of one bad bit.
"""

from __future__ import annotations

import functools
import logging
from typing import Literal, NamedTuple

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import MOST_TASKS

KIND, VERSION = "dovetail.tasks", 1
_REMEDY = "ask again with `dovetail scale`, or delete the file; the join keeps its number of tasks until then"

Origin = Literal["command", "option", "cores", "unreadable"]
"""Who asked: `dovetail scale`, the query's option, or nobody; or the file cannot be read."""


class AskedTasks(NamedTuple):
    """`tasks` None: as many as Spark has cores. `trouble`: why the file was ignored."""

    tasks: int | None
    origin: Origin
    trouble: DovetailError | None = None


def asked(config: JoinConfig, now: int | None) -> AskedTasks:
    """How many tasks the next step is to have, if the last one had `now` (0 or None: there was none)."""
    option = _at_most(config.settings.tasks, config)
    try:
        wanted = _read(config)
    except DovetailError as error:
        return AskedTasks(now or option, "unreadable", error)
    if wanted is not None:
        return AskedTasks(_at_most(wanted, config), "command")
    return AskedTasks(option, "option" if option else "cores")


def tasks_to_plan(config: JoinConfig, now: int) -> int:
    """The same for the coordinator, who knows the number of cores."""
    found = asked(config, now)
    if found.trouble is not None:
        _tell(str(found.trouble))
    return found.tasks or config.tasks


def ask(config: JoinConfig, tasks: int) -> None:
    store = open_store(config.home)
    store.make_folder(config.state_path)
    store.replace(_path(config), document.encode(KIND, VERSION, {"tasks": tasks}))


def ask_no_more(config: JoinConfig) -> None:
    """Go back to what the query or the cluster says."""
    open_store(config.home).delete(_path(config))


def _path(config: JoinConfig) -> str:
    return f"{config.state_path}/tasks.json"


def _read(config: JoinConfig) -> int | None:
    store, path = open_store(config.home), _path(config)
    where = f"{store.root}/{path}"
    try:
        data = store.read(path)
    except FileNotFoundError:
        return None
    tasks = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY).get("tasks")
    if type(tasks) is not int or not 1 <= tasks <= MOST_TASKS:
        raise CorruptFile(
            "the file does not hold a number of tasks",
            where=where,
            expected=f"1 to {MOST_TASKS}",
            hint=_REMEDY,
        )
    return tasks


def _at_most(tasks: int | None, config: JoinConfig) -> int | None:
    return None if tasks is None else min(tasks, config.most_tasks)


@functools.lru_cache(64)  # what a store says of a trouble may name each request
def _tell(trouble: str) -> None:
    """Once for each trouble, to the process's stderr: a join plans many times a minute."""
    logging.getLogger("dovetail").warning("%s", trouble)
