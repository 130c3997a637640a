"""`dovetail demo`: two live streams of search events, joined on Spark while you watch, then checked.

Phase 1 is live: a thread feeds both categories, and the application joins them as rows arrive. When the feed
ends, or with Ctrl-C, phase 2 finishes: the application restarts where it stopped and closes the windows that
are still open. Then the same rows are joined in batch, and both match rates are printed.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dovetail.errors import HomeError
from dovetail.service import units
from dovetail.service.cli.arguments import AsJson
from dovetail.service.demo import APPLICATION
from dovetail.service.figures import RunFigures
from dovetail.service.settings import DRIVER_MEMORY, MASTER

if TYPE_CHECKING:
    from dovetail.service.cli.live_view import LiveView

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class DemoResult:
    """What the demo found: rates over the same left rows, some joined rows, and where everything is."""

    left_rows: int
    joined_rows: int
    streaming: float
    batch_in_window: float
    batch_at_any_time: float
    folder: str
    query: str
    results: str
    plan: str
    log: str
    sample: tuple[dict[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


INTRODUCTION = """\
For {seconds} s, two streams of search events are written to {folder}:
what clients did, late and out of order, and what servers answered, in order.
One second of the demo is one minute of event time.

  phase 1  live: rows are joined as they arrive
  phase 2  finish: the feed has ended, the windows that are still open close
"""
SAMPLE_COLUMNS = ("search_id", "action", "query", "country", "ranking_version")
SAMPLE_ROWS = 5


@app.command()
def demo(
    *,
    seconds: Annotated[
        int, typer.Option(min=1, help="How long to feed the streams. One second is one minute of event time.")
    ] = 60,
    rate: Annotated[
        int, typer.Option(min=1, help="Searches per second. Clients log 1.3 rows for each.")
    ] = 8_000,
    home: Annotated[
        Path | None, typer.Option(help="A new or empty directory. Default: a temporary one.")
    ] = None,
    master: Annotated[str | None, typer.Option(help=MASTER.sentence)] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the events.")] = 7,
    portal: Annotated[
        bool, typer.Option("--portal", help="Afterwards, keep the portal open in the browser.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Join two live streams of search events for a minute, and watch."""
    folder = demo_folder(home)
    notes = Console(stderr=True)
    notes.print(INTRODUCTION.format(folder=folder, seconds=seconds), highlight=False, soft_wrap=True)
    result = play(folder, seconds=seconds, rate=rate, seed=seed, master=MASTER.read(master))
    if as_json:
        print(json.dumps(result.to_json()))
    else:
        report(result, Console())
    show_portal(str(folder / "home"), notes, stays=portal)


def show_portal(home: str, notes: Console, *, stays: bool) -> None:
    """Where to look at the demo in a browser; with `stays`, until Ctrl-C."""
    if not stays:
        notes.print(f"in the browser: dovetail serve --home {home}", highlight=False, soft_wrap=True)
        return
    from dovetail.service.server.listening import Listening
    from dovetail.service.server.running import serve_home

    serve_home(home, Listening(), lambda line: notes.print(line, highlight=False, soft_wrap=True))


def demo_folder(home: Path | None) -> Path:
    if home is None:
        return Path(tempfile.mkdtemp(prefix="dovetail-demo-"))
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not any(home.iterdir()):
            return home.resolve()
    except OSError as error:
        raise HomeError(
            f"the demo cannot write there: {error.strerror}",
            where=str(home),
            expected="a directory that can be made or written",
            hint="choose another --home, or leave it out",
        ) from error
    raise HomeError(
        "the demo needs an empty directory, and this one is not empty",
        where=str(home.resolve()),
        expected="a new or empty directory",
        hint="choose another --home, or leave it out",
    )


def play(folder: Path, *, seconds: int, rate: int, seed: int, master: str) -> DemoResult:
    """Feed and join, finish, compare."""
    from dovetail.service.cli.live_view import LiveView

    with LiveView() as view:
        # Importing PySpark takes seconds on a slow machine: the view is up before that.
        starting = RunFigures(APPLICATION, 0.0, "starting", waiting="waiting for Spark to start")
        view.update(live_phase(starting))
        _join(view, folder, seconds, rate, seed, master)
    return _compared(folder)


def _join(view: LiveView, folder: Path, seconds: int, rate: int, seed: int, master: str) -> None:
    began_s = time.monotonic()
    from dovetail.service.cli.run import run_application
    from dovetail.service.cli.stop_signals import stopped_by_signals
    from dovetail.service.demo.feed import Feeder, create_categories
    from dovetail.service.demo.query import write_query
    from dovetail.service.demo.streams import MINUTE_US, DemoStreams
    from dovetail.service.follower import Follower
    from dovetail.spark.session import open_session

    home, query = str(folder / "home"), write_query(folder)
    now_us = time.time_ns() // 1000 // MINUTE_US * MINUTE_US
    streams = DemoStreams(
        seed, searches_per_s=rate, start_us=now_us - seconds * MINUTE_US, deploy_at_s=seconds // 3
    )
    done = threading.Event()
    feeder = Feeder(streams, *create_categories(home), seconds, done)

    def watch(figures: RunFigures) -> None:
        view.update(finishing_phase(figures) if done.is_set() else live_phase(figures))
        if figures.phase not in ("starting", "stopped"):
            feeder.start_once()

    follower = Follower(watch)
    follower.began_s = began_s
    with stopped_by_signals(done):
        spark = open_session(APPLICATION, master, DRIVER_MEMORY.read(), {}, folder / "spark.log")
        run = partial(
            run_application, query, home=home, master=master, settings={}, follower=follower, spark=spark
        )
        try:
            try:
                run(mode="stream", stop=done)
            finally:
                done.set()
                feeder.finish()
            run(mode="drain", stop=None)
            if view.last is not None:
                view.update(replace(view.last, phase="done", waiting=""))
        finally:
            spark.stop()


