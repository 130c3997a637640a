"""Compile the kernels of the in-process joins by joining a few rows: the first real join then finds the
machine code on disk."""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.api import window_join, window_join_count
from dovetail.intra_window.join import ALGORITHMS
from dovetail.model.sliding import Window
from dovetail.sliding.engine import SlidingJoin


def warm() -> None:
    keys = np.arange(8, dtype=np.int64)
    for algorithm in ALGORITHMS:
        window_join(keys, keys, algorithm=algorithm)
        window_join_count(keys, keys, algorithm=algorithm)
        window_join(keys << 40, keys << 40, algorithm=algorithm)  # by hash, as windows on Spark are joined
    join = SlidingJoin(
        "abs(left.x - right.a) <= 1 and abs(left.y - right.b) <= 1",
        left={"x": "int32", "y": "float32"},
        right={"a": "int32", "b": "float32"},
        window=Window(rows=4),
        cores=2,
    )
    with join:
        join.push(left={"x": 1, "y": 1.0})
        join.push(right={"a": np.array([1]), "b": np.array([1.0])})
        join.finish()
