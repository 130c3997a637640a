"""Designs in which rows go down to all cores at once: from a setup to the kernel's arrays and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.kernels.trees import Rows, Shape, Work, pass_trees
from dovetail.simulate.load import Load, draw_matches, load
from dovetail.simulate.outcome import Outcome, Times, outcome
from dovetail.simulate.setup import Setup
from dovetail.simulate.sharing import slices


@dataclass(frozen=True)
class TreeDesign:
    """What tells these designs apart."""

    fan_out: int
    fan_in: int
    root_ns: float
    """At the first node, for each row."""
    core_ns: float
    """In every core for each row, beside scan, matches and stars."""
    stars: tuple[float, float]
    """A core's, for a group of left and of right rows."""
    group: int


def nodes(cores: int, branching: int) -> NDArray[np.int64]:
    """How many there are on each level from the cores to the root; one core needs no tree."""
    counts = [cores]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // branching))
    return np.array(counts, np.int64)


def simulate_trees(
    setup: Setup, costs: Costs, rows_per_s: float, design: TreeDesign, rows: int, seed: int
) -> Outcome:
    loaded = load(setup, costs, rows_per_s)
    arrivals = setup.arrivals.times_ns(rows_per_s, rows // 2, seed)
    matches = draw_matches(loaded, rows // 2, seed)
    works = _core_ns(loaded, costs, design)[:, None] + matches / setup.cores * costs.result_ns
    order = np.argsort(arrivals, axis=None, kind="stable")
    stream = np.repeat(np.arange(2), rows // 2)[order]
    stars = loaded.mean(design.stars)
    passed = pass_trees(
        Rows(
            arrivals.ravel()[order],
            stream,
            works.ravel()[order],
            matches.ravel()[order] / setup.cores * costs.merge_ns,
        ),
        Shape(
            nodes(setup.cores, design.fan_out)[::-1].copy(),
            nodes(setup.cores, design.fan_in),
            design.fan_out,
            design.fan_in,
            setup.queue_rows,
            setup.input_rows,
        ),
        Work(design.root_ns, costs.hop_ns, costs.store_ns, stars * costs.punctuation_ns, design.group),
        slices(setup, costs, seed),
    )
    kept = ~passed.lost
    start, end = passed.start[kept], passed.end[kept]
    times = Times(
        arrival=arrivals.ravel()[order][kept],
        start=start,
        end=end,
        out=passed.out[kept],
        # A partner is as likely in any core and at any place of its sub-window.
        visit=(start + end) / 2,
        partners=np.array(loaded.sub_window)[stream[kept]],
    )
    scanned = loaded.mean(loaded.sub_window) * setup.cores
    return outcome(times, int(passed.lost.sum()), rows_per_s, scanned)


def busiest_tree_ns(setup: Setup, costs: Costs, rows_per_s: float, design: TreeDesign) -> float:
    """The work that a row is for the busiest server: its inverse is what can be held at most."""
    loaded = load(setup, costs, rows_per_s)
    cores, matches = setup.cores, loaded.mean(loaded.matches)
    core = float(_core_ns(loaded, costs, design).mean()) + matches / cores * costs.result_ns
    core += costs.store_ns / cores
    if cores == 1:
        return core
    stars = loaded.mean(design.stars) * costs.punctuation_ns / max(1, design.group)
    distributor = design.root_ns + min(design.fan_out, cores) * costs.hop_ns
    # Each stream has its mergers, so a merger sees every other row; the combiner sees all.
    last_merger = (
        matches * costs.merge_ns + min(design.fan_in, cores) * stars + costs.hop_ns / max(1, design.group)
    ) / 2
    return max(core, distributor, last_merger, matches * costs.merge_ns + stars)


def _core_ns(loaded: Load, costs: Costs, design: TreeDesign) -> NDArray[np.float64]:
    scans, stars = np.array(loaded.scan_ns), np.array(design.stars)
    return scans + stars / max(1, design.group) * costs.punctuation_ns + design.core_ns
