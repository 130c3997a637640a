"""`dovetail run app.pql`: from a text to a running application."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dovetail.engine.hold import any_held
from dovetail.errors import SettingError
from dovetail.service.cli.arguments import AsJson, Begins, Home, Reslice, home_at
from dovetail.service.cli.pql_file import PqlFile, read_pql
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.figures import RunFigures, RunSummary
from dovetail.service.settings import DRIVER_MEMORY, INDEX_DIR, MASTER
from dovetail.service.terms import file_of, run_terms, terms_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dovetail.changes.takeover import Takeover
    from dovetail.changes.verdict import Change
    from dovetail.engine.handover import Offer
    from dovetail.plan.physical import Plan
    from dovetail.plan.statements import Program
    from dovetail.service.follower import Follower
    from dovetail.spark.head_start import HeadStart

Mode = Literal["stream", "available-now", "drain"]
Query = Path | tuple[str, str]
"""A PQL file, or a text and its name in errors."""
STDIN = Path("-")
Announce = Callable[[int, "Sequence[Change]"], None]


def run(
    file: PqlFile,
    *,
    available_now: Annotated[
        bool,
        typer.Option(
            "--available-now",
            help="Process the available input, keep open rows for the next run, then stop.",
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
    parent: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The version that this query is based on. If the application is at another one, the query "
            "is refused.",
        ),
    ] = None,
    begins: Begins = None,
    reslice: Reslice = False,
    as_json: AsJson = False,
) -> None:
    """Run a PQL application until you stop it, or until its input is processed. A changed query takes over
    the rows that the application holds, where that is possible; `dovetail diff` shows it beforehand."""
    if available_now and drain:
        raise SettingError(
            "--available-now and --drain cannot be combined",
            hint="--available-now keeps open rows for the next start, --drain closes them",
        )
    run_and_watch(
        file,
        home=home_at(home),
        master=MASTER.read(master),
        mode="drain" if drain else "available-now" if available_now else "stream",
        settings=_settings(setting or []),
        metrics_port=metrics_port,
        index_dir=index_dir,
        parent=parent,
        begins=begins or (),
        reslice=reslice,
        as_json=as_json,
    )


def run_and_watch(
    query: Query,
    *,
    home: str,
    master: str,
    mode: Mode,
    settings: dict[str, str] | None = None,
    metrics_port: int | None = None,
    index_dir: str | None = None,
    parent: int | None = None,
    begins: Sequence[str] = (),
    reslice: bool = False,
    as_json: bool = False,
    origin: Path | None = None,
) -> None:
    """Run an application in the foreground, with a live view and a summary at the end. If a run of it that
    was started in the same way can go on with the query, it does, and this command is done. `origin`: the
    file that a text comes from."""
    file = _origin(query if origin is None else origin)
    in_place = mode == "stream" and not begins and not reslice  # an offer is a query, and no more than that
    if in_place and _changed_in_place(
        query,
        home,
        parent,
        terms_of(file, **run_terms(mode, master, settings or {}, index_dir, metrics_port)),
    ):
        return
    from dovetail.service.cli.live_view import LiveView
    from dovetail.service.follower import Follower

    with LiveView() as view, stopped_by_signals() as stop:
        summary = run_application(
            query,
            home=home,
            master=master,
            mode=mode,
            settings=settings or {},
            follower=Follower(view.update),
            stop=stop,
            metrics_port=metrics_port,
            index_dir=index_dir,
            parent=parent,
            begins=begins,
            reslice=reslice,
            announce=_announced,
            origin=file,
        )
    if as_json:
        print(json.dumps(summary.to_json()))
    else:
        from dovetail.service.cli.summary_view import print_summary

        print_summary(summary)


def _changed_in_place(query: Query, home: str, parent: int | None, terms: dict[str, Any]) -> bool:
    """Whether an existing run has taken the query over."""
    if query == STDIN or not any_held(home):  # what was read from there cannot be read again
        return False
    from dovetail.changes.made_from import origin_at
    from dovetail.changes.takeover import consider, require
    from dovetail.changes.versions import read_version
    from dovetail.engine.handover import Offer
    from dovetail.service.applications import is_running
    from dovetail.service.hosting import offered

    program, plans = compile_query(query, home)
    name = program.application
    if not is_running(home, name):
        return False
    file = file_of(terms)
    origin = None if file is None else origin_at(file)
    takeover = consider(home, plans, program, parent=parent, origin=origin)
    require(takeover)
    if not takeover.changes or takeover.before is None:
        return False
    # It was looked at beside this version. If another takes over before it is the turn of this one, the run
    # says so.
    offer = Offer(program.source.text, program.source.name, takeover.before.version, terms)
    found = offered(home, name, offer, lambda: is_running(home, name) is True)
    if found is None:
        return False
    if found.error is not None:
        raise found.error
    _announced(found.version, read_version(home, name, found.version).changes)
    typer.echo(f"the running {name} has switched to the new query", err=True)
    return True


def _origin(query: Query) -> str | None:
    """The query's file."""
    return str(query.resolve()) if isinstance(query, Path) and query != STDIN else None


