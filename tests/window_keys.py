"""Keys of one window, as tests want them: duplicates, skew, one key only, empty sides, every key type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

TYPES = (np.int32, np.uint32, np.int64, np.uint64)


@dataclass(frozen=True)
class Shape:
    """A way to draw the keys of both sides; `str` of it reproduces them."""

    left: int
    right: int
    keys: int
    zipf: float
    spread: str  # where keys lie in the range of their type
    dtype: str
    seed: int

    def draw(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(self.seed)
        weights = np.arange(1, self.keys + 1, dtype=float) ** -self.zipf
        kind = np.iinfo(self.dtype)
        if self.spread == "dense":
            values = np.arange(self.keys)
        elif self.spread == "edges":
            values = np.concatenate(
                [[kind.min, kind.max], rng.integers(kind.min, kind.max, self.keys, self.dtype)]
            )
            values = np.unique(values.astype(object))[: self.keys]
        else:
            values = (np.arange(self.keys) << 10) + 7  # a pattern in the low bits
        values = np.array(values, dtype=self.dtype)
        weights = weights[: len(values)] / weights[: len(values)].sum()
        sides = [rng.choice(values, rows, p=weights) for rows in (self.left, self.right)]
        return sides[0], sides[1]


shapes = st.builds(
    Shape,
    left=st.integers(0, 300),
    right=st.integers(0, 300),
    keys=st.sampled_from([1, 2, 7, 60, 1000]),
    zipf=st.sampled_from([0.0, 1.0, 2.0]),
    spread=st.sampled_from(["dense", "edges", "pattern"]),
    dtype=st.sampled_from([np.dtype(kind).name for kind in TYPES]),
    seed=st.integers(0, 1 << 30),
)
