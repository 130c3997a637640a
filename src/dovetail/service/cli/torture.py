"""`dovetail torture`: kill joins, restart them, and compare their output with an oracle, case after case."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.errors import RunError, SettingError
from dovetail.service.cli.arguments import AsJson
from dovetail.service.cli.stop_signals import unwind_on_sigterm

if TYPE_CHECKING:
    from dovetail.service.torture.case import Case
    from dovetail.service.torture.outside import Servers

SECONDS = 60.0


def torture(
    *,
    seed: Annotated[int, typer.Option(help="Random seed. The same seed repeats the same faults.")] = 1,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Stop after this time. Default: 60, or no limit with --kills.")
    ] = None,
    kills: Annotated[int | None, typer.Option(min=1, help="Stop after N kills.")] = None,
    spark: Annotated[
        int | None,
        typer.Option(
            min=1, help="Do at least N of the kills on Spark. Every kind of join comes up within 110."
        ),
    ] = None,
    service: Annotated[
        int | None,
        typer.Option(
            min=1, help="Kill the service N times instead: its daemon, pools, processes and workers."
        ),
    ] = None,
    connectors: Annotated[
        bool,
        typer.Option(
            "--connectors",
            help="Run only cases on Spark that read Kafka and write to Kafka, Delta, Iceberg, DuckDB or "
            "PostgreSQL, and kill the broker and the database as well. Needs a checkout, which starts both.",
        ),
    ] = False,
    case: Annotated[
        int | None, typer.Option(min=0, help="Run only this case of the seed, to repeat it.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Run only cases of this kind: quick or spark.")] = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="Folder for the joins. Default: a temporary folder.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the table to this file, as Markdown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Kill joins at crash points and at random moments, restart them, and compare their output with an
    oracle."""
    unwind_on_sigterm()
    if service is not None:
        _torture_service(seed, service, home)
        return
    if only not in (None, "quick", "spark"):
        raise SettingError(f"unknown kind of case {only!r}", where="--only", expected="quick or spark")
    if spark is not None and only is not None:
        raise SettingError("--spark and --only say different things", where="--spark", expected="one of them")
    from rich.console import Console

    from dovetail.service.torture import report
    from dovetail.service.torture.suite import Wish, default_folder, run_suite

    if connectors and (only is not None or spark is not None):
        raise SettingError(
            "--connectors already says which cases to run", where="--connectors", expected="it alone"
        )
    folder = home.absolute() if home else default_folder()
    if seconds is None and kills is None and spark is None and case is None:
        seconds = SECONDS
    console = Console(stderr=True, highlight=False)
    with _servers() if connectors else nullcontext() as servers:
        kind = "spark" if connectors else only
        wish = Wish(seed, folder, seconds, kills, case, kind, spark, servers)  # type: ignore[arg-type]
        cases = run_suite(wish, lambda done: console.print(_line(done), markup=False, soft_wrap=True))
    if not home and not any(one.wrong for one in cases):
        folder.rmdir()
    if out:
        out.write_text(report.to_markdown(cases, _command(seed, seconds, kills, only, spark, connectors)))
    if as_json:
        print(json.dumps(report.to_json(cases), indent=1))
    else:
        shown = Console(highlight=False)
        shown.print(report.to_table(cases))
        shown.print()
        shown.print(report.to_join_table(cases))
        shown.print(report.summary(cases))
    _refuse_failures(cases, " --connectors" if connectors else "")


def _torture_service(seed: int, kills: int, home: Path | None) -> None:
    import shutil
    import tempfile

    from dovetail.service.torture.case import Broken
    from dovetail.service.torture.service_case import run_service

    folder = home.absolute() if home else Path(tempfile.mkdtemp(prefix="dovetail-torture-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = run_service(seed, kills, folder, typer.echo)
    except Broken as error:
        raise RunError(
            f"the service failed: {error}",
            where=str(folder),
            expected="what is wanted and what is seen agree, every pair once, no process left over",
            hint=f"repeat it with `dovetail torture --seed {seed} --service {kills}`",
        ) from error
    typer.echo(", ".join(f"{target} {times}" for target, times in sorted(done.items())))
    typer.echo("all as wanted, every pair once, no process left over")
    if not home:
        shutil.rmtree(folder)


def _line(case: Case) -> str:
    met = ", ".join(dict.fromkeys(fault.point for fault in case.faults)) or "nothing"
    return f"case {case.number}: {case.what}; met {met}: {case.wrong or 'survived'}"


_LIBRARIES = (
    ("kafka", "confluent_kafka.admin"),
    ("delta", "deltalake"),
    ("iceberg", "pyiceberg.catalog"),
    ("duckdb", "duckdb"),
    ("postgres", "adbc_driver_postgresql.dbapi"),
)
"""Extras that its cases use, in processes of their own as well."""


def _servers() -> AbstractContextManager[Servers]:
    from importlib import import_module

    from dovetail.connectors.extras import need
    from dovetail.service.checkout import find_checkout

    if find_checkout() is None:
        raise SettingError(
            "these cases need the broker and the database of a checkout",
            where="--connectors",
            expected="a checkout of Dovetail",
        )
    for extra, *modules in _LIBRARIES:
        need(extra, *modules, by="torture --connectors")
    found: AbstractContextManager[Servers] = import_module("dovetail_dev.servers").servers()
    return found


def _command(
    seed: int,
    seconds: float | None,
    kills: int | None,
    only: str | None,
    spark: int | None,
    connectors: bool,
) -> str:
    wished = {"seed": seed, "kills": kills, "spark": spark, "seconds": seconds, "only": only}
    options = [
        f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}"
        for name, value in wished.items()
        if value is not None
    ]
    return " ".join(["dovetail torture", *options, *(["--connectors"] if connectors else [])])


def _refuse_failures(cases: list[Case], options: str = "") -> None:
    failed = [case for case in cases if case.wrong is not None]
    if failed:
        first = failed[0]
        raise RunError(
            f"{len(failed)} of {len(cases)} joins failed; case {first.number}: {first.wrong}",
            where=str(first.folder),
            expected="every row once, as the oracle has it",
            hint=f"repeat it with `dovetail torture --seed {first.seed} --case {first.number}{options}`; "
            "its files are in the folder above",
        )