def _announced(version: int, changes: Sequence[Change]) -> None:
    from dovetail.changes.words import change_lines, verdict_words

    typer.echo(f"version {version} takes over: {verdict_words(changes)}", err=True)
    for line in change_lines(changes, places=False):
        typer.echo(f"  {line}", err=True)


def run_application(
    query: Query,
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
    parent: int | None = None,
    begins: Sequence[str] = (),
    reslice: bool = False,
    announce: Announce = lambda version, changes: None,
    origin: str | None = None,
    took: Callable[[Offer], None] = lambda offer: None,
) -> RunSummary:
    """Compile, run, and summarise. Uses the given session, or opens one and closes it again. `on_figures`
    is called while it runs; a `follower` does the same over several runs. `announce` hears when another
    query than before takes over. `parent`: see `consider`. `begins`: where new sources begin, as `--from`
    says it. `reslice`: see `consider`. `origin`: see `terms_of`; by default the query's file. `took`: see
    `Host`."""
    from dovetail.spark.worker_python import choose_python

    if spark is None:
        choose_python(master, settings)  # first of all: its imports go on while we do ours
    from dovetail.changes.made_from import origin_at
    from dovetail.changes.positions import positions_in
    from dovetail.changes.takeover import consider, require
    from dovetail.engine.handover import WAITED_S, answered
    from dovetail.engine.hold import running
    from dovetail.service.follower import Follower
    from dovetail.spark.s3 import s3_settings
    from dovetail.spark.session import open_session

    home = home_at(home)
    follower = follower or Follower(on_figures)
    follower.starting(_name(query))
    began = time.monotonic()
    program, plans = compile_query(query, home)
    positions = positions_in(begins)
    terms = terms_of(origin or _origin(query), **run_terms(mode, master, settings, index_dir, metrics_port))
    file = file_of(terms)
    came = None if file is None else origin_at(file)
    consider_it = partial(consider, home, plans, program, origin=came, positions=positions, reslice=reslice)
    change = partial(consider_it, parent=parent)
    asked = asked_for_change(home, program.application, change)
    wait_s = 0.0
    if asked is not None:  # somebody else may be faster while this waits
        wait_s, change = WAITED_S, partial(consider_it, parent=asked)
    early = _head_start(home, master, settings, index_dir) if mode == "stream" else None
    with running(home, program.application, wait_s=wait_s) as held, early or nullcontext() as head_start:
        # Before Spark: an error about the home, or about the change, is reported at once.
        answered(home, program.application)
        takeover = change()
        require(takeover)
        plan = takeover.plan
        require_connectors(plan)
        log = _spark_log(home, plan.application)
        session_settings = {**settings, **s3_settings(home, plan, settings)}
        if head_start is not None and spark is None:
            head_start.begin(takeover, log)
        session = spark or open_session(plan.application, master, DRIVER_MEMORY.read(), session_settings, log)
        from dovetail.service.hosting import Host  # what Spark need not wait for
        from dovetail.spark.hang_up import jvm_ended

        host = Host(
            session,
            home,
            mode,
            index_dir_for(index_dir, master),
            held,
            stop or threading.Event(),
            follower,
            announce,
            compile=lambda query: compile_query(query, home),
            fits=lambda other: s3_settings(home, other, settings).items() <= session_settings.items(),
            terms=terms,
            log=log,
            took=took,
            metrics_port=metrics_port,
            head_start=head_start,
        )
        try:
            return host.run(takeover, began)
        finally:
            if spark is None and not jvm_ended():
                session.stop()


