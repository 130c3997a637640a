"""A Kafka topic, or a table of a lake, becomes a category: an input table of records, a table that writes
them to the log, and the input table that everybody else reads.

Law: a topic is read once for each input table, however many joins read the table. Offsets, records that
cannot be read and waiting for brokers are the business of one stage; what follows reads the log. The versions
of a table are read likewise."""

from __future__ import annotations

from dataclasses import replace

from dovetail.plan.consumers import unread
from dovetail.plan.physical import KafkaSource, LakeSource, ScribeSource
from dovetail.plan.statements import CreateInput, CreateTable, Program, Statement, into_log
from dovetail.plan.tree import fresh_name, passed_on, select


def take_in_topics(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}
    idle = {statement.name for statement in unread(program)}
    made: list[Statement] = []
    for statement in program:
        if (
            isinstance(statement, CreateInput)
            and isinstance(statement.origin, KafkaSource | LakeSource)
            and statement.name not in idle
        ):
            made += _taken_in(program, statement, taken)
        else:
            made.append(statement)
    return program.with_statements(made)


def _taken_in(program: Program, table: CreateInput, taken: set[str]) -> list[Statement]:
    records = fresh_name(f"{table.name}_records", taken)
    intake = fresh_name(f"{table.name}_intake", taken)
    category = f"{program.application}.{table.name}"
    storage = into_log(category, buckets=1)
    names = [column.name for column in table.columns]
    return [
        replace(table, name=records),
        CreateTable(intake, select(passed_on(names, records), records), storage, table.span),
        CreateInput(table.name, table.columns, ScribeSource(category), table.span),
    ]
