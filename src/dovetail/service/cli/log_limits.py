"""How long a category keeps rows, and for whom, in words and from words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dovetail.errors import InputError
from dovetail.log.category import Category
from dovetail.log.limits import is_set, role_of

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", 1)
    for suffix, base in (("B", 1000), ("IB", 1024))
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def age_us(text: str) -> int | None:
    """`7 days`, or `none`."""
    if text.strip().lower() == "none":
        return None
    from dovetail.plan.interval_literal import NotAnInterval, text_us  # imports sqlglot

    try:
        found = text_us(text)
    except NotAnInterval as error:
        raise InputError(f"--age: {error}", expected="a length of time such as '7 days', or none") from None
    if found <= 0:
        raise InputError(
            f"--age {text} is not an age", expected="a length of time above zero, or none for no limit"
        )
    return found


def size_bytes(text: str) -> int | None:
    """`10GB`, `512 MiB`, or `none`."""
    if text.strip().lower() == "none":
        return None
    match = _SIZE.fullmatch(text)
    if match is None or match[2].upper() not in _UNITS:
        raise InputError(f"--size {text} is not a size", expected="a size such as 10GB or 512MiB, or none")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def size_words(size: int) -> str:
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.4g} {unit}"
    return f"{size} B"


def retention_facts(category: Category) -> dict[str, Any]:
    limits = category.limits()
    return {
        "role": role_of(category),
        "retention": {
            "age_us": limits.age_us,
            "size_bytes": limits.size_bytes,
            "default": not is_set(category),
        },
        "readers": [
            {"reader": mark.name, "needs_commit": mark.needs_commit, "gone": mark.gone}
            for mark in category.marks()
        ],
    }


def retention_words(category: Category) -> str:
    from dovetail.plan.interval_literal import words

    limits = category.limits()
    parts = [f"at most {words(limits.age_us)} old"] if limits.age_us is not None else []
    parts += [f"at most {size_words(limits.size_bytes)}"] if limits.size_bytes is not None else []
    origin = "set" if is_set(category) else f"the default of a category with the role {role_of(category)}"
    return f"{' and '.join(parts) or 'no limit of age or size'} ({origin})"


def reader_lines(category: Category, *, only_gone: bool = False) -> Iterator[str]:
    for mark in category.marks():
        if mark.gone is not None:
            yield f"reader {mark.name} no longer holds anything back: {mark.gone}"
        elif not only_gone:
            yield f"reader {mark.name} needs the rows from commit {mark.needs_commit} on"
