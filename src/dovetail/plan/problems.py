"""Finding all errors, not only the first.

A rule that meets an error notes it here with the statement it belongs to, goes on with the next statement,
and raises everything at the end. `dovetail check` then drops the statements at fault, with all that read
them, and lets the later rules look at the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.errors import DovetailError, PqlError
from dovetail.plan.statements import Program, reads


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
    """Collects errors; `done` raises them, without those that may only be echoes.

    A statement that reads one with an error cannot be judged: its own errors wait until the first is mended.
    """

    def __init__(self, program: Program | None = None) -> None:
        self.program = program
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
            at_fault = {statement.lower() for statement, _ in self.found if statement is not None}
            raise ProblemsFound([(s, e) for s, e in self.found if s is None or not self._echoes(s, at_fault)])

    def _echoes(self, statement: str, at_fault: set[str]) -> bool:
        """It reads a statement at fault other than itself, and is not read by it (both on a cycle)."""
        if self.program is None:
            return False
        own = statement.lower()
        below = read_by(self.program, own)
        return any(name != own and own not in read_by(self.program, name) for name in below & at_fault)


def read_by(program: Program, name: str) -> set[str]:
    """All relations, in lower case, that a statement reads, directly or not."""
    found: set[str] = set()
    todo = [name]
    while todo:
        statement = program.get(todo.pop())
        new = {below.lower() for below in reads(statement)} - found if statement is not None else set()
        found |= new
        todo.extend(new)
    return found
