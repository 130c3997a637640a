"""Finding all errors, not only the first.

A rule that meets an error notes it here with the statement it belongs to, goes on with the next statement,
and raises everything at the end. `dovetail check` then drops the statements at fault, with all that read
them, and lets the later rules look at the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.errors import DovetailError, PqlError


class ProblemsFound(PqlError):
    """One or more errors, each with the name of its statement (None: the program as a whole)."""

    def __init__(self, found: list[tuple[str | None, DovetailError]]) -> None:
        first = found[0][1]
        what = first.what if len(found) == 1 else f"{len(found)} errors, the first: {first.what}"
        super().__init__(what, where=first.where, expected=first.expected, hint=first.hint)
        self.found = found

    @property
    def errors(self) -> tuple[DovetailError, ...]:
        return tuple(error for _, error in self.found)

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)


class Problems:
    """Collects errors; `done` raises them."""

    def __init__(self) -> None:
        self.found: list[tuple[str | None, DovetailError]] = []

    def add(self, statement: str | None, error: DovetailError) -> None:
        if isinstance(error, ProblemsFound):
            self.found.extend(error.found)
        else:
            self.found.append((statement, error))

    @contextmanager
    def of(self, statement: str | None) -> Iterator[None]:
        try:
            yield
        except DovetailError as error:
            self.add(statement, error)

    def done(self) -> None:
        if self.found:
            raise ProblemsFound(self.found)
