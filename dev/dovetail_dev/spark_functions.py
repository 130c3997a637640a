"""Reads from Spark's own classes which functions it has and how many arguments they take, and writes it down
for `check`, which has no JVM.

    .venv/bin/python dev/dovetail_dev/spark_functions.py    writes src/dovetail/plan/spark_functions.json

Spark registers a function by a name and a class, and builds the call with one of the class's constructors
that take expressions. Both are in the class files of its jars, and so are the words of its documentation. A
function that a method builds, not a constructor, takes any number of arguments here.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parents[2] / "src" / "dovetail" / "plan" / "spark_functions.json"
FORMAT = 1
REGISTRY = "org/apache/spark/sql/catalyst/analysis/FunctionRegistry$"
REGISTERED_ELSEWHERE = ("struct", "when")
EXPRESSION = "Lorg/apache/spark/sql/catalyst/expressions/Expression;"
SEQUENCE = "Lscala/collection/immutable/Seq;"
_TWO = (*range(0x99, 0xA9), 0x13, 0x14, 0x11, 0x84, 0xC6, 0xC7, *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1)
"""Instructions that are followed by two bytes."""
_ONE = (0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC)
_OTHER = {0xB9: 4, 0xBA: 4, 0xC5: 3, 0xC8: 4, 0xC9: 4}
_LDC, _LDC_W, _INVOKES, _SWITCHES = 0x12, 0x13, range(0xB6, 0xBA), (0xAA, 0xAB)


class Method(NamedTuple):
    name: str
    descriptor: str
    code: bytes


class ClassFile:
    """What of a class file is needed: its constants, methods and annotations."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 8
        self.constants: dict[int, tuple[int, Any]] = {}
        self._read_constants()
        self.at += 6
        self.at += 2 + 2 * self._u2(self.at)
        self._skip_members()
        self.methods = list(self._members())
        self.texts = list(self._annotated())

    def _u2(self, at: int) -> int:
        return int(struct.unpack_from(">H", self.data, at)[0])

    def _u4(self, at: int) -> int:
        return int(struct.unpack_from(">I", self.data, at)[0])

    def _read_constants(self) -> None:
        count, number = self._u2(self.at), 1
        self.at += 2
        while number < count:
            tag, at = self.data[self.at], self.at + 1
            if tag == 1:
                size = self._u2(at)
                self.constants[number] = tag, self.data[at + 2 : at + 2 + size].decode("utf-8", "replace")
                self.at = at + 2 + size
            elif tag in (7, 8, 16, 19, 20):
                self.constants[number] = tag, self._u2(at)
                self.at = at + 2
            elif tag == 15:
                self.at = at + 3
            elif tag in (5, 6):
                self.at = at + 8
                number += 1
            else:
                self.constants[number] = tag, (self._u2(at), self._u2(at + 2))
                self.at = at + 4
            number += 1

    def text(self, number: int) -> str:
        return str(self.constants[number][1])

    def _skip_members(self) -> None:
        count = self._u2(self.at)
        self.at += 2
        for _ in range(count):
            self.at += 6
            self._skip_attributes()

    def _skip_attributes(self) -> None:
        count = self._u2(self.at)
        self.at += 2
        for _ in range(count):
            self.at += 6 + self._u4(self.at + 2)

    def _members(self) -> Iterator[Method]:
        count = self._u2(self.at)
        self.at += 2
        for _ in range(count):
            name, descriptor = self.text(self._u2(self.at + 2)), self.text(self._u2(self.at + 4))
            self.at += 6
            attributes, code = self._u2(self.at), b""
            self.at += 2
            for _ in range(attributes):
                size = self._u4(self.at + 2)
                if self.text(self._u2(self.at)) == "Code":
                    code = self.data[self.at + 14 : self.at + 14 + self._u4(self.at + 10)]
                self.at += 6 + size
            yield Method(name, descriptor, code)

    def _annotated(self) -> Iterator[str]:
        """The texts of the annotations of the class, with their names."""
        count = self._u2(self.at)
        self.at += 2
        for _ in range(count):
            size = self._u4(self.at + 2)
            if self.text(self._u2(self.at)) == "RuntimeVisibleAnnotations":
                at = self.at + 8
                pairs = self._u2(at + 2)
                at += 4
                for _ in range(pairs):
                    if chr(self.data[at + 2]) != "s":
                        break
                    yield f"{self.text(self._u2(at))}={self.text(self._u2(at + 3))}"
                    at += 5
            self.at += 6 + size

    def steps(self, code: bytes) -> Iterator[tuple[str, str]]:
        """Texts and classes that a method loads, and methods that it calls, in order."""
        at = 0
        while at < len(code):
            step = code[at]
            if step in (_LDC, _LDC_W):
                number = code[at + 1] if step == _LDC else int.from_bytes(code[at + 1 : at + 3], "big")
                tag, value = self.constants.get(number, (0, 0))
                if tag in (7, 8):
                    yield ("class" if tag == 7 else "text"), self.text(value)
            elif step in _INVOKES:
                _, pair = self.constants[int.from_bytes(code[at + 1 : at + 3], "big")]
                _, named = self.constants[pair[1]]
                yield "call", self.text(named[0])
            if step in _SWITCHES:
                return  # none of the methods that register functions has one
            at += 1 + (2 if step in _TWO else 1 if step in _ONE else _OTHER.get(step, 0))


