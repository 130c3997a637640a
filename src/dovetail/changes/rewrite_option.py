"""Another value of an option of a join, written into the query's own text. As in `rewrite.py`, each place
that could be the option is changed in turn, and the one is taken with which exactly this join has the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dovetail.changes.rewrite import Compile
from dovetail.errors import DovetailError, PlanError
from dovetail.plan.physical import JoinStage, Stage

_VALUE = r"\s*=\s*(?:INTERVAL\s+)?(?:'[^']*'|\"[^\"]*\"|[\w.]+)"


def with_option(text: str, join: str, option: str, value: int, literal: str, compile_: Compile) -> str:
    """The text in which the join has this value. PlanError if no single change gives it."""
    plan = compile_(text)[1]
    stage = next((one for one in plan.joins if one.name == join), None)
    if stage is not None:
        wanted = tuple(_with(one, join, option, value) for one in plan.stages)
        for changed in _changed(text, option, literal):
            try:
                if compile_(changed)[1].stages == wanted:
                    return changed
            except DovetailError:
                continue  # that was no place for it
    raise PlanError(
        f"{option} of join {join} cannot be written into the query",
        expected=f"a view with one join, and WITH ({option} = ...) behind its condition",
        hint=f"write {option} = {literal} there by hand, then `dovetail run` it",
    )


def _changed(text: str, option: str, literal: str) -> Iterator[str]:
    """With another value, with one more option, or with options where there are none."""
    for found in re.finditer(rf"\b{option}{_VALUE}", text, re.IGNORECASE):
        yield f"{text[: found.start()]}{option} = {literal}{text[found.end() :]}"
    for found in re.finditer(r"\bWITH\s*\(", text, re.IGNORECASE):
        yield f"{text[: found.end()]}{option} = {literal}, {text[found.end() :]}"
    for found in re.finditer(r"\s*;", text):
        yield f"{text[: found.start()]} WITH ({option} = {literal}){text[found.start() :]}"


def _with(stage: Stage, join: str, option: str, value: int) -> Stage:
    if not isinstance(stage, JoinStage) or stage.name != join:
        return stage
    if option in ("left_cap", "right_cap"):
        return replace(stage, join_kind=stage.join_kind.capped({option: value}))
    named: Any = {option if option == "tasks" else f"{option}_us": value}
    return replace(stage, settings=replace(stage.settings, **named))
