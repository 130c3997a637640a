"""`dovetail scale APP --tasks N`: how many tasks the joins of an application run in. It only writes to the
home. A running application looks there before every step, a stopped one when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.errors import DovetailError
from dovetail.service.cli.arguments import Application, AsJson, Home, home_at

if TYPE_CHECKING:
    from dovetail.engine.asked_tasks import AskedTasks
    from dovetail.model.join_config import JoinConfig


def scale(
    application: Application,
    *,
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Number of tasks, 1 to 64, or auto. Omit to show the current number.",
        ),
    ] = None,
    join: Annotated[str | None, typer.Option("--join", help="Change only this join.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show or change the number of tasks of an application's joins, while it runs or for its next start."""
    from dovetail.service.scaling import joins_of, scale_application

    place = home_at(home)
    if tasks is not None:
        scale_application(place, application, tasks, join)
    _show(application, joins_of(place, application, join), as_json)


def _show(application: str, configs: list[JoinConfig], as_json: bool) -> None:
    from dovetail.engine.asked_tasks import asked
    from dovetail.service.cli.log_output import print_json

    known = [(config, now, asked(config, now)) for config in configs for now in [_now(config)]]
    if as_json:
        print_json({"application": application, "joins": [_as_data(*one) for one in known]})
        return
    from rich.console import Console
    from rich.text import Text

    from dovetail.service.words.status_words import task_words

    console = Console(highlight=False)
    console.print(Text(application, style="bold"))
    for config, now, found in known:
        line = Text.assemble(("join ", "bright_black"), config.join, "  ")
        console.print(line.append(task_words(now, found.tasks, found.origin)), soft_wrap=True)
        if found.trouble is not None:
            console.print(Text(str(found.trouble), style="yellow"), soft_wrap=True)


def _as_data(config: JoinConfig, now: int | None, found: AskedTasks) -> dict[str, object]:
    return {
        "name": config.join,
        "tasks": now,
        "tasks_asked": found.tasks,
        "tasks_from": found.origin,
        "buckets": config.buckets,
        "trouble": found.trouble.to_json()["error"] if found.trouble else None,
    }


def _now(config: JoinConfig) -> int | None:
    """Tasks of the last step on record. Damaged records do not prevent scaling; `dovetail status` reports
    them."""
    from dovetail.engine.step_log import StepLog

    try:
        records = StepLog(config.home, config.state_path).recent(1)
    except DovetailError:
        return None
    return records[-1].tasks if records else None
