"""`python -m unit.sliding.without_compiler`, with NUMBA_DISABLE_JIT=1: join small streams step by step."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numba

import sliding_oracle
from dovetail.model.sliding import Window
from dovetail.sliding.engine import SlidingJoin
from unit.sliding.sliding_workload import BAND, LEFT, PREDICATES, RIGHT, arrivals, batch, pieces

CASES: list[tuple[str, int, str, str]] = [
    ("kang", 1, "scan", "none"),
    ("split", 2, "cells", "none"),
    ("split", 3, "runs", "inner"),
    ("cell", 2, "scan", "none"),
    ("handshake", 2, "cells", "none"),
    ("low_latency_handshake", 2, "scan", "none"),
]
WINDOWS = ((("rows", 9), ("rows", 4)), (("time", 12), ("time", 30)))


def main() -> None:
    assert numba.config.DISABLE_JIT
    for seed, (design, cores, access, order) in enumerate(CASES):
        for windows in WINDOWS:
            rng = random.Random(seed)
            stream = arrivals(rng, 60)
            given: Any = {"design": design, "cores": cores, "access": access, "order": order}
            left, right = (Window(**{kind: size}) for kind, size in windows)
            join = SlidingJoin(
                BAND,
                left=LEFT,
                right=RIGHT,
                left_window=left,
                right_window=right,
                time="t",
                threads=False,
                **given,
            )
            for piece in pieces(rng, stream):
                join.push(**{piece[0].side: batch(piece)})
            join.settle()
            found = Counter(map(tuple, join.pairs().tolist()))
            assert found == Counter(sliding_oracle.pairs(stream, *windows, PREDICATES[BAND])), (
                design,
                windows,
            )
            print(design, windows, "right")


if __name__ == "__main__":
    main()
