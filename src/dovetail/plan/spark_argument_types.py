"""The types that Spark's functions refuse, as its analyzer said when it was asked
(`dev/dovetail_dev/spark_argument_types.py`).

Law: a call that is refused here, Spark refuses. Of functions with more than three arguments, and of those
that look at several arguments together, nothing is said.
"""

from __future__ import annotations

from functools import cache

from dovetail.plan.package_file import package_file
from dovetail.plan.types import FLOATS, NESTED, head

FORMAT = 1
FILE = "spark_argument_types.json"


@cache
def _refused() -> dict[str, dict[str, list[list[str]]]]:
    said = package_file(FILE, FORMAT)
    found: dict[str, dict[str, list[list[str]]]] = said["functions"]
    return found


def refuses(name: str, count: int, position: int, type_: str) -> bool:
    """Whether a function refuses an argument of a type. `count`: how many the call has."""
    kind = _kind(type_)
    by_position = _refused().get(name, {}).get(str(count))
    return kind is not None and by_position is not None and kind in by_position[position]


def _kind(type_: str) -> str | None:
    """As the file calls types; None: it does not know them."""
    name = head(type_)
    if name in (*NESTED, "STRING", "BOOLEAN", "TIMESTAMP", "DATE", "INT", "BIGINT"):
        return name.lower()
    return "double" if name in FLOATS else None
