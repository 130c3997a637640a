"""The marks of a join or an aggregate in its categories: which commits it needs. They move now and then.

Law: a mark never says more than what is true: the commits from it on include all that are needed.

Why a mark may lag. Retention deletes what is below every mark, and nothing else. So the mark of an earlier
step keeps everything that a later one needs, and some commits more. (Should a step need an earlier commit,
because a clock went back, the mark goes back with it at once.) Writing a mark takes two syncs in each
category, and a step would wait for them. So it is written only when it would free a sixteenth of the commits
that are needed, or a bundle of them if that is less, so that files are merged and deleted in small portions.
With few commits that is at every step.

A process that starts has written none and writes them at its first step. And they are renewed while nothing
moves: a reader whose mark gets older than what its category keeps counts as gone, and a mark that somebody
has removed comes back.
"""

from __future__ import annotations

from collections.abc import Callable

from dovetail.log import compaction
from dovetail.log.category import Category

RENEWED_US = 10_000_000
LAG = 16
"""The mark may be behind by one in this many of the commits that are needed."""


class ReaderMarks:
    """For one reader. `steady_us` is a clock that never jumps."""

    def __init__(self, reader: str, application: str | None, steady_us: Callable[[], int]) -> None:
        self._reader, self._application = reader, application
        self._steady_us = steady_us
        self._written: dict[str, tuple[int, int]] = {}  # by category: the commit, and when

    def move(self, category: Category, needed: int) -> bool:
        """The commits from `needed` on are needed; those before it may go. Whether the mark says so now."""
        now_us = self._steady_us()
        marked, written_us = self._written.get(category.id, (-1, now_us - RENEWED_US))
        if now_us - written_us < RENEWED_US:
            kept = category.next_commit(needed) - needed
            if 0 <= needed - marked <= min(kept // LAG, compaction.SHAPE.span):
                return False
        category.set_reader(self._reader, needed, application=self._application)
        self._written[category.id] = needed, now_us
        return True
