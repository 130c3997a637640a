"""What `bench latency` says: one JSON document, or tables, from the same outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.latency_figures import PERCENTILES

PHASES = (
    "triggerExecution",
    "latestOffset",
    "getBatch",
    "queryPlanning",
    "walCommit",
    "addBatch",
    "commitOffsets",
)


@dataclass(frozen=True)
class Report:
    """One outcome for each system and kind of traffic."""

    found: list[dict[str, Any]]

    @property
    def right(self) -> bool:
        """No pair came out twice, or that should not, and none is missing where the rate was held."""
        return all(
            not (one["check"]["twice"] or one["check"]["foreign"])
            and (not one["check"]["missing"] or not one["pairs"]["held"])
            for outcome in self.found
            for one in outcome["applications"]
        )

    def ratios(self) -> dict[str, dict[str, float]]:
        """By kind of traffic: Dovetail's percentiles divided by Spark's."""
        by_label: dict[str, dict[str, Any]] = {}
        for outcome in self.found:
            by_label.setdefault(outcome["label"], {})[outcome["system"]] = worst(outcome)
        return {
            label: {name: both["dovetail"][name] / both["spark"][name] for name in PERCENTILES}
            for label, both in by_label.items()
            if {"dovetail", "spark"} <= set(both)
        }

    def to_json(self) -> dict[str, Any]:
        return {"runs": self.found, "ratios": self.ratios(), "right": self.right}


def worst(outcome: dict[str, Any]) -> dict[str, Any]:
    """The latencies of the slowest of its applications."""
    found: dict[str, Any] = max((one["pairs"] for one in outcome["applications"]), key=lambda one: one["p99"])
    return found


def show(report: Report) -> None:
    console = Console(highlight=False, width=170)
    console.print(latency_table(report))
    console.print(phase_table(report))


def latency_table(report: Report) -> Table:
    table = Table(title="Seconds from a row's arrival to its match", caption=_verdict(report))
    for head in (
        "per side",
        "system",
        *PERCENTILES,
        "held",
        "pairs",
        "cores used",
        "peak RSS",
        "first result",
    ):
        table.add_column(head, justify="left" if head in ("per side", "system") else "right")
    for outcome in report.found:
        pairs = worst(outcome)
        table.add_row(
            outcome["label"],
            outcome["system"],
            *(f"{pairs[name]:.2f}" for name in PERCENTILES),
            "yes" if pairs["held"] else f"NO, {pairs['share_held']:.0%}",
            f"{sum(one['pairs']['rows'] for one in outcome['applications']):,}",
            f"{outcome['cores']:.2f}",
            f"{outcome['peak_rss_bytes'] / 2**20:,.0f} MiB",
            f"{outcome['cold_start_s']:.1f}",
        )
    for label, ratio in report.ratios().items():
        table.add_row(label, "ratio", *(f"{ratio[name]:.2f}" for name in PERCENTILES))
    return table


def _verdict(report: Report) -> str:
    checks = [one["check"] for outcome in report.found for one in outcome["applications"]]
    wrong = sum(check["twice"] + check["foreign"] for check in checks)
    missing = sum(check["missing"] for check in checks)
    if wrong:
        return f"NOT the pairs of the traffic: {wrong:,} came out twice or should not have"
    if missing:
        return f"{missing:,} pairs were not out when patience ended; all others as they should be"
    return "all runs gave exactly the pairs of the traffic"


def phase_table(report: Report) -> Table:
    table = Table(title="Median milliseconds of a micro-batch, by phase")
    for head in ("per side", "system", "query", "batches", "rows", "every", *PHASES):
        table.add_column(head, justify="left" if head in ("per side", "system", "query") else "right")
    for outcome in report.found:
        for query, ms in outcome["phases"].items():
            table.add_row(
                outcome["label"],
                outcome["system"],
                query,
                f"{ms['batches']}",
                f"{ms['rows']:,.0f}",
                f"{ms['between']:,.0f}",
                *(f"{ms.get(name, 0):,.0f}" for name in PHASES),
            )
    return table
