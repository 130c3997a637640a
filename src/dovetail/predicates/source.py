"""A condition as lines for the compiler: numbers, booleans and times, with the meaning that
`joins/theta/condition.py` gives them.

Law: for every pair the compiled condition holds if and only if the one evaluated by columns does.

Idea. The tree is walked once; every node becomes a line that assigns its value to a name, and a second one
that says whether there is a value (null: there is none). So null, NaN, division and overflow are decided
where they arise. What is known to be there needs no second line.

Decimals, texts and all else that is no 64-bit word stay with Arrow: `Unsupported` says so. Decimal constants
that meet floating-point numbers are such numbers; compared with whole ones they are rounded to the side that
leaves the comparison as it was.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import ClassVar, Literal, NamedTuple

from dovetail.model.share import Side
from dovetail.model.theta import Constant, Expression, Operand, operands_in

Kind = Literal["int", "double", "float", "bool", "null", "decimal"]
Operands = tuple[tuple[Operand, Kind], ...]
"""The columns that a condition reads, and what they are."""

_COMPARISONS = {"=": "<>", "<>": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_MOST = 2**63 - 1
MOST_LINES = 1000
"""Compiling takes longer than in proportion to what is compiled."""


class Unsupported(Exception):
    """The condition is evaluated by columns."""


class Value(NamedTuple):
    """A value of a node: the name of it, and of whether it is there; None: it always is."""

    kind: Kind
    code: str
    there: str | None = None


Kinds = Mapping[Side, Mapping[str, Kind | None]]
"""For the columns of both sides; None: no 64-bit word."""


def operands_of(conditions: tuple[Expression, ...], kinds: Kinds) -> Operands:
    """Raises Unsupported where one is no 64-bit word."""
    found: dict[Operand, Kind] = {}
    for condition in conditions:
        for operand in operands_in(condition):
            kind = kinds[operand.side].get(operand.column)
            if kind is None:
                raise Unsupported(operand.column)
            found[operand] = kind
    return tuple(found.items())


def can_compile(condition: Expression, kinds: Kinds) -> bool:
    try:
        return _can_compile(condition, operands_of((condition,), kinds))
    except Unsupported:
        return False


@functools.lru_cache(maxsize=256)
def _can_compile(condition: Expression, operands: Operands) -> bool:
    try:
        SourceWriter(operands, nullable=True).conjunction((condition,))
    except Unsupported:
        return False
    return True


class SourceWriter:
    """Lines that evaluate conditions for one pair: each column of the operands has a name there, `c0`, `c1`
    and so on, and whether it has a value (if `nullable`) another, `t0`, `t1`."""

    functions: ClassVar[dict[str, Callable[..., Value]]]

    def __init__(self, operands: Operands, nullable: bool) -> None:
        self.lines: list[str] = []
        self.constants: list[tuple[str, int | float]] = []
        self._operands = {operand: (number, kind) for number, (operand, kind) in enumerate(operands)}
        self._nullable = nullable
        self._known: dict[Expression, Value] = {}

    def conjunction(self, conditions: tuple[Expression, ...]) -> str:
        verdicts = []
        for condition in conditions:
            value = self.value(condition)
            if value.kind != "bool":
                raise Unsupported("neither true nor false")
            verdicts.append(self._all(value.there, value.code))
        return self._all(*verdicts) or "True"

    def value(self, node: Expression) -> Value:
        if node not in self._known:
            self._known[node] = self._made(node)
        return self._known[node]

    def _made(self, node: Expression) -> Value:
        if isinstance(node, Operand):
            number, kind = self._operands[node]
            there = f"t{number}" if self._nullable else None
            code = {"float": f"np.float32(c{number})", "bool": f"(c{number} != 0)"}.get(kind, f"c{number}")
            return Value(kind, self._name(code), there)
        if isinstance(node, Constant):
            return self._constant(node)
        arguments = [self.value(argument) for argument in node.arguments]
        if node.name in _COMPARISONS:
            return self._compared(node.name, *arguments)
        if node.name not in self.functions:
            raise Unsupported(node.name)
        return self.functions[node.name](self, *arguments)

    def _constant(self, node: Constant) -> Value:
        match node.type:
            case "int" if abs(int(node.text)) <= _MOST:
                return Value("int", self._named(int(node.text)))
            case "double":
                return Value("double", self._named(float(node.text)))
            case "boolean":
                return Value("bool", "True" if node.text == "true" else "False")
            case "decimal":
                return Value("decimal", node.text)
            case "null":
                return Value("null", "", "False")
        raise Unsupported(node.type)

    def _name(self, code: str) -> str:
        if len(self.lines) == MOST_LINES:
            raise Unsupported("too long")
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def _named(self, number: int | float) -> str:
        name = f"k{len(self.constants)}"
        self.constants.append((name, number))
        return name

    def _all(self, *flags: str | None) -> str | None:
        """A name for all of these being true; None: nothing to ask for."""
        asked = list(dict.fromkeys(flag for flag in flags if flag is not None))
        if not asked:
            return None
        return asked[0] if len(asked) == 1 else self._name(" & ".join(f"({flag})" for flag in asked))

    def _is(self, kind: Kind, code: str, *there: str | None) -> Value:
        return Value(kind, self._name(code), self._all(*there))

    def _as(self, value: Value, kind: Kind) -> Value:
        if value.kind == kind:
            return value
        if value.kind == "null":
            return Value(kind, "False" if kind == "bool" else self._zero(kind), "False")
        if value.kind == "decimal" and kind == "double":
            return Value("double", self._named(float(Fraction(value.code))))
        if value.kind in ("int", "float", "double") and kind in ("float", "double"):
            return Value(kind, self._name(f"np.{_NUMPY[kind]}({value.code})"), value.there)
        raise Unsupported(f"{value.kind} as {kind}")

    def _zero(self, kind: Kind) -> str:
        return self._name(f"np.{_NUMPY[kind]}(0)")

    def _real(self, value: Value) -> Value:
        return self._as(value, "double")

    def _alike(self, *values: Value) -> list[Value]:
        """In the type that Spark compares them in."""
        kinds = [value.kind for value in values]
        if any(kind in ("double", "float") for kind in kinds):
            single = all(kind in ("float", "int") for kind in kinds)
            return [self._as(value, "float" if single else "double") for value in values]
        typed = [kind for kind in kinds if kind != "null"]
        if not typed or len(set(typed)) > 1 or typed[0] == "decimal":
            raise Unsupported(" with ".join(kinds))
        return [self._as(value, typed[0]) for value in values]

    def _nothing(self, kind: Kind) -> Value:
        return self._as(Value("null", "", "False"), kind)

    def _compared(self, name: str, first: Value, second: Value) -> Value:
        if "null" in (first.kind, second.kind):
            return self._nothing("bool")
        if first.kind == "decimal" and second.kind == "int":
            turned = name if name in ("=", "<>") else _COMPARISONS[name]
            return self._with_fraction(turned, second, Fraction(first.code))
        if first.kind == "int" and second.kind == "decimal":
            return self._with_fraction(name, first, Fraction(second.code))
        first, second = self._alike(first, second)
        a, b = first.code, second.code
        if first.kind in ("int", "bool"):
            sign = {"=": "==", "<>": "!="}.get(name, name)
            return self._is("bool", f"{a} {sign} {b}", first.there, second.there)
        return self._is("bool", self.real_compared(name, a, b), first.there, second.there)

    def real_compared(self, name: str, first: str, second: str) -> str:
        """NaN equals itself and is larger than any other number."""
        return {
            "=": f"real_equal({first}, {second})",
            "<>": f"not real_equal({first}, {second})",
            "<": f"real_less({first}, {second})",
            "<=": f"not real_less({second}, {first})",
            ">": f"real_less({second}, {first})",
            ">=": f"not real_less({first}, {second})",
        }[name]

    def _with_fraction(self, name: str, first: Value, second: Fraction) -> Value:
        below = math.floor(second)
        if abs(below) >= _MOST:
            raise Unsupported("a decimal beyond 64 bits")
        if below == second:
            return self._compared(name, first, Value("int", self._named(below)))
        if name in ("=", "<>"):
            return self._is("bool", "True" if name == "<>" else "False", first.there)
        name, edge = ("<=", below) if name in ("<", "<=") else (">=", below + 1)
        return self._compared(name, first, Value("int", self._named(edge)))

    def and_(self, first: Value, second: Value) -> Value:
        return self._kleene(first, second, "&", "not ")

    def or_(self, first: Value, second: Value) -> Value:
        return self._kleene(first, second, "|", "")

    def _kleene(self, first: Value, second: Value, sign: str, deciding: str) -> Value:
        """Null, unless what is there decides."""
        if first.kind != "bool" or second.kind != "bool":
            raise Unsupported(sign)
        code = self._name(f"{first.code} {sign} {second.code}")
        if first.there is None and second.there is None:
            return Value("bool", code)
        there, too = first.there or "True", second.there or "True"
        decided = [f"({flag} & ({deciding}{value.code}))" for flag, value in ((there, first), (too, second))]
        known = self._name(f"({there} & {too}) | {' | '.join(decided)}")
        if sign == "&":  # a value that is not there must not decide
            code = self._name(f"({first.code} | (not {there})) & ({second.code} | (not {too}))")
        else:
            code = self._name(f"({first.code} & {there}) | ({second.code} & {too})")
        return Value("bool", code, known)

    def not_(self, value: Value) -> Value:
        if value.kind != "bool":
            raise Unsupported("not")
        return self._is("bool", f"not {value.code}", value.there)

    def null_safe_equal(self, first: Value, second: Value) -> Value:
        same = self._compared("=", first, second)
        none, nothing = self.is_null(first), self.is_null(second)
        equal = self._all(same.code, same.there)
        return self._is("bool", f"({none.code} & {nothing.code}) | {equal}")

    def is_null(self, value: Value) -> Value:
        return self._is("bool", "False" if value.there is None else f"not {value.there}")

    def arithmetic(self, first: Value, second: Value, sign: str) -> Value:
        if "null" in (first.kind, second.kind):
            return self._nothing("int")
        if sign == "*" and "decimal" in (first.kind, second.kind):
            first, second = self._real(first), self._real(second)
        first, second = self._alike(first, second)
        if first.kind == "bool":
            raise Unsupported(sign)
        result = self._name(f"{first.code} {sign} {second.code}")
        there = self._all(first.there, second.there)
        if first.kind == "int":
            a, b = first.code, second.code
            fits = {
                "+": f"sum_fits({a}, {b}, {result})",
                "-": f"difference_fits({a}, {b}, {result})",
                "*": f"fits(np.float64({a}) * np.float64({b}), {result})",
            }
            there = self._all(there, self._name(fits[sign]))
        return Value(first.kind, result, there)

    def divided(self, first: Value, second: Value) -> Value:
        if "null" in (first.kind, second.kind):
            return self._nothing("double")
        first, second = self._real(first), self._real(second)
        there = self._name(f"{second.code} != 0.0")
        by = self._name(f"pick({there}, {second.code}, np.float64(1))")
        return self._is("double", f"{first.code} / {by}", first.there, second.there, there)

    def modulo(self, first: Value, second: Value) -> Value:
        if "null" in (first.kind, second.kind):
            return self._nothing("int")
        if "decimal" in (first.kind, second.kind):
            first, second = self._real(first), self._real(second)
        first, second = self._alike(first, second)
        if first.kind == "bool":
            raise Unsupported("%")
        function = "remainder" if first.kind == "int" else "np.fmod"
        there = self._name(f"{second.code} != 0")
        by = self._name(f"pick({there}, {second.code}, np.{_NUMPY[first.kind]}(1))")
        return self._is(first.kind, f"{function}({first.code}, {by})", first.there, second.there, there)

    def negative(self, value: Value) -> Value:
        if value.kind == "decimal":
            return Value("decimal", str(-Fraction(value.code)))
        return self.arithmetic(Value("int", self._named(0)), value, "-")

    def absolute(self, value: Value) -> Value:
        if value.kind == "int":
            there = self._name(f"{value.code} != {self._named(-_MOST - 1)}")
            return self._is("int", f"abs({value.code})", value.there, there)
        if value.kind not in ("float", "double"):
            raise Unsupported("abs")
        return self._is(value.kind, f"abs({value.code})", value.there)

    def root(self, value: Value) -> Value:
        value = self._real(value)
        return self._is("double", f"np.sqrt({value.code})", value.there)

    def power(self, first: Value, second: Value) -> Value:
        """Of two. Others are a library's affair, and not the same in all."""
        if dict(self.constants).get(second.code) != 2:
            raise Unsupported("power")
        first = self._real(first)
        return self._is("double", f"{first.code} * {first.code}", first.there)

    def rounded(self, value: Value, function: str) -> Value:
        if value.kind == "int":
            return value
        value = self._real(value)
        near = self._name(f"np.{function}({value.code})")
        there = self._name(f"abs({near}) < SURELY_FITS")
        return self._is("int", f"whole({near})", value.there, there)

    def coalesce(self, *values: Value) -> Value:
        first, *others = self._alike(*values)
        for other in others:
            first = self._chosen(self.is_null(first).code, other, first)
        return first

    def least(self, *values: Value, name: str) -> Value:
        best = values[0]
        for value in values[1:]:
            better = self._compared(name, value, best)
            first = self._all(better.code, better.there)
            taken = f"({first} | {self.is_null(best).code}) & (not {self.is_null(value).code})"
            best = self._chosen(self._name(taken), *self._alike(value, best))
        return best

    def case(self, *values: Value) -> Value:
        result = values[-1]
        for at in range(len(values) - 3, -1, -2):
            if values[at].kind != "bool":
                raise Unsupported("case")
            chosen = self._all(values[at].code, values[at].there)
            assert chosen is not None
            result = self._chosen(chosen, *self._alike(values[at + 1], result))
        return result

    def _chosen(self, flag: str, first: Value, second: Value) -> Value:
        """The first where the flag says so, else the second; both are of one kind."""
        code = self._name(f"pick({flag}, {first.code}, {second.code})")
        if first.there is None and second.there is None:
            return Value(first.kind, code)
        there = self._name(f"pick({flag}, {first.there or 'True'}, {second.there or 'True'})")
        return Value(first.kind, code, there)


_NUMPY = {"int": "int64", "float": "float32", "double": "float64"}
SourceWriter.functions = {
    "and": SourceWriter.and_,
    "or": SourceWriter.or_,
    "not": SourceWriter.not_,
    "<=>": SourceWriter.null_safe_equal,
    "+": functools.partial(SourceWriter.arithmetic, sign="+"),
    "-": functools.partial(SourceWriter.arithmetic, sign="-"),
    "*": functools.partial(SourceWriter.arithmetic, sign="*"),
    "/": SourceWriter.divided,
    "%": SourceWriter.modulo,
    "neg": SourceWriter.negative,
    "is_null": SourceWriter.is_null,
    "coalesce": SourceWriter.coalesce,
    "least": functools.partial(SourceWriter.least, name="<"),
    "greatest": functools.partial(SourceWriter.least, name=">"),
    "case": SourceWriter.case,
    "abs": SourceWriter.absolute,
    "sqrt": SourceWriter.root,
    "power": SourceWriter.power,
    "floor": functools.partial(SourceWriter.rounded, function="floor"),
    "ceil": functools.partial(SourceWriter.rounded, function="ceil"),
}
