"""How many tasks a join has and is to have, in words."""

from __future__ import annotations

from dovetail.engine.asked_tasks import Origin

_BY: dict[Origin, str] = {"command": "by dovetail scale", "option": "by the query's option tasks"}


def task_words(now: int | None, wanted: int | None, origin: Origin) -> str:
    """`now`: in the last step (None: there was none); `wanted` None: as many as Spark has cores."""
    has = "no step yet" if now is None else f"{now} task{'' if now == 1 else 's'}"
    if origin == "unreadable":
        return f"{has}, and no other number: what was asked for cannot be read"
    if wanted is None:
        return f"{has}, asked for as many as Spark has cores"
    if wanted == now:
        return f"{has}, as asked for {_BY[origin]}"
    return f"{has}, {wanted} asked for {_BY[origin]}: with the next step"
