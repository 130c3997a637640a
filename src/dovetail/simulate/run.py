"""One simulation of any design, and the highest rate that it holds.

Law: the same setup, costs, rate and seed give the same outcome, to the last bit.
"""

from __future__ import annotations

from types import ModuleType

from dovetail.errors import SettingError
from dovetail.simulate import cell_join, handshake, kang, low_latency_handshake, split_join
from dovetail.simulate.costs import Costs
from dovetail.simulate.outcome import Outcome
from dovetail.simulate.setup import Setup

ROWS, ROWS_PER_CORE = 4000, 4
"""How long a run is: rows enough that a chain's first ones are forgotten in its second half."""
EXACT = 0.001
SLOWEST, FASTEST = 1e-6, 1e12

_DESIGNS: dict[str, ModuleType] = {
    "kang": kang,
    "cell": cell_join,
    "handshake": handshake,
    "low-latency": low_latency_handshake,
    "split": split_join,
}


def simulate(
    setup: Setup, costs: Costs, rows_per_s: float, rows: int | None = None, seed: int = 1
) -> Outcome:
    """`rows_per_s` is of both streams together, half of it each."""
    if not SLOWEST <= rows_per_s <= FASTEST:
        raise SettingError(
            f"{rows_per_s} rows a second", where="rate", expected=f"{SLOWEST:g} to {FASTEST:g}"
        )
    count = rows or max(ROWS, ROWS_PER_CORE * setup.cores)
    found: Outcome = _DESIGNS[setup.design].simulate(setup, costs, rows_per_s, count, seed)
    return found


def modelled_rate(setup: Setup, costs: Costs) -> float:
    """Rows per second at which the busiest server has no moment left: what no queue can raise.

    In a time window the work of a row grows with the rate, so it is found by halving.
    """
    low, high = SLOWEST, FASTEST
    while high / low > 1 + EXACT / 10:
        middle = (low * high) ** 0.5
        if middle * _DESIGNS[setup.design].busiest_ns(setup, costs, middle) < 1e9:
            low = middle
        else:
            high = middle
    return low


def sustained_rate(setup: Setup, costs: Costs, rows: int | None = None, seed: int = 1) -> float:
    """The highest rate held (`Outcome.held`): bounded queues, no row lost. Searched by halving between what
    the model allows and a rate that is held, so never above the former."""
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
