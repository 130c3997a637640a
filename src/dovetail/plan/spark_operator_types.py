"""The types that Spark's operators and conditions refuse, as its analyzer said when it was asked in ANSI mode
(`dev/dovetail_dev/spark_operator_types.py`).

Law: what is refused here, Spark refuses. Of a type that was not asked about, nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dovetail.plan.package_file import package_file
from dovetail.plan.types import head

FORMAT = 1
FILE = "spark_operator_types.json"


@dataclass(frozen=True)
class _Refused:
    """`alone`: by form. `between_two`: by operator and the type on its left."""

    alone: dict[str, list[str]]
    between_two: dict[str, dict[str, list[str]]]


@cache
def _refused() -> _Refused:
    said = package_file(FILE, FORMAT)
    return _Refused(said["alone"], said["between_two"])


def refuses_alone(form: str, type_: str) -> bool:
    """Whether `WHERE`, `NOT` or the like refuses a type."""
    return _kind(type_) in _refused().alone[form]


def refuses_between(left: str, operator: str, right: str) -> bool:
    """Whether an operator refuses two types, in this order."""
    return _kind(right) in _refused().between_two[operator].get(_kind(left), ())


def _kind(type_: str) -> str:
    """As the file calls types."""
    name = head(type_)
    return "timestamp" if name == "TIMESTAMP_LTZ" else name.lower()
