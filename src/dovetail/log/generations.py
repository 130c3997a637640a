"""The generations of a category's schema: what its writers have written, one after another.

    category.json          generation 0
    generations/1.json     and so on, numbered densely

Laws. A generation never changes, and its file is there before the first segment that is written with it. It
is created only if its number is free, so writers that evolve a category at once agree on the order: the
second one sees the first one's. Columns are matched by name over all generations, and a name keeps its
meaning: its type only becomes wider. So rows of any generation can be read in the columns of any later one.
What writers do with payload may change with a generation, too: each segment says how it is packed.

A generation that no commit names binds nobody: a query was built, which makes it, and was refused after that
or died. A later one that does not follow it says so in its file, and whoever reads that file believes it.
Should its writer write after all, its rows are read if their values fit, as those of a wider type are.

Why a writer may stay behind: its segments say which generation they are of. It need not know of later ones.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from dovetail.errors import CategoryMismatch, CorruptFile, InputError
from dovetail.log import definition, document
from dovetail.log.cache import DEFINITIONS
from dovetail.log.definition import Definition, folder_of
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.log.schema import describe, log_schema, never_loses, sql_type
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category
    from dovetail.model.compression import Compression

KIND, VERSION = "dovetail.generation", 3
READ = (1, 2, VERSION)
"""A generation with the same compression as the one before does not name it, and has version 1. One that
follows all those before has version 2 at most."""
FOLDER = "generations"

_REMEDY = "restore the file from a copy; without it the rows of this generation and later ones cannot be read"
_PLACES_ROWS = re.compile(r"_hash|_time|_key_\d+")
"""Columns that say where a row is and what it meets: join state was made of their values."""


def path_of(name: str, number: int) -> str:
    return f"{folder_of(name)}/{FOLDER}/{number}.json"


def generations_of(home: str, name: str) -> tuple[Definition, ...]:
    """The category in each generation, the newest last. A process that has looked before looks whether
    `category.json` is the same file, and for new generations. FileNotFoundError: no category."""
    store, folder = open_store(home), folder_of(name)
    path = f"{folder}/category.json"
    stamp, before = store.stamp(path), DEFINITIONS.get((home, name))
    if before is not None and stamp is not None and before[0] == stamp:
        known = before[1]
    else:
        first = definition.decode(store.read(path), name, where=f"{store.root}/{path}")
        known = before[1] if before is not None and before[1][0] == first else (first,)
    while store.size(f"{folder}/{FOLDER}/{len(known)}.json") is not None:
        known = (*known, _read(store, known))
    if before is None or before[0] != stamp or before[1] is not known:
        DEFINITIONS.put((home, name), (stamp, known))
    return known


def schema_of(category: Category, number: int) -> pa.Schema:
    """The schema of a generation. A process that has not heard of it looks again."""
    if number == category.generation:
        return category.schema
    before = DEFINITIONS.get((category.home, category.name))
    known = before[1] if before is not None else ()
    if not known or known[0].id != category.id or number >= len(known):
        known = generations_of(category.home, category.name)
    if known[0].id != category.id or number >= len(known):
        raise _missing(category.store, known[0], number)
    return known[number].schema


def evolve(home: str, name: str, wanted: pa.Schema, compression: Compression | None = None) -> Definition:
    """The category in a generation with these columns, compressed so: its newest, if that is the same, or the
    next. Without `compression` it stays as it is."""
    store = open_store(home)
    while True:
        known = generations_of(home, name)
        left_out, schema = _with_rows(home, name, known, wanted)
        packed = compression or known[-1].compression
        if schema.equals(known[-1].schema) and packed == known[-1].compression:
            return known[-1]
        _require_dense(store, known)
        made = replace(known[-1], schema=schema, generation=len(known), compression=packed, left_out=left_out)
        store.make_folder(f"{folder_of(name)}/{FOLDER}")
        if store.create(path_of(name, len(known)), _encode(made, known[-1])):
            return made
        # Another writer took the number: its generation is one of the earlier ones now.


def require_following(home: str, name: str, wanted: pa.Schema) -> None:
    """Raise what `evolve` would raise; nothing is written."""
    _with_rows(home, name, generations_of(home, name), wanted)


def _with_rows(
    home: str, name: str, known: Sequence[Definition], wanted: pa.Schema
) -> tuple[tuple[int, ...], pa.Schema]:
    """The generations that `wanted` need not follow, and its schema. Those without rows are among them only
    if it cannot follow all: to know them, the commits are read."""
    left_out = known[-1].left_out
    try:
        return left_out, _following(known, wanted, left_out)
    except CategoryMismatch:
        from dovetail.log.category import Category

        category = Category(home, known[-1])
        commits = category.commits(category.first_commit(), category.next_commit())
        named = {info.generation for commit in commits for info in commit.segments}
        left_out = tuple(sorted({*left_out, *range(len(known))} - named))
        return left_out, _following(known, wanted, left_out)


def every_column(category: Category) -> pa.Schema:
    """The columns of the category's generation, and after them those that earlier ones had."""
    fields = {field.name: field for field in category.schema}
    for number in reversed(range(category.generation or 0)):
        if number in category.definition.left_out:
            continue
        for field in schema_of(category, number):
            fields.setdefault(field.name, field.with_nullable(True))
    return pa.schema(fields.values())


