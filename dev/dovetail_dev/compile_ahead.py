"""Compile the kernels that `dovetail prepare` leaves out, because few people need them. Most tests of sliding
windows do, and all processes of tests come to these at about the same time: without this, each would compile
them for itself."""

from __future__ import annotations

import numpy as np

from dovetail.model.sliding import Design, Window
from dovetail.sliding.designs import DESIGNS
from dovetail.sliding.engine import SlidingJoin

WIDTHS = ("int32", "int64")
"""Kernels keep a value in one word of either length, whatever the text of the condition and the type."""


def compile_ahead() -> None:
    for width in WIDTHS:
        for design in sorted(DESIGNS, key=lambda design: design == "cell"):  # the slowest ones first
            _push(design, width)


def _push(design: Design, width: str) -> None:
    made = SlidingJoin(
        "abs(left.x - right.a) <= 1",
        left={"x": width},
        right={"a": width},
        window=Window(rows=4),
        design=design,
        cores=1,
    )
    row = np.array([1], dtype=width)
    with made as join:
        join.push(left={"x": row})
        join.push(right={"a": row})
        join.finish()


if __name__ == "__main__":
    compile_ahead()
