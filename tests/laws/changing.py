"""Random changes of a join, and the interval join over its in-memory state, to be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from hypothesis import strategies as st

import oracle
from change_oracle import Spec
from dovetail.joins.buffer import Held
from dovetail.joins.emitted import Int64s
from dovetail.joins.interval.change import changed
from dovetail.joins.state import JoinState
from dovetail.kernels.ring import tag_of
from dovetail.model.interval import IntervalSpec
from laws.algorithms import Hashing, IntervalStep
from laws.picking import RIGHT
from oracle import in_order
from streams import MODES, Mode, Row, Step, Window, windows

caps = st.sampled_from((None, None, None, 1, 2, 3))


@st.composite
def specs(draw: st.DrawFn, like: Spec | None = None) -> Spec:
    """Any, or one that differs from another in some things only."""
    window, mode = draw(windows()), draw(st.sampled_from(MODES))
    spec = Spec(*window, *mode, draw(caps), draw(caps))
    if like is not None:
        kept = draw(st.sampled_from(((), (), (0, 1), (0, 1, 5, 6), (2,), (2, 3, 4), (2, 3, 4, 5, 6), (5, 6))))
        spec = Spec(*(like[n] if n in kept else value for n, value in enumerate(spec)))
        if draw(st.booleans()) and spec[:2] != like[:2]:  # the one within the other
            spec = spec._replace(before=max(spec.before, like.before), after=max(spec.after, like.after))
    if spec.before + spec.after < 0:
        spec = spec._replace(before=window.before, after=window.after)
    if spec[2:5] not in MODES:
        spec = spec._replace(how=mode.how, match=mode.match, pick=mode.pick)
    if spec.how in ("right", "full") and oracle.defers_pick(*spec[2:5]):
        spec = spec._replace(right_cap=None)
    return spec


def asked(spec: Spec) -> IntervalSpec:
    by = RIGHT if spec.pick in ("max", "min") else None
    return IntervalSpec(*spec, picked_by=by)


class ChangingStep(IntervalStep):
    """Its right rows are remembered here, as the log does. `values`: what picks by value compare, by right
    row."""

    def __init__(self, spec: Spec, hashing: Hashing, values: Mapping[int, int] | None = None) -> None:
        super().__init__(Window(*spec[:2]), Mode("inner", "all", "first"), hashing)
        self.state = JoinState.empty(asked(spec))
        self.log: list[Row] = []
        self.values = values or {}

    def worth(self, left: Int64s, right: Int64s) -> Int64s:
        found = np.array([self.values[row] for row in right.tolist()], np.int64)
        return found if self.state.spec.pick == "max" else ~found

    def step(self, new: Step) -> list[tuple[int | None, int | None]]:
        self.log += [row for row in new.right if row.key is not None and row.time is not None]
        return super().step(new)

    def change(self, spec: Spec, first: int = 0) -> list[tuple[int | None, int | None]]:
        self._read_back(row for row in self.log if row.id >= first)
        real = (None, None) if self.hashing.exact else (self.same_key, self.key_labels)
        out = changed(self.state, asked(spec), *real, worth=self.worth)
        return in_order(self.rows(out))

    def _read_back(self, rows: Iterable[Row]) -> None:
        held = set(self.state.right.held().row.tolist())
        found = self.arrivals([row for row in rows if row.id not in held])
        matched = np.ones(len(found.row), np.bool_)
        self.state.right.insert(Held.fresh(tag_of(found.hash), found.time, found.row, matched))
