"""Up to which commit of its source a slicer has read: what the last commit that it made says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dovetail.errors import CorruptFile
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model import json_values as said

LOOKED_UP = "looked_up"
"""For a commit whose rows were looked up in a table: which table, its version, and when that was read."""
ASIDE = "aside"
"""For a commit some of whose rows are set aside as well: the segments with those (`sides.py`)."""
READING = "reading"
"""For a commit of another source than the stage's first one: its number."""


def of_source(covers: Mapping[str, Any]) -> dict[str, Any]:
    """What a commit says it covers, without the notes beside that."""
    return {name: value for name, value in covers.items() if name not in (LOOKED_UP, ASIDE, READING)}


def last_of(
    category: Category, producer: str, tells: Callable[[Mapping[str, Any]], bool] | None = None
) -> Commit | None:
    """The newest commit of a producer that is there. `tells`: the newest whose covers are such."""
    newest = category.last_of(producer)
    for number in range(-1 if newest is None else newest, category.first_commit() - 1, -1):
        commit = category.commit(number)
        if commit.producer == producer and (tells is None or tells(commit.covers or {})):
            return commit
    return None


def commit_in(covers: Mapping[str, Any], category: Category, number: int) -> tuple[str, int]:
    """The source that a commit says it has read, and the first commit of it that is not in it."""
    with saying(category, number, "up to which commit of its source it goes"):
        given = said.fields(of_source(covers), ["category", "commit"])
        return said.text(given["category"]), said.whole(given["commit"])


@contextmanager
def saying(
    category: Category, number: int, what: str, remedy: str = "restore it from a copy of the home"
) -> Iterator[None]:
    """While a commit's document is read that ought to say something: if it does not, it is damaged."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptFile(
            f"the commit does not say {what}: {error}",
            where=f"{category.where}/commits/{number}",
            hint=remedy,
        ) from error