def columns_lacking(category: Category, wanted: Iterable[str]) -> dict[int, frozenset[str]]:
    """By generation, which of these columns its rows do not have. Generations that have all are left out."""
    names = frozenset(wanted)
    found = {n: names - set(schema_of(category, n).names) for n in range((category.generation or 0) + 1)}
    return {number: missing for number, missing in found.items() if missing}


def _require_dense(store: Store, known: Sequence[Definition]) -> None:
    """A file that got lost must not be made again with other columns: later ones, and segments, follow it."""
    for entry in store.files(f"{folder_of(known[0].name)}/{FOLDER}"):
        number = entry.name.removesuffix(".json")
        if number.isdecimal() and int(number) > len(known):
            raise _missing(store, known[0], len(known))


def _missing(store: Store, first: Definition, number: int) -> CorruptFile:
    return CorruptFile(
        f"generation {number} of the category's schema is missing",
        where=f"{store.root}/{path_of(first.name, number)}",
        expected=f"generation {number} of category {first.id}",
        hint=_REMEDY,
    )


def _following(known: Sequence[Definition], wanted: pa.Schema, left_out: Collection[int | None]) -> pa.Schema:
    """The schema that comes after all these if a writer wants one. A column that some rows do not have, or
    have as null, may be null. `left_out`: generations without rows, whatever their types are."""
    newest, where = known[-1], f"category {known[-1].name}"
    wanted = log_schema(wanted, where=where)
    for name in dict.fromkeys([*newest.schema.names, *wanted.names]):
        if _PLACES_ROWS.fullmatch(name) and _type(newest.schema, name) != _type(wanted, name):
            raise CategoryMismatch(
                f"column {name} cannot change: it was {_said(newest.schema, name)}, "
                f"and is to be {_said(wanted, name)}",
                where=where,
                expected=f"the same key and time columns: {describe(newest.schema)}",
                hint="rows that are there are placed by it: cast the key to the type it had, "
                "or write to another category",
            )
    if newest.time_column is not None and newest.time_column not in wanted.names:
        raise CategoryMismatch(
            f"column {newest.time_column} cannot be dropped: event times come from it",
            where=where,
            expected=describe(newest.schema),
            hint=f"keep {newest.time_column} among the columns, or write to another category",
        )
    bound = [one for one in known if one.generation not in left_out]
    return pa.schema([_field(bound, field, where) for field in wanted])


def _field(known: Sequence[Definition], wanted: pa.Field, where: str) -> pa.Field:
    nullable = wanted.nullable
    for one in known:
        at = one.schema.get_field_index(wanted.name)
        if at < 0:
            nullable = True
            continue
        old = one.schema.field(at)
        nullable = nullable or old.nullable
        if not never_loses(old.type, wanted.type):
            raise CategoryMismatch(
                f"column {wanted.name} cannot become {wanted.type}: there are rows in which it is {old.type}",
                where=where,
                expected=f"{old.type}, or a type that holds each of its values",
                hint=f"write CAST({wanted.name} AS {sql_type(old.type)}) AS {wanted.name}, "
                "or give the column another name",
            )
    return wanted.with_nullable(nullable)


def _type(schema: pa.Schema, name: str) -> pa.DataType | None:
    return schema.field(name).type if name in schema.names else None


def _said(schema: pa.Schema, name: str) -> str:
    return str(schema.field(name).type) if name in schema.names else "missing"


def _encode(made: Definition, before: Definition) -> bytes:
    body = {
        "category": made.id,
        "generation": made.generation,
        "columns": describe(made.schema),
        "schema": base64.b64encode(made.schema.serialize()).decode(),
    }
    if made.left_out != before.left_out:
        added = {"compression": made.compression, "left_out": list(made.left_out)}
        return document.encode(KIND, VERSION, body | added)
    if made.compression == before.compression:
        return document.encode(KIND, 1, body)
    return document.encode(KIND, 2, body | {"compression": made.compression})


def _read(store: Store, known: Sequence[Definition]) -> Definition:
    first, number = known[0], len(known)
    path = path_of(first.name, number)
    where = f"{store.root}/{path}"
    body = document.decode(store.read(path), KIND, READ, where=where, remedy=_REMEDY)
    try:
        compression = said.text(body.pop("compression", known[-1].compression))
        left_out = tuple(map(said.whole, said.items(body.pop("left_out", list(known[-1].left_out)))))
        if not {*known[-1].left_out} <= {*left_out} <= {*range(number)}:
            raise ValueError("it leaves out generations that are not before it")
        said.fields(body, ["category", "generation", "columns", "schema"])
        if (body["category"], body["generation"]) != (first.id, number):
            raise ValueError("it is another generation, or that of another category")
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(body["schema"])))
        if not schema.equals(_following(known, schema, left_out), check_metadata=True):
            raise ValueError("its columns do not follow those of the generations before it")
        return replace(
            first,
            schema=schema,
            generation=number,
            compression=compression,  # type: ignore[arg-type]
            left_out=left_out,
        )
    except (
        pa.ArrowException,
        InputError,
        CategoryMismatch,
        OSError,
        KeyError,
        ValueError,
        TypeError,
    ) as error:
        raise CorruptFile(
            f"the file is not a generation of the category: {error}",
            where=where,
            expected=f"generation {number} of category {first.id}",
            hint=_REMEDY,
        ) from error
