"""`dovetail torture`: joins that are killed, started again and compared with an oracle, on and on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.errors import RunError, SettingError

if TYPE_CHECKING:
    from dovetail.service.torture.case import Case

SECONDS = 60.0


def torture(
    *,
    seed: Annotated[int, typer.Option(help="What all is drawn from: same seed, same faults.")] = 1,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="How long to go on; a minute, if --kills says nothing else.")
    ] = None,
    kills: Annotated[int | None, typer.Option(min=1, help="Stop after so many kills.")] = None,
    case: Annotated[int | None, typer.Option(min=0, help="Only this case of the seed: to replay it.")] = None,
    only: Annotated[str | None, typer.Option(help="Only cases of a kind: quick or spark.")] = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="Where the joins are made; by default a temporary folder.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the table to this file too, as Markdown.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Kill joins at crash points and at any time, start them again, and compare what comes out."""
    if only not in (None, "quick", "spark"):
        raise SettingError(f"there are no cases of kind {only!r}", where="--only", expected="quick or spark")
    from rich.console import Console

    from dovetail.service.torture import report
    from dovetail.service.torture.suite import Wish, default_folder, run_suite

    folder = home.absolute() if home else default_folder()
    if seconds is None and kills is None and case is None:
        seconds = SECONDS
    console = Console(stderr=True, highlight=False)
    wish = Wish(seed, folder, seconds, kills, case, only)  # type: ignore[arg-type]
    cases = run_suite(wish, lambda done: console.print(_told(done), markup=False, soft_wrap=True))
    if not home and not any(one.wrong for one in cases):
        folder.rmdir()
    if out:
        out.write_text(report.to_markdown(cases, _command(seed, seconds, kills, only)))
    if as_json:
        print(json.dumps(report.to_json(cases), indent=1))
    else:
        shown = Console(highlight=False)
        shown.print(report.to_table(cases))
        shown.print()
        shown.print(report.to_join_table(cases))
        shown.print(report.summary(cases))
    _refuse_failures(cases)


def _told(case: Case) -> str:
    met = ", ".join(dict.fromkeys(fault.point for fault in case.faults)) or "nothing"
    return f"case {case.number}: {case.what}; met {met}: {case.wrong or 'survived'}"


def _command(seed: int, seconds: float | None, kills: int | None, only: str | None) -> str:
    wished = {"seed": seed, "kills": kills, "seconds": seconds, "only": only}
    options = [
        f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}"
        for name, value in wished.items()
        if value is not None
    ]
    return " ".join(["dovetail torture", *options])


def _refuse_failures(cases: list[Case]) -> None:
    failed = [case for case in cases if case.wrong is not None]
    if failed:
        first = failed[0]
        raise RunError(
            f"{len(failed)} of {len(cases)} joins failed; case {first.number}: {first.wrong}",
            where=str(first.folder),
            expected="every row once, as the oracle has it",
            hint=f"replay it with `dovetail torture --seed {first.seed} --case {first.number}`; "
            "what it left is in the folder above",
        )
