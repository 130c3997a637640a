"""`dovetail simulate`: the rate that a sliding-window design would hold on a given number of cores, and where
a row's time would go. Prints a table or JSON, or draws the papers' figures as SVG."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.errors import InputError, SettingError

if TYPE_CHECKING:
    from dovetail.simulate.costs import Costs
    from dovetail.simulate.run import Capacity
    from dovetail.simulate.setup import Setup

PAPER, PLACEHOLDERS = "paper", "placeholders"
LISTS = "Separate several with commas."


def simulate(
    *,
    design: Annotated[
        str, typer.Option(help=f"kang, cell, handshake, low-latency or split. {LISTS}")
    ] = "split",
    cores: Annotated[str, typer.Option(help=f"Join cores, 1 to 1024. {LISTS}")] = "1,2,4,8,16,28",
    window: Annotated[
        str, typer.Option(help=f"Window of each stream, in rows (2^17) or time (15min). {LISTS}")
    ] = "2^17",
    ordering: Annotated[
        str,
        typer.Option(
            help="Order of results: none, outer, outer:N (a star every N rows), inner or inner:N "
            f"(a star every N comparisons). {LISTS}"
        ),
    ] = "outer",
    fan_out: Annotated[str, typer.Option(help=f"Fan-out of SplitJoin's distribution tree. {LISTS}")] = "2",
    fan_in: Annotated[int, typer.Option(help="Fan-in of SplitJoin's mergers.")] = 2,
    selectivity: Annotated[float, typer.Option(help="Share of pairs that match.")] = 1 / 250_000,
    load: Annotated[float, typer.Option(help="Measure latency at this share of the rate held.")] = 0.9,
    arrivals: Annotated[str, typer.Option(help="How rows arrive: steady, poisson or bursts.")] = "steady",
    burst_rows: Annotated[int, typer.Option(help="Rows per burst.")] = 200,
    burst_share: Annotated[float, typer.Option(help="Share of the time in which bursts arrive.")] = 0.5,
    right_later: Annotated[
        float, typer.Option(help="Time skew: seconds by which right rows arrive later (time windows).")
    ] = 0.0,
    physical_cores: Annotated[
        int | None, typer.Option(help="Physical cores. If threads outnumber them, they take turns.")
    ] = None,
    other_threads: Annotated[int, typer.Option(help="Threads other than the join cores.")] = 4,
    regions: Annotated[int, typer.Option(help="NUMA regions that the join cores are spread over.")] = 1,
    placement: Annotated[
        str, typer.Option(help="Join cores over the regions: neighbours or scattered.")
    ] = "neighbours",
    queue_rows: Annotated[int, typer.Option(help="Capacity of the queue between two threads.")] = 256,
    input_rows: Annotated[
        int, typer.Option(help="Capacity of the input queue. Rows that find it full are lost.")
    ] = 64,
    costs: Annotated[
        str | None,
        typer.Option(help="placeholders, paper, or a JSON file of measured costs. Figures have their own."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=100, help="Rows per run (default: grows with the cores).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed. The same seed repeats the same run.")] = 1,
    figure: Annotated[
        str | None,
        typer.Option(
            help="Draw figures instead of printing a table: 12, 13, 15 to 19, handshake-8, handshake-16, "
            "load, scale, all."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for figures.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate sliding-window joins on 1 to 1,024 cores: the rate they hold, their latency, the papers'
    figures."""
    given = _costs(costs)
    if figure is not None:
        _figures(figure, given, out, as_json)
        return
    from dovetail.simulate.costs import Costs
    from dovetail.simulate.run import capacity
    from dovetail.simulate.setup import ArrivalPattern, Setup, parse_ordering, parse_window

    used = given or Costs()
    setups: list[Setup] = []
    for one, count, size, order, fan in product(
        design.split(","), cores.split(","), window.split(","), ordering.split(","), fan_out.split(",")
    ):
        if one == "kang" and count != "1" and "1" in cores.split(","):
            continue  # it has one line in the table, not one for each number of cores
        setups.append(
            Setup(
                one,  # type: ignore[arg-type]
                _whole(count, "--cores"),
                parse_window(size),
                selectivity,
                parse_ordering(order),
                _whole(fan, "--fan-out"),
                fan_in,
                queue_rows,
                input_rows,
                physical_cores,
                other_threads,
                arrivals=ArrivalPattern(arrivals, burst_rows, burst_share),  # type: ignore[arg-type]
                right_later_s=right_later,
                regions=regions,
                placement=placement,  # type: ignore[arg-type]
            )
        )
    answers = [capacity(setup, used, load=load, rows=rows, seed=seed) for setup in setups]
    if as_json:
        from dovetail.service.cli.log_output import print_json
        from dovetail.simulate.costs_file import to_json

        print_json({"costs": to_json(used), "seed": seed, "answers": [one.to_json() for one in answers]})
    else:
        _print(answers, used)


def _costs(name: str | None) -> Costs | None:
    from dovetail.simulate.costs import Costs
    from dovetail.simulate.costs_file import read_costs
    from dovetail.simulate.paper_costs import paper_costs

    if name is None:
        return None
    if name in (PAPER, PLACEHOLDERS):
        return paper_costs() if name == PAPER else Costs()
    return read_costs(Path(name))


def _whole(text: str, where: str) -> int:
    if not text.isdecimal():
        raise SettingError(f"{text!r} is not a number", where=where, expected="numbers separated by commas")
    return int(text)


def _figures(names: str, costs: Costs | None, folder: Path, as_json: bool) -> None:
    from dovetail.simulate.figures import FIGURES, make_figure

    wanted = list(FIGURES) if names == "all" else names.split(",")
    if as_json:
        from dataclasses import asdict

        from dovetail.service.cli.log_output import print_json

        print_json({"figures": [asdict(make_figure(name, costs)) for name in wanted]})
        return
    try:
        from dovetail.service.cli.simulate_plots import draw
    except ImportError as error:
        raise InputError(
            "figures are drawn with matplotlib, which is not installed",
            expected="matplotlib in this environment",
            hint="pip install 'dovetail-joins[figures]', or use --json for the numbers",
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        print(draw(make_figure(name, costs), folder), flush=True)


def _print(answers: list[Capacity], costs: Costs) -> None:
    from rich.console import Console
    from rich.table import Table

    from dovetail.service.units import count, span

    def ns(value: float) -> str:
        return f"{value:.0f} ns" if value < 1e4 else span(round(value / 1e3))

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("design", "cores", "window", "ordering", "fan-out"):
        table.add_column(name, no_wrap=True)
    for name in ("rows/s", "modelled", "distr.", "exec.", "gather.", "end to end", "visiting", "modelled"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in answers:
        setup, latency = one.setup, one.at_load.latency
        table.add_row(
            setup.design,
            str(setup.cores),
            str(setup.window),
            str(setup.precision) if setup.design == "split" else "—",
            str(setup.fan_out) if setup.design == "split" else "—",
            count(round(one.held_rows_per_s)),
            count(round(one.modelled_rows_per_s)),
            ns(latency.distribution_ns),
            ns(latency.execution_ns),
            ns(latency.gathering_ns),
            ns(latency.end_to_end_ns),
            ns(latency.visiting_ns),
            ns(one.modelled_visiting_ns),
        )
    console = Console(width=max(Console().width, 150), highlight=False)
    console.print(table)
    lost = sum(one.at_load.lost for one in answers)
    console.print(
        f"Rows/s: both streams together, no row lost. Latency: at {answers[0].load:g} of that rate"
        + (f", where {lost} rows were lost" if lost else "")
        + f". Costs: {costs.source}.",
        style="bright_black",
    )
