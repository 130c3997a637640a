"""What `bench latency` says: one JSON document, or tables, from the same outcomes."""

from __future__ import annotations

from collections.abc import Iterator
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
        """Nothing came out twice, or that should not, and nothing is missing where the rate was held."""
        return all(
            not (check["twice"] or check["foreign"])
            and not (check["missing"] and one["latencies"]["pairs"]["held"])
            for outcome in self.found
            for one in outcome["applications"]
            for check in one["checks"]
        )

    def lines(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """What is measured, the outcome, and the latencies of the slowest of its applications."""
        for outcome in self.found:
            for kind in outcome["applications"][0]["latencies"]:
                slowest = max(
                    (one["latencies"][kind] for one in outcome["applications"]), key=lambda one: one["p99"]
                )
                label = outcome["label"] if kind == "pairs" else f"{outcome['label']}: {kind}"
                yield label, outcome, slowest

    def ratios(self) -> dict[str, dict[str, dict[str, float]]]:
        """By what is measured and by system: its percentiles divided by those of Spark."""
        spark = {label: took for label, outcome, took in self.lines() if outcome["system"] == "spark"}
        found: dict[str, dict[str, dict[str, float]]] = {}
        for label, outcome, took in self.lines():
            if outcome["system"] != "spark" and label in spark:
                ratio = {name: took[name] / spark[label][name] for name in PERCENTILES}
                found.setdefault(label, {})[outcome["system"]] = ratio
        return found

    def to_json(self) -> dict[str, Any]:
        return {"runs": self.found, "ratios": self.ratios(), "right": self.right}


def show(report: Report) -> None:
    console = Console(highlight=False, width=180)
    console.print(latency_table(report))
    console.print(phase_table(report))


def latency_table(report: Report) -> Table:
    table = Table(title="Seconds from a row's arrival to its match", caption=_verdict(report))
    for head in (
        "per side",
        "system",
        *PERCENTILES,
        "held",
        "rows",
        "cores used",
        "peak RSS",
        "first result",
    ):
        table.add_column(head, justify="left" if head in ("per side", "system") else "right")
    for label, outcome, took in report.lines():
        table.add_row(
            label,
            outcome["system"],
            *(f"{took[name]:.2f}" for name in PERCENTILES),
            "yes" if took["held"] else f"NO, {took['share_held']:.0%}",
            f"{took['rows']:,}",
            f"{outcome['cores']:.2f}",
            f"{outcome['peak_rss_bytes'] / 2**20:,.0f} MiB",
            f"{outcome['first_result_s']:.1f}",
        )
    for label, systems in report.ratios().items():
        for system, ratio in systems.items():
            table.add_row(label, f"{system} / spark", *(f"{ratio[name]:.2f}" for name in PERCENTILES))
    return table


def _verdict(report: Report) -> str:
    checks = [check for run in report.found for one in run["applications"] for check in one["checks"]]
    wrong = sum(check["twice"] + check["foreign"] for check in checks)
    missing = sum(check["missing"] for check in checks)
    if wrong:
        return f"NOT the rows of the traffic: {wrong:,} came out twice or should not have"
    if missing:
        return f"{missing:,} rows were not out when patience ended; all others as they should be"
    return "all runs gave exactly the rows of the traffic"


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
