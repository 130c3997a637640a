"""The summary of a run, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from dovetail.service.figures import EstimateSummary, RunSummary


def print_summary(summary: RunSummary, console: Console | None = None) -> None:
    console = console or Console()
    console.print(f"[bold]{summary.application}[/bold] · {summary.mode} · {summary.elapsed_s:.1f} s")
    for join in summary.joins:
        table = Table(show_header=False, box=None, pad_edge=False)
        rate = "—" if join.match_rate is None else f"{join.match_rate:.2%}"
        for label, value in (
            ("join", join.name),
            ("rows in", f"{join.left_rows:,} left, {join.right_rows:,} right"),
            ("matches", f"{join.matches:,} ({rate} of left rows matched)"),
            ("alone", f"{join.left_alone:,} left, {join.right_alone:,} right"),
            ("late, capped", f"{join.late_rows:,}, {join.capped_rows:,}"),
            ("missed, estimated", f"{join.missed:,}"),
            ("null keys, no valid time", f"{join.void_rows:,}, {join.invalid_rows:,}"),
            ("rejected", f"{join.rejected_rows:,}"),
            ("files gone unread", f"{join.vanished_files:,}"),
            ("still open, retained", f"{join.open_rows:,}, {join.retained_rows:,}"),
            (
                "state",
                f"{join.index_bytes_peak:,} bytes for {join.buffered_rows_peak:,} buffered rows at the peak",
            ),
        ):
            table.add_row(f"[dim]{label}[/dim]", value)
        estimates = {"left": join.left_estimate, "right": join.right_estimate}
        shown = [f"{_share(estimate)} {side}" for side, estimate in estimates.items() if estimate]
        if shown:
            table.add_row("[dim]on time by estimate[/dim]", ", ".join(shown))
        for words in join.advice:
            table.add_row("[dim]advice[/dim]", words)
        console.print(table)
    for stage, place in summary.outputs.items():
        console.print(f"[dim]{stage} →[/dim] {place}", highlight=False, soft_wrap=True)


def _share(estimate: EstimateSummary) -> str:
    return "—" if estimate.accuracy is None else f"{estimate.accuracy:.2%}"
