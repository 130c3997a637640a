"""Windows at rest: the tree chooses until measuring pays, then the choice is learnt; pairs stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.joins.window import at_rest, cost
from dovetail.joins.window.at_rest import Chooser
from dovetail.joins.window.join import LAZY


def pairs_of(found: at_rest.AtRest) -> set[tuple[int, int]]:
    return set(zip(found.left.tolist(), found.right.tolist(), strict=True))


def test_a_choice_is_learnt_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "LARGE_ROWS", 1000)
    monkeypatch.setattr(cost, "ROWS", (256, 512, 1024, 2048))
    monkeypatch.setattr(cost, "PAIRS", 4096)
    chooser = Chooser(pays_from_rows=5000)
    keys = np.random.default_rng(1).integers(0, 500, 2000)
    expected = {(i, j) for j, key in enumerate(keys[::-1].tolist()) for i in np.flatnonzero(keys == key)}
    for number in range(4):
        found = chooser.join(keys, keys[::-1].copy(), 2)
        assert found.algorithm in LAZY
        assert pairs_of(found) == expected, number
        assert bool(chooser._by_threads) == (number >= 1)
    small = chooser.join(keys[:10], keys[:10], 2)
    assert small.algorithm == "npj"
