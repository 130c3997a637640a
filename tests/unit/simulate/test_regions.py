"""NUMA regions: which messages cross a border, and what that costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dovetail.errors import SettingError
from dovetail.simulate.costs import Costs
from dovetail.simulate.regions import along_a_chain, in_a_tree, region_of_cores
from dovetail.simulate.run import simulate, sustained_rate
from dovetail.simulate.setup import Design, Placement, Setup, WindowSize
from dovetail.simulate.trees import nodes

COSTS = Costs(remote_ns=1000.0)


def setup(
    design: Design,
    regions: int = 4,
    placement: Placement = "neighbours",
    cores: int = 12,
    rows: int = 1 << 12,
) -> Setup:
    return Setup(design, cores, WindowSize(rows=rows), regions=regions, placement=placement)


def test_neighbours_share_a_region_or_are_dealt_out() -> None:
    assert region_of_cores(setup("split")).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert region_of_cores(setup("split", placement="scattered")).tolist() == [0, 1, 2, 3] * 3


def test_a_chain_of_neighbours_crosses_each_border_once_a_row_and_a_scattered_one_at_every_core() -> None:
    crossed = along_a_chain(setup("handshake"), COSTS) / COSTS.remote_ns
    assert crossed.sum(axis=1).tolist() == [3, 3]
    assert np.flatnonzero(crossed[0]).tolist() == [2, 5, 8], "left rows go up"
    assert np.flatnonzero(crossed[1]).tolist() == [3, 6, 9], "right rows go down"
    scattered = along_a_chain(setup("handshake", placement="scattered"), COSTS) / COSTS.remote_ns
    assert scattered.sum(axis=1).tolist() == [11, 11]


def test_a_tree_crosses_borders_in_its_upper_levels_only() -> None:
    """Eight cores in four regions, fan-out 2: pairs of cores share a region, and so do their distributors."""
    one = setup("split", cores=8)
    by_level = in_a_tree(one, COSTS, nodes(8, 2), 2)
    assert [(far > 0).tolist() for far in by_level] == [
        [False] * 8,
        [False, True, False, True],
        [False, True],
    ]


@pytest.mark.parametrize("design", ["cell", "handshake", "low-latency", "split"])
def test_one_region_has_no_border(design: Design) -> None:
    far, near = (simulate(setup(design, 1), replace(COSTS, remote_ns=ns), 10_000) for ns in (1e6, 0.0))
    assert far == near


@pytest.mark.parametrize("design", ["handshake", "low-latency"])
def test_a_chain_along_the_regions_holds_more_than_a_scattered_one(design: Design) -> None:
    rates = {
        placement: sustained_rate(setup(design, placement=placement), COSTS)
        for placement in ("neighbours", "scattered")
    }
    alone = sustained_rate(setup(design, 1), COSTS)
    assert rates["scattered"] < rates["neighbours"] < alone


def test_an_unknown_placement_is_refused() -> None:
    with pytest.raises(SettingError, match="no placement"):
        setup("split", placement="elsewhere")  # type: ignore[arg-type]
