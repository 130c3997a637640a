"""What a resident slicer reads: files that appear in a folder, commits of a category, or records of a topic.

Law: what `look` has found is handed out by `take` in order, each part once. A part that is in the log is
never handed out again, however the process ended: the commit that holds it says what it covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from dovetail.errors import Unreachable
from dovetail.log.source_progress import Waiting
from dovetail.model.promise import Promise
from dovetail.slicing.sides import Written

SHARED_ROWS = 100_000
"""A part with more rows than this is shared out to several threads."""


@dataclass(frozen=True)
class Part:
    """Some of a source, for one commit. `write` writes its rows as segments, with the help of threads.
    `promise` holds once they are in the log. `put_off`, if `write` may raise Unreachable: notes that, and the
    part is taken again later."""

    covers: Mapping[str, Any]
    write: Callable[[Executor], list[Written]]
    promise: Promise | None = None
    put_off: Callable[[Unreachable], None] | None = None


class Intake(Protocol):
    """A source as one slicer reads it."""

    @property
    def next_batch(self) -> int:
        """The number of the batch that is appended next."""

    @property
    def settled_us(self) -> int | None:
        """When the look began, by the steady clock, that found nothing on its way into the source: what was
        there before is handed out. None if something may be on its way."""

    @property
    def exhausted(self) -> bool:
        """All that was there at the first look is taken."""

    def look(self) -> bool:
        """Look for what is new. Whether there is more to take."""

    def more(self) -> bool:
        """Something that was found waits to be taken."""

    def take(self) -> Part:
        """The next part of what waits."""

    def appended(self, part: Part) -> None:
        """The part is in the log."""

    def waiting(self) -> Waiting:
        """What has been found and is not in the log. Any thread may ask."""

    def rest(self) -> None:
        """Nothing is new. Called again and again."""

    def close(self) -> None:
        """The slicer ends: keep what makes the next start quick."""
