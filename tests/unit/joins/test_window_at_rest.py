"""Windows at rest: the tree chooses until measuring pays, then the choice is learnt; pairs stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.intra_window import at_rest, cost
from dovetail.intra_window.at_rest import Chooser
from dovetail.intra_window.join import LAZY, pairs


def test_a_choice_is_learnt_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "LARGE_ROWS", 1000)
    monkeypatch.setattr(cost, "ROWS", (256, 512, 1024, 2048))
    monkeypatch.setattr(cost, "PAIRS", 4096)
    chooser = Chooser(pays_from_rows=5000)
    keys = np.random.default_rng(1).integers(0, 500, 2000)
    expected = {(i, j) for j, key in enumerate(keys[::-1].tolist()) for i in np.flatnonzero(keys == key)}
    other = keys[::-1].copy()
    for number in range(4):
        found, choice = chooser.joined(keys, other, 2, lambda name: pairs(keys, other, name, 2), pairs=True)
        assert choice.algorithm in LAZY
        assert set(zip(*(side.tolist() for side in found), strict=True)) == expected, number
        assert ("ms expected" in str(choice)) == (number >= 1)
    _, small = chooser.joined(keys[:10], keys[:10], 2, lambda name: 0, pairs=True)
    assert small.algorithm == "npj"
