"""Finds which functions Spark has and how many arguments they take, and writes it down for `check`, which has
no JVM.

    PYTHONPATH=dev .venv/bin/python -m dovetail_dev.spark_functions

writes src/dovetail/plan/spark_functions.json

Spark registers a function by a name and a class, and builds the call with one of the class's constructors
that take expressions. Both are in the class files of its jars, and so are the words of its documentation.

The classes do not say all. A method may build the call, a constructor may take a sequence, and of a function
that Spark replaces by another one, a constructor has the replacement as one more argument. So Spark's
analyzer is asked too: each function is called with no NULL, one NULL, up to `MOST_ARGUMENTS`, and a number
counts as taken unless the analyzer refuses the call for it. What takes the most that is asked takes any
number from its least on.

No number is known, and any passes, where Spark reads the call in its own way (`cast`, `when`, `in`), and
where it takes any number (`array`, `concat`). Spark's builders of `hour`, `minute` and `second` ignore what
follows the first argument, so these take one or more.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dovetail_dev.spark_analyzer import analyzer, refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path(__file__).parents[2] / "src" / "dovetail" / "plan" / "spark_functions.json"
FORMAT = 2
MOST_ARGUMENTS = 8
WRONG_NUMBER = ("[WRONG_NUM_ARGS", "[REQUIRED_PARAMETER_NOT_FOUND]")
"""How the analyzer begins when it refuses a call for the number of its arguments."""
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


def signatures(name: str, usage: str) -> list[str]:
    """The forms of a call, as the words of Spark's documentation begin with them."""
    found = re.findall(rf"^\s*(?:_FUNC_|{name})(\(.*?\))(?= +-|\s*$)", usage, re.M)
    return [f"{name}{one}"[:120] for one in dict.fromkeys(re.sub(r"\s+", " ", one) for one in found)]


def usage_of(made_by: ClassFile) -> str:
    return next((text.removeprefix("usage=") for text in made_by.texts if text.startswith("usage=")), "")


def from_classes() -> dict[str, Any]:
    """What the class files say. No counts: they do not say it."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    (jar,) = jars.glob("spark-catalyst_*.jar")
    functions: dict[str, Any] = {}
    with zipfile.ZipFile(jar) as classes:
        for name, made_by in registered(ClassFile(classes.read(f"{REGISTRY}.class"))).items():
            functions[name] = {"counts": None, "signatures": []}
            if made_by is not None and f"{made_by}.class" in classes.NameToInfo:
                found = ClassFile(classes.read(f"{made_by}.class"))
                functions[name] = {"counts": counts(found), "signatures": signatures(name, usage_of(found))}
    return {"format": FORMAT, "spark": version("pyspark"), "functions": functions}


def taken(spark: SparkSession, name: str) -> list[int]:
    """The numbers of arguments, up to the most, that the analyzer does not refuse."""
    return [
        count
        for count in range(MOST_ARGUMENTS + 1)
        if not refusal(spark, f"SELECT {name}({', '.join(['NULL'] * count)})").startswith(WRONG_NUMBER)
    ]


def asked(spark: SparkSession, name: str, known: dict[str, Any]) -> dict[str, Any]:
    """What is known of a function when the analyzer was asked as well. `known`: what the classes say."""
    found = taken(spark, name)
    if not found or (found[-1] == MOST_ARGUMENTS and known["counts"] is not None):
        return known
    said: dict[str, Any] = {"counts": found if found[-1] < MOST_ARGUMENTS else None}
    if found[0] > 0 and said["counts"] is None:
        said["at_least"] = found[0]
    return {**said, "signatures": known["signatures"] or signatures(name, _described(spark, name))}


def _described(spark: SparkSession, name: str) -> str:
    lines = [str(row[0]) for row in spark.sql(f"DESCRIBE FUNCTION `{name}`").collect()]
    return next((line.removeprefix("Usage: ") for line in lines if line.startswith("Usage: ")), "")


def dumped(spark: SparkSession) -> dict[str, Any]:
    found = from_classes()
    found["functions"] = {name: asked(spark, name, said) for name, said in found["functions"].items()}
    return found


def rendered(found: dict[str, Any]) -> str:
    """One function a line, so that a newer Spark's differences can be read."""
    entries = [f"  {json.dumps(name)}: {json.dumps(said)}" for name, said in found["functions"].items()]
    first = f'{{"format": {found["format"]}, "spark": {json.dumps(found["spark"])}, "functions": {{'
    return "\n".join([first, ",\n".join(entries), "}}"]) + "\n"


if __name__ == "__main__":
    FILE.write_text(rendered(dumped(analyzer())))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
