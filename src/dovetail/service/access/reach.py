"""Checks that nothing in a query reaches further than its owner may: inputs, sinks, secrets, functions.

Law: a query is looked at as it was parsed, before any of its sources is opened. What this module does not
know (a new kind of source) is within no reach but `*`. Where there are users, no query reads or writes the
files of the home itself; and none ever writes the service's own categories.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from sqlglot import exp

from dovetail.connectors.kinds import STORAGES
from dovetail.connectors.options import with_defaults
from dovetail.connectors.secret import Secret
from dovetail.errors import DovetailError
from dovetail.plan.physical import (
    FilesSource,
    KafkaSource,
    LakeSource,
    OutsideSink,
    ScribeSource,
    TableSource,
)
from dovetail.plan.source import Span
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, Storage
from dovetail.service.access.people import LOCAL, Access, Reach
from dovetail.service.access.places import Place, category, path
from dovetail.service.access.roles import EVERYTHING, Refused, at_least

OURS = "service."
"""Categories of the service itself: their names begin so."""
CODE = frozenset({"reflect", "java_method", "try_reflect"})
"""Functions of Spark that call any method of any class."""
_FILES = ("_location", "_keytab")
"""How options end whose value is a file."""
_MOVES = ("cleansource", "sourcearchivedir")
"""Options of Spark's file source that delete or move what was read."""


def reach_of(access: Access, owner: str) -> Reach:
    """What an owner's queries may read and write. `@group` may own applications, too."""
    if not access.users or owner == LOCAL:
        return Reach(owner, ("*",), ("*",))
    names = _names(access, owner)
    if at_least(access.role(names, EVERYTHING), "admin"):
        return Reach(owner, ("*",), ("*",))
    own = [reach for reach in access.reaches if reach.who in names]
    read = tuple(dict.fromkeys(place for one in own for place in one.read))
    write = tuple(dict.fromkeys(place for one in own for place in one.write))
    return Reach(owner, (*read, *write), write)


def beyond(access: Access, owner: str, program: Program, home: str) -> Iterator[DovetailError]:
    """What a query would reach that its owner may not."""
    reach = reach_of(access, owner)
    own = program.application
    written = {place for place, _, verb in _written(program) if verb == "write"}
    for place, span, verb in (*_read(program), *_written(program)):
        if verb == "read" and (place in written or _is_own(place, own)):
            continue  # what it may write, which is looked at below, it may read
        if place.kind == "log" and verb == "write" and place.name.startswith(OURS):
            yield _refused(program, span, owner, verb, place, "that is the service's own")
        elif access.users and _in_home(place, home):
            yield _refused(program, span, owner, verb, place, "that is in the home of the service")
        elif not _is_own(place, own) and not _within(place, reach.read if verb == "read" else reach.write):
            hint = f"an admin can say `dovetail access reach {owner} --{verb} {place.pattern or '*'}`"
            yield _refused(program, span, owner, verb, place, hint)
    for name, span in functions(program):
        if access.users and owner != LOCAL and not access.may_have_functions(_names(access, owner), own):
            yield Refused(
                f"{owner} may not use functions such as {name}: they run any code",
                where=program.source.show(span) if span else f"function {name}",
                expected="the role functions",
                hint=f"an admin can say `dovetail access grant {owner} functions {own}`",
            )


def functions(program: Program) -> Iterator[tuple[str, Span | None]]:
    """Functions of a query that are arbitrary code: its own, and those of Spark that call anything."""
    yield from ((one.name, one.span) for one in program.functions)
    for statement in program:
        if isinstance(statement, CreateView | CreateTable):
            for call in statement.query.find_all(exp.Anonymous):
                if call.name.lower() in CODE:
                    yield call.name, statement.span


def _names(access: Access, owner: str) -> frozenset[str]:
    """An owner is a user with the groups that the document says, or a group itself."""
    return frozenset({owner}) if owner.startswith("@") else access.names_of(owner)


def _read(program: Program) -> Iterator[tuple[Place, Span | None, str]]:
    for statement in program:
        if not isinstance(statement, CreateInput):
            continue
        options: Iterable[tuple[str, Any]] = ()
        origin: Any = statement.origin  # there will be more kinds
        match origin:
            case ScribeSource(name):
                place = category(name)
            case FilesSource(where, _, options):
                place = path(where)
                if any(name.lower() in _MOVES for name, _ in options):
                    yield Place("path", "", "an option that moves or deletes files"), statement.span, "write"
            case KafkaSource(topic, brokers, _, options):
                place = Place("kafka", f"{brokers}/{topic}", f"topic {topic}")
            case LakeSource() as lake:
                options, place = lake.options, _outside(lake.lake, lake.options, lake.place)
            case TableSource() as table:
                options, place = table.options, _outside(table.table, table.options, table.place)
            case other:
                place = Place(type(other).__name__, "", str(other)[:200])
        yield place, statement.span, "read"
        yield from ((also, statement.span, "read") for also in _also_read(options))


def _outside(kind: str, options: Iterable[tuple[str, Any]], shown: str) -> Place:
    """A table in a folder is within reach as the folder is; of a server's, only as a whole."""
    folder = dict(options).get("path")
    return path(folder) if isinstance(folder, str) else Place(kind.lower(), shown, shown)


def _written(program: Program) -> list[tuple[Place, Span | None, str]]:
    return [
        (place, statement.span, verb)
        for statement in program
        if isinstance(statement, CreateTable)
        for place, verb in _storage(statement.storage)
    ]


def _storage(storage: Storage) -> Iterator[tuple[Place, str]]:
    yield from ((also, "read") for also in _also_read(storage.options))
    given = storage.get("path")
    if storage.category is not None:
        yield category(storage.category), "write"
        return
    if isinstance(given, str):
        yield path(given), "write"
    # A table of Hive is a name in a metastore, too, and that says where its files are.
    if storage.kind == "HIVE" or (given is None and storage.kind not in ("CONSOLE", "NOOP")):
        shown = OutsideSink(storage.kind, storage.values).place
        options = with_defaults(STORAGES[storage.kind], storage.values)
        place = f"{options['brokers']}/{options['topic']}" if storage.kind == "KAFKA" else shown
        yield Place(storage.kind.lower(), place, shown), "write"


def _also_read(options: Iterable[tuple[str, Any]]) -> Iterator[Place]:
    """Secrets, files that an option names (certificates, keys), and a schema registry, which is asked."""
    for name, value in options:
        if isinstance(value, Secret):
            yield Place("secret", value.name, f'SECRET("{value.name}")')
        elif name == "schema_registry":
            yield Place("registry", str(value), f"the schema registry {value}")
        elif name.endswith(_FILES):
            yield path(str(value))


def _is_own(place: Place, application: str) -> bool:
    """Categories that begin with the application's name are its own."""
    return place.kind == "log" and place.name.startswith(f"{application}.")


def _in_home(place: Place, home: str) -> bool:
    if place.kind != "path" or not is_folder(home):
        return False
    root = os.path.realpath(home)
    return place.name == root or place.name.startswith(root + "/")


def is_folder(home: str) -> bool:
    return "://" not in home


def _within(place: Place, patterns: Iterable[str]) -> bool:
    return any(place.is_in(pattern) for pattern in patterns)


def _refused(
    program: Program, span: Span | None, owner: str, verb: str, place: Place, hint: str
) -> DovetailError:
    return Refused(
        f"{owner} may not {verb} {place.shown}",
        where=program.source.show(span) if span else None,
        expected=f"a place that {owner} may {verb}",
        hint=hint,
    )
