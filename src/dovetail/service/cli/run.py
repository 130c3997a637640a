"""`dovetail run app.pql`: from a text to a running application."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dovetail.errors import InputError, SettingError
from dovetail.service.cli.stop_signals import stopped_by_signals
from dovetail.service.run_snapshot import RunSnapshot
from dovetail.service.settings import DRIVER_MEMORY, HOME, INDEX_DIR, MASTER
from dovetail.service.words.run_summary import EstimateSummary, JoinSummary, RunSummary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dovetail.plan.physical import Plan
    from dovetail.service.metrics import Measured
    from dovetail.service.metrics_reporter import Reporter
    from dovetail.spark.monitor import JoinProgress, StreamProgress

Mode = Literal["stream", "available-now", "drain"]
SNAPSHOT_S = 0.5


def run(
    file: Annotated[Path, typer.Argument(help="The PQL file of the application.")],
    *,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Work off what is there, keep what is open, stop.")
    ] = False,
    drain: Annotated[
        bool, typer.Option("--drain", help="Take the inputs as complete: close every window, stop.")
    ] = False,
    home: Annotated[str | None, typer.Option(help=HOME.sentence)] = None,
    master: Annotated[str | None, typer.Option(help=MASTER.sentence)] = None,
    index_dir: Annotated[str | None, typer.Option(help=INDEX_DIR.sentence)] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: any setting of Spark.", metavar="KEY=VALUE")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve Prometheus metrics on this port of loopback.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a PQL application until it is stopped, or until its input is worked off."""
    if available_now and drain:
        raise SettingError(
            "--available-now and --drain exclude each other",
            hint="--available-now keeps open rows for the next start, --drain closes them",
        )
    mode: Mode = "drain" if drain else "available-now" if available_now else "stream"
    from dovetail.service.cli.live_view import LiveView

    with LiveView() as view, stopped_by_signals() as stop:
        summary = run_application(
            file,
            home=HOME.read(home),
            master=MASTER.read(master),
            mode=mode,
            settings=_settings(setting or []),
            on_snapshot=view.update,
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
    on_snapshot: Callable[[RunSnapshot], None] | None = None,
    stop: threading.Event | None = None,
    spark: SparkSession | None = None,
    metrics_port: int | None = None,
    index_dir: str | None = None,
) -> RunSummary:
    """Compile, run, and say how it went. Uses the given session, or opens one and closes it again."""
    from dovetail.log.homes.filesystem import absolute_home
    from dovetail.service.metrics_reporter import Reporter
    from dovetail.spark.application import claimed
    from dovetail.spark.lost_jvm import jvm_ended, loss_told
    from dovetail.spark.monitor import Monitor
    from dovetail.spark.runner import Run
    from dovetail.spark.s3 import s3_settings
    from dovetail.spark.session import open_session

    began = time.monotonic()
    home = absolute_home(home)
    if on_snapshot is not None:
        on_snapshot(RunSnapshot(pql_path.stem, 0.0, "starting"))
    plan = compile_file(pql_path, home)
    with claimed(home, plan) as held:  # before Spark: what is wrong with the home is told at once
        log = _spark_log(home, plan.application)
        given = {**settings, **s3_settings(home, plan, settings)}
        session = spark or open_session(plan.application, master, DRIVER_MEMORY.read(), given, log)
        monitor = Monitor()
        reporter = Reporter(home, plan, metrics_port)
        view = _Snapshots(began, on_snapshot, reporter)

        def watch(run: Run) -> None:
            view.take(run, monitor)

        index = _index_dir(index_dir, master)
        stopped = stop or threading.Event()
        run = Run(session, plan, home, mode, index, stopped, watch, held, started_s=began)
        try:
            with loss_told(log), reporter:
                run.execute()
            return _summary(run, monitor, began, reporter.last)
        finally:
            if spark is None and not jvm_ended():
                session.stop()


