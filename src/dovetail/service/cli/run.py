"""`dovetail run app.pql`: from a text to a running application."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dovetail.errors import SettingError
from dovetail.service.cli.arguments import AsJson, Home, home_at
from dovetail.service.cli.pql_file import PqlFile, read_pql
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.figures import RunFigures, RunSummary
from dovetail.service.settings import DRIVER_MEMORY, INDEX_DIR, MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dovetail.plan.physical import Plan
    from dovetail.service.follower import Follower

Mode = Literal["stream", "available-now", "drain"]


def run(
    file: PqlFile,
    *,
    available_now: Annotated[
        bool,
        typer.Option(
            "--available-now",
            help="Process the input that is there, keep open rows for the next run, then stop.",
        ),
    ] = False,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain", help="Process the input as if it were complete: close every window, then stop."
        ),
    ] = False,
    home: Home = None,
    master: Annotated[str | None, typer.Option(help=MASTER.sentence)] = None,
    index_dir: Annotated[str | None, typer.Option(help=INDEX_DIR.sentence)] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of Spark. Repeat it for several.", metavar="KEY=VALUE"),
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve Prometheus metrics on this port of 127.0.0.1.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a PQL application: until you stop it, or until its input is processed."""
    if available_now and drain:
        raise SettingError(
            "--available-now and --drain cannot be combined",
            hint="--available-now keeps open rows for the next start, --drain closes them",
        )
    mode: Mode = "drain" if drain else "available-now" if available_now else "stream"
    from dovetail.service.cli.live_view import LiveView
    from dovetail.service.follower import Follower

    with LiveView() as view, stopped_by_signals() as stop:
        summary = run_application(
            file,
            home=home_at(home),
            master=MASTER.read(master),
            mode=mode,
            settings=_settings(setting or []),
            follower=Follower(view.update),
            stop=stop,
            metrics_port=metrics_port,
            index_dir=index_dir,
        )
    if as_json:
        print(json.dumps(summary.to_json()))
    else:
        from dovetail.service.cli.summary_view import print_summary

        print_summary(summary)


def run_application(
    pql_path: Path,
    *,
    home: str,
    master: str,
    mode: Mode,
    settings: dict[str, str],
    on_figures: Callable[[RunFigures], None] | None = None,
    follower: Follower | None = None,
    stop: threading.Event | None = None,
    spark: SparkSession | None = None,
    metrics_port: int | None = None,
    index_dir: str | None = None,
) -> RunSummary:
    """Compile, run, and summarise. Uses the given session, or opens one and closes it again. `on_figures` is
    called while it runs; a `follower` does the same over several runs."""
    from dovetail.plan.claim import claimed
    from dovetail.service.follower import Follower
    from dovetail.service.metrics_reporter import Reporter
    from dovetail.spark.hang_up import jvm_ended, loss_named
    from dovetail.spark.runner import Run
    from dovetail.spark.s3 import s3_settings
    from dovetail.spark.session import open_session

    home = home_at(home)
    follower = follower or Follower(on_figures)
    follower.starting("standard input" if str(pql_path) == "-" else pql_path.stem)
    began = time.monotonic()
    plan = compile_file(pql_path, home)
    with claimed(home, plan) as held:  # before Spark: an error about the home is reported at once
        log = _spark_log(home, plan.application)
        given = {**settings, **s3_settings(home, plan, settings)}
        session = spark or open_session(plan.application, master, DRIVER_MEMORY.read(), given, log)
        reporter = Reporter(home, plan, metrics_port)

        def watch(run: Run) -> None:
            follower.take(run, reporter.last)

        index = index_dir_for(index_dir, master)
        stopped = stop or threading.Event()
        run = Run(session, plan, home, mode, index, stopped, watch, held, started_s=began)
        try:
            with loss_named(log), reporter:
                run.execute()
            return follower.summary(run, reporter.last)
        finally:
            if spark is None and not jvm_ended():
                session.stop()


def index_dir_for(given: str | None, master: str) -> str | None:
    """Where every task keeps its index; None: each host decides. This machine's environment variable is
    meant for this machine, so it does not apply to a cluster."""
    from dovetail.spark.session import is_cluster

    chosen = INDEX_DIR.read(given) if given or not is_cluster(master) else ""
    return str(Path(chosen).absolute()) if chosen else None


def _spark_log(home: str, application: str) -> Path:
    """Where Spark's own messages go: beside the application's state if that is on this machine, else among
    this user's temporary files."""
    from dovetail.spark.shipped_code import hosts_folder

    if "://" not in home:
        return Path(home) / "apps" / application / "spark.log"
    return hosts_folder() / f"spark-{application}.log"


def compile_file(path: Path, home: str) -> Plan:
    """The physical plan of a PQL file, with the column types its sources know. An application that an earlier
    release started keeps the shape of its plan."""
    from dovetail.plan.claim import kept
    from dovetail.pql.compile import plans_of, trace_program
    from dovetail.pql.parser import parse
    from dovetail.spark.inputs import known_types

    program = parse(read_pql(path), name=str(path))
    return kept(home, plans_of(trace_program(program, known_types(program, home))))


def _settings(pairs: list[str]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"{pair!r} is not a setting", where="--set", expected="key=value")
        settings[name.strip()] = value
    return settings
