"""Conditions as they are written, compiled: many candidates per call, no Python per row.

Values travel as 64-bit words. The loop made here reads them as what they are, evaluates the conditions
(`predicates/source.py`) for each candidate, and keeps the positions of those for which all hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cfunc, config, types

from dovetail.kernels.address import load, store
from dovetail.predicates.kernels.numbers import function_of

_SIGNATURE = types.int64(*[types.int64] * 6)
_SOURCE = """
def residual(stored, capacity, found, count, probing, stored_left):
    kept = 0
    left, left_step, left_moves = (stored, capacity, 1) if stored_left else (probing, 1, 0)
    right, right_step, right_moves = (probing, 1, 0) if stored_left else (stored, capacity, 1)
    for n in range(count):
        position = load(found + 8 * n, zero)
        slot = position & (capacity - 1)
        {lines}
        if {verdict}:
            store(found + 8 * kept, position)
            kept += 1
    return kept
"""


@dataclass(frozen=True)
class Compiled:
    address: Any
    """What kernels call. Where the compiler is switched off, the function itself."""
    kept_alive: Any


def read(name: str, side: str, number: int, real: bool) -> str:
    """A line that gives a name to value `number` of that side's row: the one that probes, or the one that is
    stored. Stored values are by columns, those of a message one after the other."""
    like = "zero_f" if real else "zero"
    return f"{name} = load({side} + 8 * ({number} * {side}_step + slot * {side}_moves), {like})"


def compiled(lines: list[str], verdict: str, constants: list[tuple[str, int | float]]) -> Compiled:
    source = _SOURCE.format(lines="\n        ".join(lines), verdict=verdict)
    known = {"zero": np.int64(0), "zero_f": np.float64(0), "load": load, "store": store}
    function = function_of(source, "residual", tuple(constants), **known)
    if getattr(config, "DISABLE_JIT", 0):
        return Compiled(np.errstate(all="ignore")(function), None)
    machine_code = cfunc(_SIGNATURE, error_model="numpy")(function)
    return Compiled(int(machine_code.address or 0), machine_code)
