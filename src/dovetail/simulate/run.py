"""One simulation of any design, the highest rate that it holds, and what the papers' formulas say beside it.

Law: the same setup, costs, rate and seed give the same result, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.errors import SettingError
from dovetail.simulate import chains, formulas, trees
from dovetail.simulate.chains import ChainDesign
from dovetail.simulate.costs import Costs
from dovetail.simulate.load import load as load_of
from dovetail.simulate.result import SimulationResult
from dovetail.simulate.setup import Setup
from dovetail.simulate.trees import TreeDesign

LOAD = 0.9
ROWS, ROWS_PER_CORE = 4000, 4
"""How long a run is: long enough that its second half forgets the first rows of a chain."""
EXACT = 0.001
SLOWEST, FASTEST = 1e-6, 1e12

_DESIGNS: dict[str, Callable[[Setup, Costs, float], TreeDesign | ChainDesign]] = {
    "kang": trees.kang,
    "cell": trees.cell_join,
    "handshake": chains.handshake,
    "low-latency": chains.low_latency_handshake,
    "split": trees.split_join,
}


def simulate(
    setup: Setup, costs: Costs, rows_per_s: float, rows: int | None = None, seed: int = 1
) -> SimulationResult:
    """`rows_per_s` is of both streams together, half of it each."""
    if not SLOWEST <= rows_per_s <= FASTEST:
        raise SettingError(
            f"{rows_per_s} rows per second", where="rate", expected=f"{SLOWEST:g} to {FASTEST:g}"
        )
    count = rows or max(ROWS, ROWS_PER_CORE * setup.cores)
    design = _DESIGNS[setup.design](setup, costs, rows_per_s)
    return design.simulate(setup, costs, rows_per_s, count, seed)


def modelled_rate(setup: Setup, costs: Costs) -> float:
    """Rows per second at which the busiest server has no moment left: what no queue can raise.

    In a time window the work of a row grows with the rate, so it is found by halving.
    """
    low, high, design = SLOWEST, FASTEST, _DESIGNS[setup.design]
    while high / low > 1 + EXACT / 10:
        middle = (low * high) ** 0.5
        if middle * design(setup, costs, middle).busiest_ns(setup, costs, middle) < 1e9:
            low = middle
        else:
            high = middle
    return low


def sustained_rate(setup: Setup, costs: Costs, rows: int | None = None, seed: int = 1) -> float:
    """The highest rate held (`SimulationResult.held`): bounded queues, no row lost. Searched by halving
    between what the model allows and a rate that is held, so never above the former."""
    high = modelled_rate(setup, costs)
    low = high * (1 - EXACT)
    while not simulate(setup, costs, low, rows, seed).held:
        high, low = low, low / 1.25
        if low < SLOWEST:
            raise SettingError("no rate is held", expected="costs and queues that let rows pass")
    while high / low > 1 + 2 * EXACT:
        middle = (low + high) / 2
        if simulate(setup, costs, middle, rows, seed).held:
            low = middle
        else:
            high = middle
    return low


def modelled_visiting_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    """Visiting latency by the papers' formulas: equation 2 or 6; for handshake join only how long rows walk,
    nearly a quarter of the window.

    The formulas know no queues, so a simulation comes near them at low rates only. T_CL of equation 6 is what
    one level of a tree takes on average: a distributor writes to its children one after the other. Neither
    paper has a formula for CellJoin, which we take as a tree of one level; Kang's procedure is one core
    without any.
    """
    loaded = load_of(setup, costs, rows_per_s)
    w, scan = loaded.mean(loaded.sub_window), loaded.mean(loaded.scan_ns)
    k, compare = setup.cores, scan / w if w else 0.0
    if setup.design == "low-latency":
        return formulas.low_latency_visiting_ns(k, w, costs.hop_ns, costs.monitor_ns, compare)
    if setup.design == "handshake":
        return 1e9 * formulas.handshake_visiting_s(2 * w * k / rows_per_s, k)
    fan_out = max(2, k) if setup.design == "cell" else setup.fan_out
    level = costs.hop_ns * (min(fan_out, k) + 1) / 2
    first = costs.partition_ns * k / setup.repartition_rows if setup.design == "cell" and k > 1 else 0.0
    full = float(fan_out ** formulas.levels(k, fan_out))
    return first + formulas.split_visiting_ns(round(full), fan_out, w, level, compare)


@dataclass(frozen=True)
class Capacity:
    """The rate that a setup holds, and where a row's time goes at a share of that rate."""

    setup: Setup
    held_rows_per_s: float
    """Both streams together, simulated."""
    modelled_rows_per_s: float
    """What the busiest server allows."""
    load: float
    at_load: SimulationResult
    """At `load` times the rate held."""
    modelled_visiting_ns: float

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["setup"]["window"] = str(self.setup.window)
        document["setup"]["precision"] = str(self.setup.precision)
        return document


def capacity(
    setup: Setup, costs: Costs, *, load: float = LOAD, rows: int | None = None, seed: int = 1
) -> Capacity:
    if not 0 < load <= 2:
        raise SettingError(f"a load of {load}", where="--load", expected="above 0, at most 2; 1 is all held")
    held = sustained_rate(setup, costs, rows, seed)
    return Capacity(
        setup,
        held,
        modelled_rate(setup, costs),
        load,
        simulate(setup, costs, load * held, rows, seed),
        modelled_visiting_ns(setup, costs, load * held),
    )
