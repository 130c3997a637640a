"""What the recovery benchmark found, as tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from dovetail.service import units

if TYPE_CHECKING:
    from bench.recovery_figure import Figure11
    from bench.recovery_replay import Replay
    from bench.recovery_restart import Restart
    from bench.recovery_snapshots import Snapshots


@dataclass
class Report:
    replay: Replay | None = None
    snapshots: Snapshots | None = None
    figure_11: Figure11 | None = None
    restart: list[Restart] | None = None

    @property
    def sound(self) -> bool:
        """Every rebuilt index gave what the live one gave."""
        return self.replay is None or self.replay.equal

    def to_json(self) -> dict[str, Any]:
        return {
            "replay": self.replay and self.replay.to_json(),
            "snapshots": self.snapshots and self.snapshots.to_json(),
            "figure_11": self.figure_11 and self.figure_11.to_json(),
            "restart": None if self.restart is None else [asdict(one) for one in self.restart],
        }


def show(report: Report) -> None:
    console = Console(highlight=False)
    for part in (
        report.replay and _replay(report.replay),
        report.snapshots and _snapshots(report.snapshots),
        report.figure_11 and _figure(report.figure_11),
        report.restart and _restart(report.restart),
    ):
        if part is not None:
            console.print(part)
    if not report.sound:
        console.print("A rebuilt index gave other rows than the live one: nothing above counts.", style="red")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def _replay(found: Replay) -> Table:
    title = (
        f"Replay of {found.rows:,} right rows in {found.commits:,} commits, {found.tasks} tasks side by side"
    )
    table = _table(title, "", "log in memory", "rows/s", "rows a CPU second", "of the limit", "of it, by CPU")
    for cache in ("cold", "warm"):
        limit = [one for one in found.rates if one.cache == cache and one.what == "read"]
        for what in ("read", "read and check", "rebuild"):
            these = [one for one in found.rates if one.cache == cache and one.what == what]
            table.add_row(
                what,
                "no" if cache == "cold" else "yes",
                _spread([one.rows_per_s for one in these]),
                _spread([one.rows_per_cpu_s for one in these]),
                units.share(
                    median(one.rows_per_s for one in these) / median(one.rows_per_s for one in limit)
                ),
                units.share(
                    median(one.rows_per_cpu_s for one in these) / median(one.rows_per_cpu_s for one in limit)
                ),
            )
    return table


def _spread(values: Sequence[float]) -> str:
    """The median, and the least and the most."""
    said = units.count(round(median(values)))
    return f"{said} ({units.count(round(min(values)))} – {units.count(round(max(values)))})"


def _snapshots(found: Snapshots) -> Table:
    table = _table(f"Snapshots, {found.steps} steps of {found.rows_a_side:,} rows a side", "", "")
    table.add_row("left rows open at the end of a step", f"{found.open_rows:,}")
    table.add_row("snapshot, of the step's time", units.share(found.share))
    table.add_row(
        "least and most of a step", f"{units.share(min(found.shares))} – {units.share(max(found.shares))}"
    )
    return table


def _figure(found: Figure11) -> Table:
    lost = "index lost" if found.index_lost else "index kept"
    table = _table(
        f"Figure 11: a window of {found.rows:,} right rows, {found.rows_per_s:,} rows/s, {lost}", "", ""
    )
    index = [size for s, size in zip(found.line["s"], found.line["index_bytes"], strict=True) if s < 0]
    table.add_row("index before the kill", units.size(max(index, default=0)))
    table.add_row("index at most", units.size(max(found.line["index_bytes"], default=0)))
    table.add_row("kill to the first step done, s", _seconds(found.down_s))
    table.add_row("of which rebuilding, s", _seconds(found.replay_s))
    table.add_row("backlog at most, rows", f"{found.most_backlog_rows:,}")
    table.add_row("kill to no more backlog than before, s", _seconds(found.caught_up_s))
    return table


def _restart(found: list[Restart]) -> Table:
    table = _table(
        "Restart: from the start of the process to the first step done",
        "",
        "rows held",
        "s",
        "of which state, s",
    )
    for one in found:
        table.add_row(one.what, f"{one.rows:,}", _seconds(one.first_step_s), _seconds(one.state_s))
    return table


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.1f}"
