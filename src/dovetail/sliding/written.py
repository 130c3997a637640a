"""The conditions of a predicate that boxes cannot decide, for the compiler: numbers mean what they mean in
Python."""

from __future__ import annotations

import functools

from dovetail.errors import SettingError
from dovetail.model.theta import Expression
from dovetail.predicates.source import Operands, SourceWriter, Unsupported, Value
from dovetail.sliding.kernels import residual


class PythonWriter(SourceWriter):
    """Comparisons with NaN are false, `//` and `%` round down, and `min` and `max` need all their values."""

    def real_compared(self, name: str, first: str, second: str) -> str:
        return f"{first} { {'=': '==', '<>': '!='}.get(name, name) } {second}"

    def floored(self, first: Value, second: Value, sign: str) -> Value:
        first, second = self._alike(first, second)
        there = [first.there, second.there, self._name(f"{second.code} != 0")]
        one = "np.int64(1)" if first.kind == "int" else "np.float64(1)"
        by = self._name(f"pick({there[-1]}, {second.code}, {one})")
        if first.kind != "int":
            return self._is(first.kind, f"{first.code} {sign} {by}", *there)
        if sign == "//":  # the least number divided by -1 leaves 64 bits
            there.append(self._name(f"({first.code} != {self._named(-(2**63))}) | ({by} != -1)"))
        function = "floor_divided" if sign == "//" else "floor_remainder"
        return self._is("int", f"{function}({first.code}, {by})", *there)

    def raised(self, first: Value, second: Value) -> Value:
        """Whole numbers to a constant power are products, and exact. All others are computed in floats."""
        power = dict(self.constants).get(second.code)
        if first.kind == "int" and isinstance(power, int) and 0 <= power < 64:
            product = Value("int", self._named(1))
            for bit in f"{power:b}":
                product = self.arithmetic(product, product, "*")
                product = self.arithmetic(product, first, "*") if bit == "1" else product
            return product
        first, second = self._real(first), self._real(second)
        there = self._name(f"({first.code} != 0.0) | ({second.code} >= 0.0)")
        return self._is("double", f"{first.code} ** {second.code}", first.there, second.there, there)

    def better(self, first: Value, second: Value, sign: str) -> Value:
        first, second = self._alike(first, second)
        code = f"pick({second.code} {sign} {first.code}, {second.code}, {first.code})"
        return self._is(first.kind, code, first.there, second.there)

    def bits(self, first: Value, second: Value, sign: str) -> Value:
        if (first.kind, second.kind) != ("int", "int"):
            raise Unsupported(f"{sign} is for whole numbers")
        return self._is("int", f"{first.code} {sign} {second.code}", first.there, second.there)

    def applied(self, value: Value, function: str) -> Value:
        value = self._real(value)
        return self._is("double", f"np.{function}({value.code})", value.there)


PythonWriter.functions = {
    **SourceWriter.functions,
    "//": functools.partial(PythonWriter.floored, sign="//"),
    "mod": functools.partial(PythonWriter.floored, sign="%"),
    "**": PythonWriter.raised,
    "min": functools.partial(PythonWriter.better, sign="<"),
    "max": functools.partial(PythonWriter.better, sign=">"),
    **{sign: functools.partial(PythonWriter.bits, sign=sign) for sign in "&|^"},
    **{name: functools.partial(PythonWriter.applied, function=name) for name in ("exp", "log", "sin", "cos")},
}


@functools.lru_cache(maxsize=64)
def residual_of(
    conditions: tuple[Expression, ...], operands: Operands, places: tuple[int, ...]
) -> residual.Compiled:
    """What checks these conditions; `places`: which of its row's values each operand is."""
    writer = PythonWriter(operands, nullable=False)
    try:
        verdict = writer.conjunction(conditions)
    except Unsupported as error:
        raise SettingError(
            f"the predicate cannot be compiled: {error}",
            where="on",
            expected="numbers with numbers; bits of whole numbers",
            hint="check the types of the columns it reads",
        ) from error
    reads = [
        residual.read(f"c{number}", operand.side, places[number], kind == "double")
        for number, (operand, kind) in enumerate(operands)
    ]
    return residual.compiled([*reads, *writer.lines], verdict, writer.constants)