def _index_dir(given: str | None, master: str) -> str | None:
    """Where every task keeps its index; None: each host knows. What this machine's environment says is meant
    for this machine: it is no word for those of a cluster."""
    from dovetail.spark.cluster import is_cluster

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
    """The physical plan of a PQL file, with the column types its sources know."""
    from dovetail.pql.compile import compile_program
    from dovetail.pql.parser import parse
    from dovetail.spark.inputs import known_types

    program = parse(read_pql(path), name=str(path))
    return compile_program(program, known_types(program, home))


def read_pql(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(
            f"the PQL file cannot be read: {reason}",
            where=str(path),
            expected="a text file with a PQL program",
        ) from error


class _Snapshots:
    """Turns progress into snapshots, at most one in SNAPSHOT_S seconds, with rates between them."""

    def __init__(
        self, began: float, on_snapshot: Callable[[RunSnapshot], None] | None, reporter: Reporter
    ) -> None:
        self._began = began
        self._reporter = reporter
        self._on_snapshot = on_snapshot
        self._last_s = 0.0
        self._previous: RunSnapshot | None = None

    def take(self, run: object, monitor: object) -> None:
        from dovetail.service.snapshots import snapshot
        from dovetail.spark.monitor import Monitor
        from dovetail.spark.runner import Run

        assert isinstance(run, Run)
        assert isinstance(monitor, Monitor)
        now = time.monotonic()
        if self._on_snapshot is None or (now - self._last_s < SNAPSHOT_S and run.phase != "stopped"):
            return
        self._last_s = now
        self._previous = snapshot(run, monitor, now - self._began, self._previous, self._reporter.last)
        self._on_snapshot(self._previous)


def _summary(run: object, monitor: object, began: float, measured: Measured | None) -> RunSummary:
    from dovetail.spark.monitor import Monitor, first_result_s
    from dovetail.spark.runner import Run
    from dovetail.spark.starting import describe_output

    assert isinstance(run, Run)
    assert isinstance(monitor, Monitor)
    joins = measured.joins if measured else ()
    advice = {join.measure.name: tuple(one.words for one in join.advice) for join in joins}
    return RunSummary(
        application=run.plan.application,
        mode=run.mode,
        elapsed_s=time.monotonic() - began,
        phases_s=run.phases_s,
        first_result_s=first_result_s(run),
        joins=tuple(_join_summary(join, advice.get(join.name, ())) for join in monitor.joins(run)),
        outputs={stage.name: describe_output(stage, run.home) for stage in run.stages if stage.sinks},
    )


def _join_summary(join: JoinProgress, advice: tuple[str, ...]) -> JoinSummary:
    left, right = join.streams
    count = join.totals.get
    return JoinSummary(
        name=join.name,
        left_rows=count("left_in", 0),
        right_rows=count("right_in", 0),
        matches=count("pairs", 0),
        left_alone=count("left_alone", 0),
        right_alone=count("right_alone", 0),
        match_rate=join.match_rate,
        late_rows=count("left_late", 0) + count("right_late", 0),
        void_rows=count("left_void", 0) + count("right_void", 0),
        invalid_rows=count("left_invalid", 0) + count("right_invalid", 0),
        capped_rows=count("left_capped", 0) + count("right_capped", 0),
        rejected_rows=left.rejected_rows + right.rejected_rows,
        open_rows=count("open_rows", 0),
        retained_rows=count("retained_rows", 0),
        buffered_rows_peak=count("peak_rows", 0),
        index_bytes_peak=count("peak_index_bytes", 0),
        rebuilds=count("rebuilds", 0),
        left_estimate=_estimate_summary(left),
        right_estimate=_estimate_summary(right),
        missed=count("missed", 0),
        advice=advice,
    )


def _estimate_summary(stream: StreamProgress) -> EstimateSummary | None:
    estimate = stream.estimate
    return EstimateSummary(estimate.window, estimate.accuracy) if estimate else None


def _settings(pairs: list[str]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"{pair!r} is not a setting", where="--set", expected="key=value")
        settings[name.strip()] = value
    return settings
