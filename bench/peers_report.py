"""What `bench peers` says: one JSON document, or one table, which is also that of the README."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from rich.console import Console

from bench.peers_install import version_of
from bench.peers_work import Result
from bench.tables import Table

NAMES = {
    "dovetail": "Dovetail",
    "spark": f"Spark {version('pyspark')}",
    "spark-rocksdb": "Spark, RocksDB",
    "flink": f"Flink SQL {version_of('flink')}",
    "pathway": f"Pathway {version_of('pathway')}",
}


@dataclass(frozen=True)
class Ran:
    """The timed run of one system over files at rest."""

    elapsed_s: float
    cpu_s: float
    peak_pss_bytes: int
    result: Result


@dataclass(frozen=True)
class Live:
    """Latency of one system. `wrong`: pairs that were missing, twice there, or should not have been."""

    latencies: dict[str, Any]
    wrong: int
    peak_pss_bytes: int
    first_result_s: float


@dataclass(frozen=True)
class LeftOut:
    """A peer that is not in the table, or not whole, and why."""

    system: str
    reason: str


@dataclass(frozen=True)
class Report:
    """By system. `rows`: of a side; `rate`: of live traffic, per second and side."""

    rows: int
    rate: int
    cores: int
    expected: Result
    ran: dict[str, Ran] = field(default_factory=dict)
    live: dict[str, Live] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """Every system gave the pairs of the batch join, and of the live traffic if it held the rate."""
        return all(one.result == self.expected for one in self.ran.values()) and not any(
            one.wrong and one.latencies["held"] for one in self.live.values()
        )

    def rows_per_s(self, system: str) -> float:
        return 2 * self.rows / self.ran[system].elapsed_s

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "rate": self.rate,
            "cores": self.cores,
            "pairs": self.expected.pairs,
            "equal": self.equal,
            "at_rest": {
                system: asdict(one)
                | {"rows_per_s": self.rows_per_s(system), "equal": one.result == self.expected}
                for system, one in self.ran.items()
            },
            "live": {system: asdict(one) for system, one in self.live.items()},
            "left_out": [asdict(one) for one in self.left_out],
        }

    def title(self) -> str:
        live = f"; live: {self.rate:,} rows per second and side" if self.live else ""
        return f"{2 * self.rows:,} rows of JSON, {self.expected.pairs:,} pairs, {self.cores} cores{live}"

    def table(self) -> Table:
        heads = ["", "rows per second", "CPU seconds", "peak memory"]
        if self.live:
            heads += ["latency, median", "99 %", "peak memory, live", "first result"]
        systems = [system for system in NAMES if system in self.ran]
        return Table(
            heads, [[NAMES[system], *self._at_rest(system), *self._live(system)] for system in systems]
        )

    def _at_rest(self, system: str) -> list[str]:
        one = self.ran[system]
        wrong = "" if one.result == self.expected else f" (WRONG: {one.result.pairs:,} pairs)"
        return [f"{self.rows_per_s(system):,.0f}{wrong}", f"{one.cpu_s:.1f}", _mib(one.peak_pss_bytes)]

    def _live(self, system: str) -> list[str]:
        if system not in self.live:
            return ["-"] * 4 if self.live else []
        one = self.live[system]
        behind = "" if one.latencies["held"] else " (falls behind)"
        wrong = f" (WRONG: {one.wrong:,} pairs)" if one.wrong and not behind else ""
        return [
            f"{one.latencies['p50']:.2f} s",
            f"{one.latencies['p99']:.2f} s{behind}{wrong}",
            _mib(one.peak_pss_bytes),
            f"{one.first_result_s:.1f} s",
        ]


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


def show(report: Report) -> None:
    console = Console(highlight=False, width=140)
    console.print(report.table().rich(report.title()))
    for one in report.left_out:
        console.print(f"left out: {one.system}: {one.reason}", soft_wrap=True)
