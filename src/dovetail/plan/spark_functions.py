"""The functions that Spark has, and how many arguments they take: what its classes and its analyzer say
(`dev/dovetail_dev/spark_functions.py`), so that no JVM is needed to look at a query.

Law: a call that is refused here, Spark refuses. A call that Spark's parser reads in its own way takes any
number of arguments here, and Spark judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from dovetail.plan.package_file import package_file

FORMAT = 2
FILE = "spark_functions.json"


@dataclass(frozen=True)
class SparkFunction:
    """`counts` None: any number from `at_least` on. `signatures`: as Spark documents them."""

    name: str
    counts: tuple[int, ...] | None
    signatures: tuple[str, ...]
    at_least: int = 0

    def takes(self, count: int) -> bool:
        return count >= self.at_least if self.counts is None else count in self.counts

    @property
    def signature(self) -> str | None:
        return " | ".join(self.signatures) or None

    @property
    def count_words(self) -> str:
        """`2 arguments`, `1 to 3 arguments`, `2 or 4 arguments`, `at least 2 arguments`."""
        if self.counts is None:
            return f"at least {self.at_least} argument{'' if self.at_least == 1 else 's'}"
        counts = self.counts
        if counts == (0,):
            return "no arguments"
        dense = len(counts) > 2 and counts[-1] - counts[0] == len(counts) - 1
        words = f"{counts[0]} to {counts[-1]}" if dense else " or ".join(str(count) for count in counts)
        return f"{words} argument{'' if words == '1' else 's'}"


@dataclass(frozen=True)
class SparkFunctions:
    spark: str
    functions: Mapping[str, SparkFunction]


@cache
def spark_functions() -> SparkFunctions:
    said = package_file(FILE, FORMAT)
    functions = {
        name: SparkFunction(
            name,
            None if one["counts"] is None else tuple(one["counts"]),
            tuple(one["signatures"]),
            one.get("at_least", 0),
        )
        for name, one in said["functions"].items()
    }
    return SparkFunctions(said["spark"], functions)
