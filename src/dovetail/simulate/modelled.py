"""The papers' latency formulas with a setup's numbers put in: what stands beside a simulation as *modelled*.

They know of no queues, so a simulation comes near them at low rates only. T_CL of equation 6 is what one
level of a tree takes on average: a distributor writes to its children one after the other. CellJoin, for
which neither paper has a formula, is taken as a tree of one level; Kang's procedure as one core without any.
"""

from __future__ import annotations

from dovetail.simulate import formulas
from dovetail.simulate.costs import Costs
from dovetail.simulate.load import load
from dovetail.simulate.setup import Setup


def visiting_ns(setup: Setup, costs: Costs, rows_per_s: float) -> float:
    """Equation 2 or 6; of handshake join only how long rows walk, nearly a quarter of the window."""
    loaded = load(setup, costs, rows_per_s)
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
