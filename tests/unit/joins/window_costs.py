"""Made-up costs and facts for tests of the choice."""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.choose import SideFacts, StreamFacts
from dovetail.intra_window.cost import DUPLICATES, ROWS, JoinCosts
from dovetail.intra_window.join import ALGORITHMS

FLAT = {"npj": 20, "prj": 10, "mway": 15, "mpass": 30, "shj_jm": 40, "shj_jb": 50, "pmj_jm": 45, "pmj_jb": 40}


def costs(**changed: float) -> JoinCosts:
    ns = {**FLAT, **changed}
    return JoinCosts(
        2,
        {name: np.full((len(ROWS), len(DUPLICATES)), float(ns[name])) for name in ALGORITHMS},
        dict.fromkeys(ALGORITHMS, 1.0),
    )


def facts(rate: float, rows: int = 1_000_000, duplicates: float = 1.0) -> StreamFacts:
    side = SideFacts(rows, rate, duplicates, 0.0)
    return StreamFacts(side, side, 2)
