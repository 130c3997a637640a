"""Designs in which rows go down a tree to all cores at once: Kang's procedure, CellJoin and SplitJoin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.simulate.costs import Costs
from dovetail.simulate.kernels.trees import Shape, TreeRows, Work, pass_trees
from dovetail.simulate.load import Load, draw_matches, load, slices
from dovetail.simulate.regions import in_a_tree
from dovetail.simulate.result import RowTimes, SimulationResult, summarize
from dovetail.simulate.setup import Setup


def nodes(cores: int, branching: int) -> NDArray[np.int64]:
    """How many there are on each level from the cores to the root; one core needs no tree."""
    counts = [cores]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // branching))
    return np.array(counts, np.int64)


@dataclass(frozen=True)
class TreeDesign:
    """What differs between these designs."""

    fan_out: int
    fan_in: int
    root_ns: float
    """At the first node, for each row."""
    core_ns: float
    """In every core for each row, beside scan, matches and stars."""
    stars: tuple[float, float]
    """A core's, for a group of left and of right rows."""
    group: int

    def simulate(
        self, setup: Setup, costs: Costs, rows_per_s: float, rows: int, seed: int
    ) -> SimulationResult:
        loaded = load(setup, costs, rows_per_s)
        arrivals = setup.arrivals.times_ns(rows_per_s, rows // 2, seed)
        matches = draw_matches(loaded, rows // 2, seed)
        works = self._core_ns(loaded, costs)[:, None] + matches / setup.cores * costs.result_ns
        order = np.argsort(arrivals, axis=None, kind="stable")
        stream = np.repeat(np.arange(2), rows // 2)[order]
        stars = loaded.mean(self.stars)
        down, up = nodes(setup.cores, self.fan_out), nodes(setup.cores, self.fan_in)
        passed = pass_trees(
            TreeRows(
                arrivals.ravel()[order],
                stream,
                works.ravel()[order],
                matches.ravel()[order] / setup.cores * costs.merge_ns,
            ),
            Shape(
                down[::-1].copy(),
                up,
                self.fan_out,
                self.fan_in,
                setup.queue_rows,
                setup.input_rows,
            ),
            Work(
                self.root_ns,
                costs.hop_ns,
                np.concatenate([[0.0], *in_a_tree(setup, costs, down, self.fan_out)[::-1]]),
                np.concatenate([*in_a_tree(setup, costs, up, self.fan_in)[1:], [0.0]]),
                costs.store_ns,
                stars * costs.punctuation_ns,
                self.group,
            ),
            slices(setup, costs, seed),
        )
        kept = ~passed.lost
        start, end = passed.start[kept], passed.end[kept]
        times = RowTimes(
            arrival=arrivals.ravel()[order][kept],
            start=start,
            end=end,
            out=passed.out[kept],
            # A partner is as likely in any core and at any place of its sub-window.
            visit=(start + end) / 2,
            partners=np.array(loaded.sub_window)[stream[kept]],
        )
        scanned = loaded.mean(loaded.sub_window) * setup.cores
        return summarize(times, int(passed.lost.sum()), rows_per_s, scanned)

    def busiest_ns(self, setup: Setup, costs: Costs, rows_per_s: float) -> float:
        """The work that a row is for the busiest server: its inverse is what can be held at most."""
        loaded = load(setup, costs, rows_per_s)
        cores, matches = setup.cores, loaded.mean(loaded.matches)
        core = float(self._core_ns(loaded, costs).mean()) + matches / cores * costs.result_ns
        core += costs.store_ns / cores
        if cores == 1:
            return core
        stars = loaded.mean(self.stars) * costs.punctuation_ns / max(1, self.group)
        distributor = self.root_ns + min(self.fan_out, cores) * costs.hop_ns + self._far_ns(setup, costs)
        # Each stream has its mergers, so a merger sees every other row; the combiner sees all.
        last_merger = (
            matches * costs.merge_ns + min(self.fan_in, cores) * stars + costs.hop_ns / max(1, self.group)
        ) / 2
        return max(core, distributor, last_merger, matches * costs.merge_ns + stars)

    def _far_ns(self, setup: Setup, costs: Costs) -> float:
        """What messages to other regions cost the distributor that sends most of them, for a row."""
        levels = in_a_tree(setup, costs, nodes(setup.cores, self.fan_out), self.fan_out)
        return float(max(np.add.reduceat(far, np.arange(0, len(far), self.fan_out)).max() for far in levels))

    def _core_ns(self, loaded: Load, costs: Costs) -> NDArray[np.float64]:
        scans, stars = np.array(loaded.scan_ns), np.array(self.stars)
        return scans + stars / max(1, self.group) * costs.punctuation_ns + self.core_ns


def kang(setup: Setup, costs: Costs, rows_per_s: float) -> TreeDesign:
    """Kang's three-step procedure: one core that scans, inserts and invalidates. The sequential reference.

    Paper: Kang, Naughton, Viglas (ICDE 2003), as quoted in the handshake paper, section 2.2.
    Cost: one row at a time, the scan of a whole window each.
    """
    return TreeDesign(fan_out=2, fan_in=2, root_ns=0.0, core_ns=costs.expire_ns, stars=(0.0, 0.0), group=0)


def cell_join(setup: Setup, costs: Costs, rows_per_s: float) -> TreeDesign:
    """CellJoin: a tree of one level whose root is the coordinator, with more to do than a distributor.

    Paper: Gedik, Bordawekar, Yu, *CellJoin* (VLDB Journal 2009), as the handshake paper (SIGMOD 2011,
    sections 2.2 and 3.6) describes it: a coordinator divides the windows into basic windows, one share a
    core, again every few rows, at a cost that grows with the number of cores, and copies every new row to all
    of them.
    Differs: results are collected without order by one thread; fetching basic windows from the shared memory
    is part of a comparison's cost.
    Cost: the coordinator's, O(k) a row, bounds the rate however many cores there are.
    """
    return TreeDesign(
        fan_out=max(2, setup.cores),
        fan_in=max(2, setup.cores),
        root_ns=costs.partition_ns * setup.cores / setup.repartition_rows,
        core_ns=costs.expire_ns / setup.cores,
        stars=(0.0, 0.0),
        group=0,
    )


def split_join(setup: Setup, costs: Costs, rows_per_s: float) -> TreeDesign:
    """SplitJoin: rows of both streams go down one tree to all cores; each scans its sub-window, one of them
    stores (in turn, without coordination); results and stars come up through mergers, one tree a stream, and
    a combiner.

    Paper: Najafi, Sadoghi, Jacobsen, *SplitJoin* (USENIX ATC 2016), sections 4 and 5, figures 11 and 14.
    Vocabulary: join core = core; distributor, merger, combiner, star as in the paper.
    Differs: a core's stars for a row are one piece of work at its end, so mergers begin with a row when its
    first core is done, not at its first star. Mergers of the right and left regions run side by side.
    Cost: distribution O(log_b k); see `formulas.py`.
    """
    sub_window = load(setup, costs, rows_per_s).sub_window
    # Passive expiration overwrites; active expiration removes one row for each that comes, in one of k cores.
    expire = costs.expire_ns / setup.cores if setup.window.timed else 0.0
    return TreeDesign(
        fan_out=setup.fan_out,
        fan_in=setup.fan_in,
        root_ns=0.0,
        core_ns=expire,
        stars=(setup.precision.stars(sub_window[0]), setup.precision.stars(sub_window[1])),
        group=setup.precision.rows_per_star,
    )
