"""How many tasks the joins of an application run in. It only writes to the home: a running application looks
there before every step, a stopped one when it starts."""

from __future__ import annotations

from dovetail.engine.asked_tasks import ask, ask_no_more
from dovetail.errors import InputError, SettingError
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import MOST_TASKS
from dovetail.plan.application_file import read_application
from dovetail.plan.configure import join_config
from dovetail.plan.nearest import did_you_mean

AUTO = "auto"


def scale_application(home: str, application: str, tasks: str, join: str | None = None) -> None:
    """Ask for a number of tasks, or for `auto`. Either all joins get it, or none."""
    configs = joins_of(home, application, join)
    wanted = None if tasks == AUTO else _allowed(tasks, configs)
    for config in configs:
        ask_no_more(config) if wanted is None else ask(config, wanted)


def joins_of(home: str, application: str, name: str | None = None) -> list[JoinConfig]:
    """The joins of an application, or the one of that name."""
    plan = read_application(home, application)
    found = [
        join_config(plan, stage, home, tasks=1) for stage in plan.joins if name is None or stage.name == name
    ]
    names = [stage.name for stage in plan.joins]
    if not found:
        raise InputError(
            f"there is no join {name}" if name else f"application {plan.application} has no join",
            where=f"application {plan.application}",
            expected=f"one of: {', '.join(names)}" if names else "an application with a join",
            hint=did_you_mean(name, names, listed=True) if name else None,
        )
    return found


def _allowed(said: str, configs: list[JoinConfig]) -> int:
    """The number, if every join can have it. Otherwise none of them is changed."""
    least = min(configs, key=lambda config: config.most_tasks)
    most = min(MOST_TASKS, least.most_tasks)
    if said in (str(number) for number in range(1, most + 1)):
        return int(said)
    few = None
    if least.join_kind.in_order and most == 1:
        few = 'its query sets order = "step", which needs a single task'
    elif most < MOST_TASKS:
        few = f"a task needs at least one bucket, and the join has {least.buckets}"
    raise SettingError(
        f"join {least.join} cannot run in {said!r} tasks",
        where="--tasks",
        expected=f"1 to {most}, or {AUTO}",
        hint=few,
    )
