"""Functions of the query that have changed. Their calls are changes of their own, in the stages that make
them: a function is called by a name with its digest, so a changed one has another name there."""

from __future__ import annotations

from dovetail.changes.between import Between
from dovetail.model.python_function import PythonFunction


def functions(between: Between) -> None:
    before = {one.name.lower(): one for one in between.old.functions}
    for now in between.new.functions:
        was = before.get(now.name.lower())
        if was is None or was.shipped == now.shipped:
            continue
        between.say(
            "functions",
            f"function {now.name}",
            "kept",
            "; ".join(_differences(was, now)),
            flight="what it was computed for already keeps its value",
            place=_place(between, now),
        )


def _differences(was: PythonFunction, now: PythonFunction) -> list[str]:
    found = []
    if (was.parameters, was.returns) != (now.parameters, now.returns):
        found.append(f"{was.signature}, now {now.signature}")
    if was.style != now.style:
        found.append(f"called with {was.style} parameters, now with {now.style} ones")
    if (was.code, was.handler) != (now.code, now.handler):
        found.append("its code")
    return found


def _place(between: Between, function: PythonFunction) -> str | None:
    program = between.new_text
    declared = [one for one in program.functions if one.function == function] if program is not None else []
    return program.source.show(declared[0].span) if program is not None and declared else None