def _head_start(home: str, master: str, settings: dict[str, str], index_dir: str | None) -> HeadStart | None:
    """None on a cluster: rows are joined where its executors are."""
    from dovetail.engine.masters import is_cluster
    from dovetail.spark.head_start import HeadStart
    from dovetail.spark.head_start_notes import Circumstances

    if is_cluster(master):
        return None
    return HeadStart(home, Circumstances(master, settings, index_dir_for(index_dir, master)))


def require_connectors(plan: Plan) -> None:
    """Libraries and secrets that its sinks need, before Spark takes its time to start."""
    from dovetail.connectors.kinds import open_sink
    from dovetail.connectors.sink import Writer
    from dovetail.plan.physical import OutsideSink

    for stage in plan.stages:
        if isinstance(stage.output, OutsideSink):
            open_sink(stage.output.storage, stage.output.options, Writer(plan.application, stage.name, ""))


def index_dir_for(given: str | None, master: str) -> str | None:
    """Where every task keeps its index; None: each host decides. This machine's environment variable is
    meant for this machine, so it does not apply to a cluster."""
    from dovetail.engine.masters import is_cluster

    chosen = INDEX_DIR.read(given) if given or not is_cluster(master) else ""
    return str(Path(chosen).absolute()) if chosen else None


def _spark_log(home: str, application: str) -> Path:
    """Where Spark's own messages go: beside the application's state if that is on this machine, else among
    this user's temporary files."""
    from dovetail.engine.process_folder import hosts_folder

    if "://" not in home:
        return Path(home) / "apps" / application / "spark.log"
    return hosts_folder() / f"spark-{application}.log"


def asked_for_change(home: str, application: str, change: Callable[[], Takeover]) -> int | None:
    """Ask a run of the application to end, if there is one and this query can go on in its place. Gives the
    version that it would go on from."""
    from dovetail.changes.takeover import require
    from dovetail.engine.handover import ask
    from dovetail.service.applications import is_running

    if is_running(home, application) is False:
        return None
    takeover = change()
    require(takeover)
    if not takeover.changes or takeover.before is None:
        return None
    ask(home, application)
    return takeover.before.version


def _name(query: Query) -> str:
    if isinstance(query, tuple):
        return query[1]
    return "standard input" if query == STDIN else query.stem


def compile_query(query: Query, home: str) -> tuple[Program, list[Plan]]:
    """A query, and the physical plans for it, with the column types its sources know: the best first, then
    those that earlier releases would have made."""
    from dovetail.changes.takeover import bound
    from dovetail.pql.compile import plans_of, trace_program
    from dovetail.pql.parser import parse
    from dovetail.spark.inputs import known_types

    text, name = query if isinstance(query, tuple) else (read_pql(query), str(query))
    program = parse(text, name=name)
    before = bound(home, program.application)
    steps = trace_program(program, known_types(program, home))
    return program, plans_of(steps, before.plan if before is not None else None)


def _settings(pairs: list[str]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"{pair!r} is not a setting", where="--set", expected="key=value")
        settings[name.strip()] = value
    return settings
