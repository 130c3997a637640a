"""Who reads a relation. A join with several readers is written to a category of its own."""

from __future__ import annotations

from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, Statement, is_join, reads


def sources(program: Program, statement: Statement) -> list[Statement]:
    """The input tables and joins that a statement reads, through plain views."""
    found: list[Statement] = []
    for name in reads(statement):
        below = program.get(name)
        if below is None:
            continue
        if isinstance(below, CreateInput) or is_join(below):
            found.append(below)
        else:
            found.extend(sources(program, below))
    return found


def consumers(program: Program, relation: Statement) -> list[Statement]:
    """The tables and joins that read a relation, directly or through plain views."""
    return [
        statement
        for statement in program
        if (isinstance(statement, CreateTable) or is_join(statement))
        and any(source is relation for source in sources(program, statement))
    ]


def fused_table(program: Program, join: CreateView) -> CreateTable | None:
    """The table that can run in one stage with a join: its only consumer, if that reads nothing else."""
    readers = consumers(program, join)
    if len(readers) != 1 or not isinstance(readers[0], CreateTable):
        return None
    return readers[0] if all(source is join for source in sources(program, readers[0])) else None


def unread(program: Program) -> list[Statement]:
    """Input tables and views that no table reads, directly or not."""
    return [
        statement
        for statement in program
        if not isinstance(statement, CreateTable) and not _leads_to_table(program, statement)
    ]


def _leads_to_table(program: Program, relation: Statement) -> bool:
    readers = [s for s in program if any(name.lower() == relation.name.lower() for name in reads(s))]
    return any(isinstance(reader, CreateTable) or _leads_to_table(program, reader) for reader in readers)
