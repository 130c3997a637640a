"""Both ends of an application: what an input table reads (`FROM`), and where a table goes (`STORAGE`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from dovetail.connectors.kinds import STORAGES
from dovetail.connectors.lake_kinds import LAKES, validate
from dovetail.connectors.options import PARTITIONED, with_defaults
from dovetail.errors import PlanError
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import FilesSource, LakeSource, ScribeSource, Source
from dovetail.plan.source import Span
from dovetail.plan.statements import ColumnDef, Storage
from dovetail.pql.kafka_end import parse_kafka
from dovetail.pql.option_values import arguments, check_category, values
from dovetail.pql.tokens import Cursor, span

FORMATS = ("parquet", "json", "csv")


def parse_origin(cursor: Cursor, columns: Sequence[ColumnDef]) -> Source:
    """What follows FROM in CREATE INPUT TABLE."""
    if cursor.accept("SCRIBE") or cursor.accept("LOG"):
        cursor.expect("(")
        category, place = cursor.string('a category, as in SCRIBE("left")')
        check_category(cursor, category, place)
        cursor.expect(")")
        return ScribeSource(category)
    if cursor.accept("FILES"):
        return _files(cursor)
    if cursor.accept("KAFKA"):
        return parse_kafka(cursor, columns)
    token = cursor.token
    if token is not None and token.text.upper() in LAKES:
        return _lake(cursor)
    raise cursor.unexpected(
        'SCRIBE("category") | FILES("path", format = "parquet") | '
        'KAFKA("topic", brokers = "..", format = "json") | DELTA("path") | ICEBERG("table", uri = "..")',
        did_you_mean(token.text, ("SCRIBE", "FILES", "KAFKA", *LAKES), listed=True) if token else None,
    )


def _lake(cursor: Cursor) -> LakeSource:
    kind, place = cursor.name("DELTA | ICEBERG")
    kind = kind.upper()
    options = LAKES[kind].options
    given = arguments(cursor, kind, options, LAKES[kind].first)
    made: Any = values(cursor, kind, options, given, place)
    try:
        validate(kind, with_defaults(options, made))
    except PlanError as error:
        error.where = cursor.source.show(place)
        raise
    return LakeSource(kind, made)


def _files(cursor: Cursor) -> FilesSource:
    cursor.expect("(")
    path, place = cursor.string('a path, as in FILES("/data/left", format = "parquet")')
    if not path:
        raise cursor.error_at(place, "the path is empty")
    options: dict[str, str] = {}
    format_ = None
    while cursor.accept(","):
        name, at = cursor.name("the name of an option, such as format")
        cursor.expect("=")
        value, value_at = _scalar(cursor)
        if name.lower() == "format":
            format_ = value.lower()
            if format_ not in FORMATS:
                raise cursor.error_at(
                    value_at,
                    f"unknown file format `{value[:40]}`",
                    expected=" | ".join(f'"{f}"' for f in FORMATS),
                    hint=did_you_mean(value[:40], FORMATS, listed=True),
                )
        elif name.lower() in {known.lower() for known in options}:
            raise cursor.error_at(at, f"option `{name}` is given twice")
        else:
            options[name] = value
    if format_ is None:
        raise cursor.error(
            "FILES needs a format",
            expected=" | ".join(f'format = "{f}"' for f in FORMATS),
            hint='add , format = ".."',
        )
    cursor.expect(")")
    return FilesSource(path, format_, tuple(options.items()))


def _scalar(cursor: Cursor) -> tuple[str, Span]:
    token = cursor.token
    if token is None or token.token_type not in (
        TokenType.STRING,
        TokenType.NUMBER,
        TokenType.TRUE,
        TokenType.FALSE,
    ):
        raise cursor.unexpected('a value, such as "true"', "put it in quotes")
    cursor.at += 1
    return (token.text if token.token_type is TokenType.STRING else token.text.lower()), span(token)


def parse_storage(cursor: Cursor) -> Storage:
    """What follows STORAGE in CREATE TABLE. Empty brackets may be left out."""
    kind, place = cursor.name(" | ".join(STORAGES))
    kind = {"LOG": "SCRIBE"}.get(kind.upper(), kind.upper())  # two names of one thing
    if kind not in STORAGES:
        raise cursor.error_at(
            place,
            f"unknown storage `{kind}`",
            expected=" | ".join(STORAGES),
            hint=did_you_mean(kind, STORAGES, listed=True),
        )
    named = [option for option in STORAGES[kind] if option is not PARTITIONED]
    given = arguments(cursor, kind, named) | _partitioned(cursor, kind)
    made = values(cursor, f"STORAGE {kind}", STORAGES[kind], given, place)
    places = tuple((name, span(tokens[0], tokens[-1])) for name, tokens in given.items())
    return Storage(kind, made, places, place)


def _partitioned(cursor: Cursor, kind: str) -> dict[str, list[Token]]:
    """`PARTITIONED BY (a, b)`, which is one token and what follows it."""
    token = cursor.token
    if token is None or token.token_type is not TokenType.PARTITION_BY:
        return {}
    if PARTITIONED not in STORAGES[kind]:
        able = [name for name, options in STORAGES.items() if PARTITIONED in options]
        raise cursor.error(f"{kind} has no partitions", expected=f"STORAGE {' | '.join(able)}")
    cursor.at += 1
    tokens = cursor.argument()
    if not tokens:
        raise cursor.unexpected("columns in brackets: PARTITIONED BY (a, b)")
    return {PARTITIONED.name: tokens}
