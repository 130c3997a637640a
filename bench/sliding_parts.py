"""The parts of `dovetail bench sliding`: what is varied in each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import sliding_costs, sliding_scan
from bench.sliding_rates import Case, latency, measured, pairs_of, steady_latency
from bench.sliding_work import BAND, EQUAL
from dovetail.simulate.costs_file import write_costs
from dovetail.simulate.formulas import handshake_visiting_s
from dovetail.sliding.designs import DESIGNS

STREAM_ROWS = 4000
VISITING_ROWS_PER_S, VISITING_WINDOW = 2_000, 1 << 11
PAPER_ROWS_PER_S, PAPER_WINDOW = 5_200, 1 << 21  # SplitJoin, 7.4 and figure 16: 28 cores


@dataclass(frozen=True)
class Asked:
    windows: list[int]
    cores: list[int]
    designs: list[str] | None
    index_window: int
    seconds: float
    repeat: int
    costs: Path | None

    @property
    def all_designs(self) -> list[str]:
        return self.designs or list(DESIGNS)


def equal_pairs(asked: Asked) -> dict[str, Any]:
    """What each design makes of one stream."""
    made = {
        f"{design} on {cores}": pairs_of(
            Case(design=design, cores=cores, window=300, domain=200, access=access), STREAM_ROWS
        )
        for design in asked.all_designs
        for cores in ((1,) if design == "kang" else asked.cores)
        for access in ("scan",)
    }
    made["split with the band index"] = pairs_of(Case(window=300, domain=200, access="cells"), STREAM_ROWS)
    return {"made": {name: pairs for name, (pairs, _) in made.items()}, "same": len(set(made.values())) == 1}


def part(name: str, asked: Asked) -> Any:
    return _PARTS[name](asked)


def _scan(asked: Asked) -> list[dict[str, Any]]:
    return sliding_scan.compared(asked.repeat)


def _designs(asked: Asked) -> list[dict[str, Any]]:
    """Each with the same scans: four rows that wait in one pass, and (`alone`) one row a pass."""
    found = []
    for window in asked.windows:
        for design in asked.all_designs:
            for cores in (1,) if design == "kang" else asked.cores:
                case = Case(design=design, cores=cores, window=window, seconds=asked.seconds)
                one = measured(case)
                alone = measured(replace(case, together=False))
                found.append({**one.to_json(), "taken_alone_rows_per_s": alone.taken_rows_per_s})
    return found


def _visiting(asked: Asked) -> list[dict[str, Any]]:
    """At a steady rate over two windows, after one that fills. `walk`: what the formula of handshake join
    says, whose rows wait until later ones push them on."""
    found = []
    rate, window = VISITING_ROWS_PER_S, min(VISITING_WINDOW, *asked.windows)
    for design in asked.all_designs:
        for cores in (1,) if design == "kang" else asked.cores:
            stages = steady_latency(Case(design=design, cores=cores, window=window, domain=500), rate)
            walk = handshake_visiting_s(2 * window / rate, cores) if design == "handshake" else 0.0
            found.append({"design": design, "cores": cores, "window": window, **stages, "walk": walk * 1e6})
    return found


def _order(asked: Asked) -> list[dict[str, Any]]:
    """Figure 19: from no order to one punctuation a comparison."""
    base = Case(cores=max(asked.cores), window=asked.windows[0], seconds=asked.seconds)
    cases = [
        base,
        *[replace(base, order="outer", every=every) for every in (100, 10, 1)],
        *[replace(base, order="inner", group=group) for group in (base.window, 1024, 64, 1)],
    ]
    return [measured(case).to_json() for case in cases]


def _selectivity(asked: Asked) -> list[dict[str, Any]]:
    """Figure 17: the share of pairs that match, by how many values there are."""
    base = Case(cores=max(asked.cores), window=asked.windows[0], seconds=asked.seconds)
    return [measured(replace(base, domain=domain)).to_json() for domain in (100_000, 10_000, 2_000, 500)]


def _windows(asked: Asked) -> list[dict[str, Any]]:
    base = Case(cores=max(asked.cores), window=asked.windows[0], seconds=asked.seconds)
    return [measured(replace(base, by_time=by_time)).to_json() for by_time in (False, True)]


def _index(asked: Asked) -> list[dict[str, Any]]:
    found = []
    for window in sorted({*asked.windows, asked.index_window}):
        one = measured(Case(window=window, access="cells", seconds=asked.seconds, batch=512)).to_json()
        if window == PAPER_WINDOW:
            one["times_the_papers"] = one["held_rows_per_s"] / PAPER_ROWS_PER_S
        found.append(one)
    return found


def _latency(asked: Asked) -> list[dict[str, Any]]:
    """Rows one at a time, a window of 2^14, one core."""
    found = []
    for predicate, domain in ((EQUAL, 10_000), (BAND, 1_000)):
        case = Case(window=1 << 14, access="cells", predicate=predicate, domain=domain)
        stages = latency(case, 2_000, int(2_000 * asked.seconds))
        found.append({"predicate": predicate, **stages})
    return found


def _simulated(asked: Asked) -> list[dict[str, Any]]:
    costs = sliding_costs.costs(asked.repeat)
    if asked.costs:
        write_costs(costs, asked.costs)
    return sliding_costs.beside(costs, asked.windows[1:] or asked.windows, asked.seconds, asked.repeat)


_PARTS = {
    "scan": _scan,
    "designs": _designs,
    "visiting": _visiting,
    "order": _order,
    "selectivity": _selectivity,
    "windows": _windows,
    "index": _index,
    "latency": _latency,
    "simulated": _simulated,
}
