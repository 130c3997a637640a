"""`dovetail demo`: two live streams of search events, joined on Spark while you watch, then checked.

Once the application runs, a thread feeds both categories; it joins them as they come, with the live view.
When the feed ends, or with Ctrl-C, the application is stopped and started once more to drain, which also
shows that it goes on where it stopped. Then the same rows are joined in batch, and the match rates printed.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dovetail.errors import HomeError
from dovetail.service import units
from dovetail.service.settings import DRIVER_MEMORY, MASTER

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class DemoResult:
    """What the demo found: rates over the same left rows, and where everything lies."""

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

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


INTRODUCTION = """\
Two streams of search events go into {folder}
for {seconds} s: what clients did, late and out of order, and what servers answered, in order.
One second is one minute of event time. Spark starts first, which takes some seconds.
"""


@app.command()
def demo(
    *,
    seconds: Annotated[int, typer.Option(min=1, help="How long to feed; a second is an event minute.")] = 60,
    rate: Annotated[int, typer.Option(min=1, help="Searches a second; clients log 1.3 rows each.")] = 8_000,
    home: Annotated[Path | None, typer.Option(help="A new or empty directory; else a temporary one.")] = None,
    master: Annotated[str | None, typer.Option(help="Spark master.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other events.")] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Join two live streams of search events for a minute, and watch."""
    folder = _folder(home)
    notes = Console(stderr=True)
    notes.print(INTRODUCTION.format(folder=folder, seconds=seconds), highlight=False, soft_wrap=True)
    result = play(folder, seconds=seconds, rate=rate, seed=seed, master=MASTER.read(master))
    if as_json:
        print(json.dumps(result.to_json()))
    else:
        report(result, Console())


def _folder(home: Path | None) -> Path:
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
        "the demo wants a directory of its own, and this one has something in it",
        where=str(home.resolve()),
        expected="a new or empty directory",
        hint="choose another --home, or leave it out",
    )


def play(folder: Path, *, seconds: int, rate: int, seed: int, master: str) -> DemoResult:
    """Feed, join, drain, compare."""
    from dovetail.service.cli.live_view import LiveView
    from dovetail.service.cli.run import run_application
    from dovetail.service.cli.stop_signals import stopped_by_signals
    from dovetail.service.demo.batch_join import batch_rates, read_columns
    from dovetail.service.demo.feed import Feeder, create_categories
    from dovetail.service.demo.query import AFTER_US, APPLICATION, BEFORE_US, results, write_query
    from dovetail.service.demo.streams import MINUTE_US, DemoStreams
    from dovetail.service.run_snapshot import RunSnapshot
    from dovetail.spark.session import open_session

    home = str(folder / "home")
    query = write_query(folder)
    left, right = create_categories(home)
    now_us = time.time_ns() // 1000 // MINUTE_US * MINUTE_US
    streams = DemoStreams(
        seed, searches_per_s=rate, start_us=now_us - seconds * MINUTE_US, deploy_at_s=seconds // 3
    )
    done = threading.Event()
    feeder = Feeder(streams, left, right, seconds, done)
    spark = open_session(APPLICATION, master, DRIVER_MEMORY.read(), {}, folder / "spark.log")
    try:
        with LiveView() as view, stopped_by_signals(done):

            def watch(snapshot: RunSnapshot) -> None:
                view.update(snapshot)
                if snapshot.phase != "starting":
                    feeder.start_once()

            run = partial(
                run_application, query, home=home, master=master, settings={}, on_snapshot=watch, spark=spark
            )
            try:
                run(mode="stream", stop=done)
            finally:
                done.set()
                feeder.finish()
            run(mode="drain", stop=None)
    finally:
        spark.stop()
    joined, _ = results(folder)
    rows, matched = _count(joined)
    columns = ["search_id", "eventtime"]
    batch = batch_rates(
        read_columns(left, columns),
        read_columns(right, columns),
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
    )


def _draw_plan(query: Path, folder: Path) -> Path:
    from dovetail.plan.drawing.graph import graph_of
    from dovetail.plan.drawing.svg import draw_svg
    from dovetail.pql.compile import compile_pql, trace

    text = query.read_text()
    rewritten = trace(text, name=str(query))[-1][1]
    drawing = folder / "plan.svg"
    drawing.write_text(draw_svg(graph_of(rewritten, compile_pql(text, name=str(query)))), encoding="utf-8")
    return drawing


def _count(joined: Path) -> tuple[int, int]:
    """Rows of the result, and those with a server row."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from dovetail.service.committed_files import committed_files

    column = ds.dataset(committed_files(joined), format="parquet").to_table(columns=["ranking_version"])[
        "ranking_version"
    ]
    return len(column), pc.count(column, mode="only_valid").as_py()


def report(result: DemoResult, console: Console) -> None:
    """The findings, then where things lie, then what to try."""
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
        f"dovetail log ls --home {home}",
        f"dovetail log cat client_events --home {home}",
        f"dovetail plan {result.query}",
        f"dovetail run {result.query} --home {home}",
    ):
        console.print(Text(f"  {command}"), soft_wrap=True)
