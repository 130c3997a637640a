"""`dovetail why`: what happened to left rows, selected by key, number or time. It reads only the log and the
records of steps, so it needs no Spark, and the application may be running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.errors import InputError
from dovetail.service.cli.arguments import Application, AsJson, Home, home_at

if TYPE_CHECKING:
    from dovetail.joins.question import Answer
    from dovetail.plan.physical import JoinStage, Plan
    from dovetail.service.following import Chapter, Trail
    from dovetail.service.words.chain_why_words import Story


def why(
    application: Application,
    *,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", help="Value of the join key. Repeat it for several key columns."),
    ] = None,
    row: Annotated[
        int | None, typer.Option("--row", min=0, help="Show only the left row with this number in the log.")
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time", help="Show left rows within a second of this time (ISO 8601), or the nearest."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most N left rows, newest first.")] = 20,
    join: Annotated[str | None, typer.Option("--join", help="Which join, if there are several.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Explain what happened to left rows: which rows they matched and when, how long they stay open, or why
    they have no match. The rows that came out are followed through the joins that read them."""
    from dovetail.service.cli.log_output import print_json

    answer, story = asked(home_at(home), application, key or (), time=time, row=row, limit=limit, join=join)
    if as_json:
        print_json(for_programs(answer, application, story))
    else:
        _print(answer, application, story)


def asked(
    home: str,
    application: str,
    key: Sequence[str],
    *,
    time: str | None = None,
    row: int | None = None,
    limit: int = 20,
    join: str | None = None,
) -> tuple[Answer, Story]:
    """What became of left rows, and of what came out of them."""
    from dovetail.joins.rows.literals import instant_us
    from dovetail.plan.application_file import read_application
    from dovetail.service.following import Trail, times_from
    from dovetail.service.words.chain_why_words import Story

    plan = read_application(home, application)
    stage = _join(plan, join)
    time_us = instant_us(time, "--time") if time else None
    trail = Trail(plan, home)
    answer = trail.ask(stage, row, key, time_us, limit)
    return answer, Story(times_from(plan, stage, home), _followed(trail, stage, answer))


def for_programs(answer: Answer, application: str, story: Story) -> dict[str, Any]:
    """The answer as plain values."""
    from dovetail.service.words.chain_why_words import story_json
    from dovetail.service.words.why_words import to_json

    return {**to_json(answer, application), **story_json(story)}


def _followed(trail: Trail, stage: JoinStage, answer: Answer) -> list[tuple[Chapter, ...]] | None:
    """Where each row went after the join; None: nothing in the application reads what comes out of it."""
    from dovetail.service.following import follow

    if not trail.readers(getattr(stage.output, "category", "")):
        return None
    return [follow(trail, stage, fate) for fate in answer.fates]


def _join(plan: Plan, name: str | None) -> JoinStage:
    named = [stage for stage in plan.joins if name in (None, stage.name)]
    if len(named) == 1:
        return named[0]
    names = ", ".join(stage.name for stage in plan.joins) or "none"
    raise InputError(
        f"there is no join {name}" if name else f"application {plan.application} has {len(plan.joins)} joins",
        expected=f"--join with one of: {names}",
    )


def _print(answer: Answer, application: str, story: Story) -> None:
    from rich.console import Console
    from rich.text import Text

    from dovetail.service.words.chain_why_words import chapter_lines, time_lines
    from dovetail.service.words.fate_words import fate_lines
    from dovetail.service.words.why_words import heading, left_words, preface, verdict

    console = Console()

    def line(text: str | Text, indent: int = 0) -> None:
        console.print(Text(" " * indent).append(text), soft_wrap=True, highlight=False)

    line(Text(heading(answer, application), style="bold"))
    for text in (*time_lines(story), *preface(answer)):
        line(text)
    styles = {"matched": "green", "unmatched": "red", "open": "yellow", "not_taken": "yellow"}
    for number, fate in enumerate(answer.fates):
        line(left_words(fate))
        line(Text(verdict(fate), style=styles[fate.status]), 2)
        for text in fate_lines(fate, answer.known):
            line(text, 4)
        for chapter in story.followed[number] if story.followed is not None else ():
            for indent, text in chapter_lines(chapter, 4):
                line(text, indent)