def _compared(folder: Path) -> DemoResult:
    """The result of the streaming join beside a batch join of the same rows."""
    from dovetail.log.category import Category
    from dovetail.service.demo.batch_join import batch_rates, read_columns
    from dovetail.service.demo.feed import LEFT, RIGHT
    from dovetail.service.demo.query import AFTER_US, BEFORE_US, results

    home, query = str(folder / "home"), folder / f"{APPLICATION}.pql"
    joined, _ = results(folder)
    rows, matched, sample = _read(joined)
    columns = ["search_id", "eventtime"]
    batch = batch_rates(
        read_columns(Category.open(home, LEFT), columns),
        read_columns(Category.open(home, RIGHT), columns),
        key="search_id",
        time="eventtime",
        before_us=BEFORE_US,
        after_us=AFTER_US,
    )
    return DemoResult(
        left_rows=batch.left_rows,
        joined_rows=rows,
        streaming=matched / rows if rows else 0.0,
        batch_in_window=batch.in_window,
        batch_at_any_time=batch.at_any_time,
        folder=str(folder),
        query=str(query),
        results=str(joined),
        plan=str(_draw_plan(query, folder)),
        log=f"{home}/log",
        sample=sample,
    )


def live_phase(figures: RunFigures) -> RunFigures:
    """Phase 1, in words, and what it waits for."""
    if figures.phase == "starting":
        return replace(figures, phase="phase 1 of 2: starting")
    waiting = figures.waiting
    if not any(stream.rows_in for stream in figures.streams):
        waiting = "waiting for the first rows of both streams"
    elif not figures.out_rows:
        waiting = "waiting for the first joined rows: the join starts when both streams have a time"
    return replace(figures, phase="phase 1 of 2: live", waiting=waiting)


def finishing_phase(figures: RunFigures) -> RunFigures:
    """Phase 2 goes on with the numbers of phase 1."""
    waiting = "the feed has ended: closing the windows that are still open"
    return replace(figures, phase="phase 2 of 2: finishing", waiting=waiting)


def _draw_plan(query: Path, folder: Path) -> Path:
    from dovetail.plan.drawing.graph import graph_of
    from dovetail.plan.drawing.svg import draw_svg
    from dovetail.pql.compile import compile_pql, trace

    text = query.read_text()
    rewritten = trace(text, name=str(query))[-1][1]
    drawing = folder / "plan.svg"
    drawing.write_text(draw_svg(graph_of(rewritten, compile_pql(text, name=str(query)))), encoding="utf-8")
    return drawing


def _read(joined: Path) -> tuple[int, int, tuple[dict[str, str], ...]]:
    """Rows of the result, those with a server row, and the first few of these."""
    import pyarrow.dataset as ds

    from dovetail.service.cli.log_output import cell
    from dovetail.service.committed_files import committed_files

    rows = ds.dataset(committed_files(joined), format="parquet")
    matched = ds.field("ranking_version").is_valid()
    shown = rows.head(SAMPLE_ROWS, columns=list(SAMPLE_COLUMNS), filter=matched).to_pylist()
    sample = tuple({name: cell(value) for name, value in row.items()} for row in shown)
    return rows.count_rows(), rows.count_rows(filter=matched), sample


def report(result: DemoResult, console: Console) -> None:
    """Some joined rows, the match rates, where things are, and what to try next."""
    if result.sample:
        rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bright_black")
        for name in result.sample[0]:
            rows.add_column(name, no_wrap=True, overflow="ellipsis")
        for row in result.sample:
            rows.add_row(*(Text(value) for value in row.values()))
        console.print()
        console.print(Text("Some of the joined rows", style="bright_black"))
        console.print(rows)
    rates = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bright_black")
    rates.add_column("match rate")
    rates.add_column("", justify="right")
    rates.add_column("client rows", justify="right")
    streaming = Text(units.share(result.streaming), style="bold cyan")
    rates.add_row("streaming join", streaming, f"{result.joined_rows:,}")
    rates.add_row("batch join, same window", units.share(result.batch_in_window), f"{result.left_rows:,}")
    rates.add_row("batch join, any time", units.share(result.batch_at_any_time), f"{result.left_rows:,}")
    console.print()
    console.print(rates)
    console.print()
    for label in ("query", "plan", "results", "log"):
        place = Text.assemble((f"{label:<9}", "bright_black"), getattr(result, label))
        console.print(place, soft_wrap=True)
    home = str(Path(result.log).parent)
    console.print(Text("\nTry next", style="bright_black"))
    for command in (
        f"dovetail show {APPLICATION} --table joined_searches --home {home}",
        f"dovetail status --home {home}",
        f"dovetail log ls --home {home}",
        f"dovetail log cat client_events --home {home}",
        f"dovetail plan {result.query}",
        f"dovetail run {result.query} --home {home}",
    ):
        console.print(Text(f"  {command}"), soft_wrap=True)
