"""Finding all errors, not only the first.

A rule that meets an error records it with its statement, goes on with the next statement, and raises all
errors at the end. `dovetail check` then drops the statements at fault and everything that reads them, and
lets the later rules check the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from dovetail.errors import DovetailError, PqlError
from dovetail.plan.statements import Program, Statement, reads


class ProblemsFound(PqlError):
    """One or more errors, each with the name of its statement, or None for the program as a whole."""

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
    """Collects errors. `done` raises them, except those that may only be consequences of others.

    A statement that reads one with an error cannot be judged, so its own errors wait until that is fixed.
    """

    def __init__(self, program: Program | None = None) -> None:
        self.program = program
        self.found: list[tuple[str | None, DovetailError]] = []

    def add(self, statement: str | None, error: DovetailError) -> None:
        if isinstance(error, ProblemsFound):
            self.found.extend((of or statement, one) for of, one in error.found)
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
        """It reads another statement at fault that does not read it in turn (on a cycle, both count)."""
        if self.program is None:
            return False
        own = statement.lower()
        below = read_by(self.program, own)
        return any(name != own and own not in read_by(self.program, name) for name in below & at_fault)


def each_statement(program: Program, rewrite: Callable[[Statement], Iterable[Statement]]) -> Program:
    """The program with every statement replaced by what `rewrite` makes of it, or all errors."""
    problems = Problems(program)
    made: list[Statement] = []
    for statement in program:
        with problems.of(statement.name):
            made.extend(rewrite(statement))
    problems.done()
    return program.with_statements(made)


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
