"""`python -m dovetail_dev.compile_ahead`: compile the kernels that `dovetail prepare` leaves out, because few
people need them. Most tests of sliding windows do, and all processes of tests come to these at about the same
time: without this, each would compile them for itself."""

from __future__ import annotations

import numpy as np

from dovetail.model.sliding import Design, Window
from dovetail.sliding.designs import DESIGNS
from dovetail.sliding.engine import SlidingJoin

BAND = "abs(left.x - right.a) <= 1"
REST = f"{BAND} and left.x + 0.5 != right.a"
"""Beside the band it has a condition that is compiled by itself."""


def compile_ahead() -> None:
    for design in sorted(DESIGNS, key=lambda design: design == "cell"):  # the slowest ones first
        for text in (REST, BAND):
            _push(text, design)


def _push(text: str, design: Design) -> None:
    columns = {"x": "float64"}, {"a": "float64"}
    made = SlidingJoin(text, left=columns[0], right=columns[1], window=Window(rows=4), design=design, cores=1)
    with made as join:
        join.push(left={"x": np.array([1.0])})
        join.push(right={"a": np.array([1.0])})
        join.finish()


if __name__ == "__main__":
    compile_ahead()
