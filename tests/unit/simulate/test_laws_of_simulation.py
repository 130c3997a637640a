"""What every simulated design keeps to: rows are conserved, runs repeat, cores help, formulas agree."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from dovetail.errors import SettingError
from dovetail.simulate import formulas
from dovetail.simulate.costs import Costs
from dovetail.simulate.paper_costs import paper_costs
from dovetail.simulate.run import modelled_rate, simulate, sustained_rate
from dovetail.simulate.setup import DESIGNS, ArrivalPattern, Design, Ordering, Setup, WindowSize

PARALLEL: tuple[Design, ...] = ("cell", "handshake", "low-latency", "split")
ROWS = WindowSize(rows=1 << 15)
RANDOM, BURSTS = ArrivalPattern("poisson"), ArrivalPattern("bursts", burst_rows=64, burst_share=0.1)
PLAIN = Costs(
    compare_ns=((1, 1.0),),
    timestamp_ns=0.0,
    hop_ns=1000.0,
    row_ns=0.0,
    store_ns=0.0,
    expire_ns=0.0,
    monitor_ns=500.0,
    expiry_ns=0.0,
    result_ns=0.0,
    merge_ns=0.0,
    punctuation_ns=0.0,
)
"""What the formulas know of, and nothing else."""


def setups(design: Design, **more: object) -> Setup:
    cores = 1 if design == "kang" else 6
    return Setup(design, cores, ROWS, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("arrivals", [ArrivalPattern(), RANDOM, BURSTS], ids=lambda one: one.kind)
@pytest.mark.parametrize("load", [0.5, 0.9, 1.5])
def test_every_row_comes_out_or_is_counted_as_lost(
    design: Design, arrivals: ArrivalPattern, load: float
) -> None:
    setup = setups(design, arrivals=arrivals)
    found = simulate(setup, Costs(), load * modelled_rate(setup, Costs()), rows=3000, seed=5)
    assert found.offered == 3000
    assert found.completed + found.lost == found.offered
    assert (found.lost > 0) == (load > 1)
    latency = found.latency
    stages = latency.distribution_ns + latency.execution_ns + latency.gathering_ns
    assert stages == pytest.approx(latency.end_to_end_ns, rel=1e-9)
    assert 0 < latency.visiting_ns < latency.end_to_end_ns
    assert latency.distribution_ns >= 0
    assert latency.execution_ns > 0


@pytest.mark.parametrize("design", DESIGNS)
def test_the_same_seed_gives_the_same_outcome_and_another_one_another(design: Design) -> None:
    setup = setups(design, arrivals=RANDOM)
    rate = 0.8 * modelled_rate(setup, Costs())
    first, again, other = (simulate(setup, Costs(), rate, rows=2000, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert astuple(first) != astuple(other)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("window", [WindowSize(rows=1 << 15), WindowSize(seconds=60.0)], ids=str)
@pytest.mark.parametrize("selectivity", [1e-6, 0.02])
def test_what_is_held_is_what_the_busiest_server_allows(
    design: Design, window: WindowSize, selectivity: float
) -> None:
    """With many matches that is whoever gathers them, with few a core."""
    setup = replace(setups(design), window=window, selectivity=selectivity)
    held = sustained_rate(setup, Costs())
    assert 0.97 * modelled_rate(setup, Costs()) <= held <= modelled_rate(setup, Costs())
    assert simulate(setup, Costs(), held).held
    assert not simulate(setup, Costs(), 1.02 * held).held


@pytest.mark.parametrize("design", PARALLEL)
@pytest.mark.parametrize("costs", [Costs(), paper_costs()], ids=["placeholders", "paper"])
def test_more_cores_hold_no_less(design: Design, costs: Costs) -> None:
    """Except with CellJoin, whose coordinator has more work with more cores: see below."""
    most = 16 if design == "cell" else 64
    counts = [1 << power for power in range(7) if 1 << power <= most]
    held = [sustained_rate(Setup(design, cores, WindowSize(rows=1 << 20)), costs) for cores in counts]
    assert held == sorted(held)


def test_a_coordinator_bounds_celljoin_and_a_tree_does_not_bound_splitjoin() -> None:
    """The handshake paper, section 2.2: its cost grows linearly with the cores."""
    window = WindowSize(rows=1 << 20)
    cell = [sustained_rate(Setup("cell", cores, window), paper_costs()) for cores in (16, 256)]
    split = [sustained_rate(Setup("split", cores, window), paper_costs()) for cores in (16, 256)]
    assert cell[1] < 3 * cell[0]
    assert split[1] > 14 * split[0]


def test_taking_up_a_row_is_not_shared() -> None:
    """Cores share what a row is compared with, not the row."""
    costs = replace(PLAIN, compare_ns=((1, 1e-6),), hop_ns=1.0, row_ns=1000.0)
    rates = [sustained_rate(Setup("split", cores, WindowSize(rows=1 << 16)), costs) for cores in (1, 8)]
    assert rates[1] == pytest.approx(rates[0], rel=0.01)
    assert rates[0] == pytest.approx(1e6, rel=0.02)


@pytest.mark.parametrize(
    ("cores", "fan_out"), [(1, 2), (2, 2), (4, 2), (16, 2), (256, 2), (1, 4), (4, 4), (16, 4), (256, 4)]
)
def test_splitjoin_agrees_with_equations_5_and_6(cores: int, fan_out: int) -> None:
    """At a low rate nobody waits, and cores that are powers of the fan-out fill the tree. A distributor
    writes to its children one after the other: T_CL of the formula is the mean over children, and for
    the last core the whole round. Results pass one merger a level."""
    setup = Setup("split", cores, WindowSize(rows=1 << 16), fan_out=fan_out, fan_in=2)
    found = simulate(setup, PLAIN, 0.02 * modelled_rate(setup, PLAIN)).latency
    sub_window = (1 << 16) / cores
    mean_hop, last_hop = PLAIN.hop_ns * (fan_out + 1) / 2, PLAIN.hop_ns * fan_out
    visiting = formulas.split_visiting_ns(cores, fan_out, sub_window, mean_hop, 1.0)
    assert found.visiting_ns == pytest.approx(visiting, rel=1e-6)
    paths = [[last_hop] * formulas.levels(cores, fan_out)]
    gathering = PLAIN.hop_ns * formulas.levels(cores, 2)
    whole = formulas.split_processing_paths_ns(paths, sub_window, 1.0, gathering)
    assert found.end_to_end_ns == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize("cores", [1, 2, 4, 16, 64, 256])
def test_low_latency_handshake_agrees_with_equations_1_and_2(cores: int) -> None:
    """At a low rate. The formula lets a row be compared before its core has passed it on, the simulation
    after: one hop and monitoring more."""
    setup = Setup("low-latency", cores, WindowSize(rows=1 << 16))
    rate = 0.002 * modelled_rate(setup, PLAIN)
    found = simulate(setup, PLAIN, rate, rows=1000).latency
    sub_window = (1 << 16) / cores
    step = PLAIN.hop_ns + PLAIN.monitor_ns
    modelled = formulas.low_latency_visiting_ns(cores, sub_window, PLAIN.hop_ns, PLAIN.monitor_ns, 1.0)
    assert modelled - 1 <= found.visiting_ns <= modelled + 1.5 * step
    whole = formulas.low_latency_processing_ns(
        cores, sub_window, PLAIN.hop_ns, PLAIN.monitor_ns, 1.0, collect=cores * PLAIN.hop_ns
    )
    assert found.end_to_end_ns == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("cores", [1, 8, 100])
def test_handshake_agrees_with_a5(cores: int) -> None:
    """A comparison is a cycle and communication is free. The circuit scans both windows at once (the
    formula's maximum), a core here one after the other: both streams together hold what the
    circuit holds of each."""
    free = replace(PLAIN, hop_ns=0.0, monitor_ns=0.0)
    setup = Setup("handshake", cores, WindowSize(rows=10_000))
    modelled = formulas.lock_step_rows_per_s(cores, 10_000, 10_000, clock_hz=1e9)
    assert sustained_rate(setup, free) == pytest.approx(modelled, rel=0.01)


def test_handshake_on_one_core_is_kangs_procedure() -> None:
    """Section 3.5 of its paper. One hop comes in from the driver, one is the core's."""
    rate = 0.5 * modelled_rate(Setup("kang", 1, ROWS), PLAIN)
    one = simulate(Setup("handshake", 1, ROWS), PLAIN, rate).latency
    kang = simulate(Setup("kang", 1, ROWS), PLAIN, rate).latency
    assert one.execution_ns == kang.execution_ns
    assert one.visiting_ns == pytest.approx(kang.visiting_ns + 2 * PLAIN.hop_ns)


def test_handshake_rows_meet_after_a_quarter_of_the_window() -> None:
    setup = Setup("handshake", 28, WindowSize(seconds=900.0))
    found = simulate(setup, paper_costs(), 0.5 * modelled_rate(setup, paper_costs()))
    assert found.latency.visiting_ns / 1e9 == pytest.approx(formulas.handshake_visiting_s(900, 28), rel=1e-3)


def test_latency_grows_with_the_logarithm_of_cores_in_splitjoin_and_linearly_in_the_chain() -> None:
    """Sub-windows of one size, as in the paper's analysis; half of the rate held."""

    def visiting(design: Design, cores: int) -> float:
        setup = Setup(design, cores, WindowSize(rows=cores << 10))
        return simulate(setup, PLAIN, 0.5 * modelled_rate(setup, PLAIN)).latency.visiting_ns

    counts = [16, 32, 64, 128, 256]
    split = np.diff([visiting("split", cores) for cores in counts])
    chain = np.diff([visiting("low-latency", cores) for cores in counts])
    assert np.allclose(split, split[0], rtol=0.01)
    assert np.allclose(chain[1:] / chain[:-1], 2.0, rtol=0.1)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_random_arrivals_wait_as_queueing_theory_says(load: float) -> None:
    """One server with constant work and Poisson arrivals (M/D/1): the wait is load / (2 (1 - load)) works."""
    setup = Setup("kang", 1, WindowSize(rows=1000), arrivals=RANDOM, input_rows=5000)
    found = simulate(setup, PLAIN, load * modelled_rate(setup, PLAIN), rows=400_000, seed=2).latency
    assert found.execution_ns == pytest.approx(1000)
    assert found.distribution_ns == pytest.approx(1000 * load / (2 * (1 - load)), rel=0.05)


def test_a_window_smaller_than_the_cores_and_other_nonsense_is_refused() -> None:
    with pytest.raises(SettingError, match="window of 4 rows"):
        Setup("split", 8, WindowSize(rows=4))
    with pytest.raises(SettingError, match="Kang"):
        Setup("kang", 2, ROWS)
    for wrong in ({"cores": 0}, {"cores": 2000}, {"fan_out": 1}, {"selectivity": 2.0}, {"queue_rows": 0}):
        with pytest.raises(SettingError):
            replace(Setup("split", 8, ROWS), **wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError):
        simulate(setups("split"), Costs(), 0.0)
    with pytest.raises(SettingError):
        Ordering("outer", 0)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_thousand_cores_and_one(design: Design) -> None:
    cores = 1 if design == "kang" else 1024
    setup = Setup(design, cores, WindowSize(rows=1 << 20))
    found = simulate(setup, Costs(), 0.9 * modelled_rate(setup, Costs()))
    assert found.held
    assert found.completed == found.offered
