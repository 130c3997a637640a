"""The answer for one setup: the rate it holds, and where a row's time goes at a share of that rate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dovetail.errors import SettingError
from dovetail.simulate.costs import Costs
from dovetail.simulate.modelled import visiting_ns
from dovetail.simulate.outcome import Outcome
from dovetail.simulate.run import modelled_rate, simulate, sustained_rate
from dovetail.simulate.setup import Setup

LOAD = 0.9


@dataclass(frozen=True)
class Answer:
    setup: Setup
    held_rows_per_s: float
    """Of both streams together, simulated."""
    modelled_rows_per_s: float
    """What the busiest server allows."""
    load: float
    at_load: Outcome
    """At `load` times the rate held."""
    modelled_visiting_ns: float

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["setup"]["window"] = str(self.setup.window)
        document["setup"]["precision"] = str(self.setup.precision)
        return document


def answer(
    setup: Setup, costs: Costs, *, load: float = LOAD, rows: int | None = None, seed: int = 1
) -> Answer:
    if not 0 < load <= 2:
        raise SettingError(f"a load of {load}", where="--load", expected="above 0, at most 2; 1 is all held")
    held = sustained_rate(setup, costs, rows, seed)
    return Answer(
        setup,
        held,
        modelled_rate(setup, costs),
        load,
        simulate(setup, costs, load * held, rows, seed),
        visiting_ns(setup, costs, load * held),
    )
