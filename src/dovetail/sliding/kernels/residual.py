"""The part of a predicate that ranges cannot say, compiled: many candidates a call, no Python per row.

Values travel as 64-bit words. The source made here reads them as what they are (`f8` or `i8`), evaluates the
expression for each candidate, and keeps the positions of those for which it holds. A division by zero gives
infinity or NaN, as in NumPy, and NaN compares as false: an expression cannot raise.
"""

from __future__ import annotations

import ast
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cfunc, njit, types

from dovetail.errors import SettingError
from dovetail.kernels.address import load, store

_MATH = {name: getattr(math, name) for name in ("sqrt", "floor", "ceil", "exp", "log", "sin", "cos")}
_SIGNATURE = types.int64(*[types.int64] * 6)
_SOURCE = """
def residual(stored, capacity, found, count, probing, stored_left):
    kept = 0
    for n in range(count):
        position = load(found + 8 * n, zero)
        slot = position & (capacity - 1)
        if stored_left:
            ok = holds({stored_left})
        else:
            ok = holds({stored_right})
        if ok:
            store(found + 8 * kept, position)
            kept += 1
    return kept
"""


@dataclass(frozen=True)
class Compiled:
    address: int
    kept_alive: Any


class _Renamed(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        side = node.value.id if isinstance(node.value, ast.Name) else ""
        return ast.Name(f"{side}_{node.attr}", ast.Load())


@functools.lru_cache(maxsize=64)
def compiled(rest: str, columns: tuple[tuple[str, str, str, int], ...]) -> Compiled:
    """`columns` are (side, name, `f8` or `i8`, which of the row's values)."""
    names = [f"{side}_{name}" for side, name, _, _ in columns]
    expression = ast.unparse(ast.fix_missing_locations(_Renamed().visit(ast.parse(rest, mode="eval"))))
    test: dict[str, Any] = dict(_MATH)
    exec(f"def test({', '.join(names)}):\n    return {expression}\n", test)

    def reads(stored_left: bool) -> str:
        def read(side: str, kind: str, number: int) -> str:
            like = "zero_f" if kind == "f8" else "zero"
            if (side == "left") == stored_left:
                return f"load(stored + 8 * ({number} * capacity + slot), {like})"
            return f"load(probing + 8 * {number}, {like})"

        return ", ".join(read(side, kind, number) for side, _, kind, number in columns)

    made: dict[str, Any] = {
        "zero": np.int64(0),
        "zero_f": np.float64(0),
        "load": load,
        "store": store,
        "holds": njit(nogil=True, error_model="numpy")(test["test"]),
    }
    exec(_SOURCE.format(stored_left=reads(True), stored_right=reads(False)), made)
    try:
        function = cfunc(_SIGNATURE, error_model="numpy")(made["residual"])
    except Exception as error:
        raise SettingError(
            f"the predicate does not compile: {str(error).strip().splitlines()[0]}",
            where=rest,
            expected="an expression whose value is true or false",
            hint="check the types of the columns it looks at",
        ) from error
    return Compiled(int(function.address or 0), function)
