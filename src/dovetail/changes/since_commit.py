"""From which commit of a side on a change of it holds.

A side's category is the log of what was sliced for a join. Commits that are there when the new query takes
over were written by the old one; those after them are the new one's. While the old query still runs it adds
commits, so the number is known for good when it has come to rest: then it is put into the words once more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from dovetail.changes.verdict import Change
from dovetail.log.category import Category, list_categories

_SAID = re.compile(r"holds from commit \d+ of (\S+) on")


def from_commit(category: str, commit: int) -> str:
    return f"it holds from commit {commit} of {category} on"


def at_rest(home: str, changes: Iterable[Change]) -> tuple[Change, ...]:
    """The same changes, with the commits that are next now."""

    def next_one(said: re.Match[str]) -> str:
        if said[1] not in list_categories(home):
            return said[0]
        return f"holds from commit {Category.open(home, said[1]).next_commit()} of {said[1]} on"

    return tuple(
        change if change.flight is None else replace(change, flight=_SAID.sub(next_one, change.flight))
        for change in changes
    )