def registered(registry: ClassFile) -> dict[str, str | None]:
    """Functions and their classes; None: a method builds the call."""
    found: dict[str, str | None] = {}
    for method in registry.methods:
        name = made_by = None
        for kind, value in registry.steps(method.code):
            if kind == "text":
                name = name or value
            elif kind == "class":
                made_by = value
            elif value == "Map":
                name = None  # what was loaded before the map of functions is none of them
            elif (
                name and (value.startswith("expression") or value == "castAlias") and "$default" not in value
            ):
                found[name] = made_by if value == "expression" else None
                name = made_by = None
    found |= dict.fromkeys(REGISTERED_ELSEWHERE)
    return {name: found[name] for name in sorted(found) if re.fullmatch(r"[a-z_][a-z0-9_]*", name)}


def counts(made_by: ClassFile) -> list[int] | None:
    """How many arguments the constructors take; None: any number."""
    taken = set()
    for method in made_by.methods:
        if method.name == "<init>":
            given = re.findall(r"\[*(?:L[^;]+;|[A-Z])", method.descriptor[1 : method.descriptor.index(")")])
            if given == [SEQUENCE]:
                return None
            if all(one == EXPRESSION for one in given):
                taken.add(len(given))
    return sorted(taken) or None


def signatures(name: str, made_by: ClassFile) -> list[str]:
    usage = next((text.removeprefix("usage=") for text in made_by.texts if text.startswith("usage=")), "")
    found = re.findall(r"^\s*_FUNC_(\(.*?\))(?= +-|\s*$)", usage, re.M)
    return [f"{name}{one}"[:120] for one in dict.fromkeys(re.sub(r"\s+", " ", one) for one in found)]


def dumped() -> dict[str, Any]:
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    (jar,) = jars.glob("spark-catalyst_*.jar")
    functions: dict[str, Any] = {}
    with zipfile.ZipFile(jar) as classes:
        for name, made_by in registered(ClassFile(classes.read(f"{REGISTRY}.class"))).items():
            functions[name] = {"counts": None, "signatures": []}
            if made_by is not None and f"{made_by}.class" in classes.NameToInfo:
                found = ClassFile(classes.read(f"{made_by}.class"))
                functions[name] = {"counts": counts(found), "signatures": signatures(name, found)}
    return {"format": FORMAT, "spark": version("pyspark"), "functions": functions}


def rendered(found: dict[str, Any]) -> str:
    """One function a line, so that a newer Spark's differences can be read."""
    entries = [f"  {json.dumps(name)}: {json.dumps(said)}" for name, said in found["functions"].items()]
    first = f'{{"format": {found["format"]}, "spark": {json.dumps(found["spark"])}, "functions": {{'
    return "\n".join([first, ",\n".join(entries), "}}"]) + "\n"


if __name__ == "__main__":
    FILE.write_text(rendered(dumped()))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
