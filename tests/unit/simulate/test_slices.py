"""Work in time slices, in closed form, against the obvious walk from slice to slice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.simulate.costs import Costs
from dovetail.simulate.kernels.slices import finished
from dovetail.simulate.load import slices
from dovetail.simulate.setup import Setup, WindowSize


def walked(start: float, work: float, on: float, period: float, phase: float) -> float:
    """Slice by slice. The thread runs in [i * period - phase, i * period - phase + on)."""
    i = int((start + phase) // period)
    while True:
        begins = i * period - phase
        here = max(start, begins)
        room = begins + on - here
        if room > 0:
            if work <= room:
                return here + work
            work -= room
        i += 1


@given(
    start=st.integers(0, 500),
    work=st.integers(1, 300),
    on=st.integers(1, 20),
    off=st.integers(1, 40),
    phase=st.integers(0, 60),
)
def test_slices_in_closed_form(start: int, work: int, on: int, off: int, phase: int) -> None:
    found = finished(float(start), float(work), float(on), float(on + off), float(phase % (on + off)))
    assert found == pytest.approx(walked(start, work, on, on + off, phase % (on + off)))


def test_a_thread_with_its_own_core_never_waits() -> None:
    assert finished(5.0, 7.0, 1.0, 1.0, 0.0) == 12.0


@pytest.mark.parametrize(
    ("cores", "physical", "shared"), [(28, 32, 0), (29, 32, 1), (32, 32, 4), (64, 32, 64)]
)
def test_who_shares(cores: int, physical: int, shared: int) -> None:
    """Four other threads are dealt after the join cores; threads of a core never run at once."""
    costs = Costs(switch_ns=0.0)
    found = slices(Setup("split", cores, WindowSize(rows=1 << 12), physical_cores=physical), costs, seed=1)
    assert int((found.on[:cores] < found.period[:cores]).sum()) == shared
    assert np.all(found.on <= found.period)
    if cores == 64:
        together = [i for i in range(65) if i % physical == 0]
        times = np.arange(0, 40_000_000, 100_001)[:, None]
        running = (times + found.phase[together]) % found.period[together] < found.on[together]
        assert running.sum(axis=1).max() == 1
