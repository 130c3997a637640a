"""Both ends of an application: what an input table reads (`FROM`), and where a table goes (`STORAGE`)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.connectors.kinds import STORAGES
from dovetail.connectors.options import PARTITIONED, Option, Value
from dovetail.plan.interval_literal import SPELLINGS, NotAnInterval, interval_us
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import FilesSource, ScribeSource, Source
from dovetail.plan.source import Span
from dovetail.plan.statements import ColumnDef, Storage
from dovetail.pql.kafka_end import parse_kafka
from dovetail.pql.secrets import secret_value
from dovetail.pql.select import parse_expression
from dovetail.pql.tokens import Cursor, span

FORMATS = ("parquet", "json", "csv")


def parse_origin(cursor: Cursor, columns: Sequence[ColumnDef]) -> Source:
    """What follows FROM in CREATE INPUT TABLE."""
    if cursor.accept("SCRIBE") or cursor.accept("LOG"):
        cursor.expect("(")
        category, place = cursor.string('a category, as in SCRIBE("left")')
        _check_category(cursor, category, place)
        cursor.expect(")")
        return ScribeSource(category)
    if cursor.accept("FILES"):
        return _files(cursor)
    if cursor.accept("KAFKA"):
        return parse_kafka(cursor, columns)
    token = cursor.token
    raise cursor.unexpected(
        'SCRIBE("category") | FILES("path", format = "parquet") | '
        'KAFKA("topic", brokers = "..", format = "json")',
        did_you_mean(token.text, ("SCRIBE", "FILES", "KAFKA"), listed=True) if token else None,
    )


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
    given = _arguments(cursor, kind) | _partitioned(cursor, kind)
    for option in STORAGES[kind]:
        if option.required and option.name not in given:
            raise cursor.error_at(
                place,
                f"STORAGE {kind} needs its {option.name}",
                expected=f'STORAGE {kind}({option.name} = "...")',
            )
    known = [option for option in STORAGES[kind] if option.name in given]
    values = tuple((option.name, _value(cursor, option, given[option.name])) for option in known)
    places = tuple((name, span(tokens[0], tokens[-1])) for name, tokens in given.items())
    return Storage(kind, values, places, place)


def _arguments(cursor: Cursor, kind: str) -> dict[str, list[Token]]:
    given: dict[str, list[Token]] = {}
    if not cursor.accept("(") or cursor.accept(")"):
        return given
    known = [option.name for option in STORAGES[kind] if option is not PARTITIONED]
    while True:
        name, at = cursor.name(f"an argument of {kind}")
        name = name.lower()
        if name not in known or name in given:
            raise cursor.error_at(
                at,
                f"`{name}` is given twice" if name in given else f"{kind} takes no argument `{name}`",
                expected=", ".join(known) or f"{kind} without arguments",
                hint=None if name in given else did_you_mean(name, known, listed=True),
            )
        cursor.expect("=")
        given[name] = cursor.argument()
        if not given[name]:
            raise cursor.unexpected(f"a value for `{name}`")
        if cursor.accept(")"):
            return given
        if not cursor.accept(","):
            raise cursor.unexpected("`,` or `)`")


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


def _value(cursor: Cursor, option: Option, tokens: list[Token]) -> Value | exp.Expr:
    place, name = span(tokens[0], tokens[-1]), option.name
    one = tokens[0] if len(tokens) == 1 else None
    match option.kind:
        case "expression":
            return parse_expression(cursor.source, tokens, place.stop)
        case "interval":
            return _age_us(cursor, name, tokens, place)
        case "columns":
            return _columns(cursor, option, tokens, place)
        case "whole":
            if one and one.text.isdigit() and len(one.text) < 20 and 1 <= int(one.text) <= option.most:
                return int(one.text)
            raise cursor.error_at(place, f"{name} is out of range", expected=option.expected)
        case "flag":
            if one and one.token_type in (TokenType.TRUE, TokenType.FALSE):
                return one.token_type is TokenType.TRUE
            raise cursor.error_at(place, f"{name} is neither true nor false", expected=option.expected)
    if (secret := secret_value(cursor, option, tokens, place)) is not None:
        return secret
    if one is None or one.token_type is not TokenType.STRING or not one.text:
        raise cursor.error_at(place, f"{name} is not text", expected=option.expected, hint="put it in quotes")
    if option.kind == "category":
        _check_category(cursor, one.text, place)
    if option.kind == "choice" and one.text not in option.choices:
        raise cursor.error_at(
            place,
            f"unknown {name} `{one.text[:40]}`",
            expected=option.expected,
            hint=did_you_mean(one.text, option.choices, listed=True),
        )
    return one.text


def _columns(cursor: Cursor, option: Option, tokens: list[Token], place: Span) -> tuple[str, ...]:
    """`a`, `"a"`, `(a, b)`."""
    inner = tokens
    if tokens[0].token_type is TokenType.L_PAREN and tokens[-1].token_type is TokenType.R_PAREN:
        inner = tokens[1:-1]
    names, commas = inner[::2], inner[1::2]
    if (
        not names
        or len(names) != len(commas) + 1
        or any(token.token_type is not TokenType.COMMA for token in commas)
        or any(
            not (token.text[:1].isalpha() or token.text[:1] in "_") and not _quoted(token) for token in names
        )
    ):
        raise cursor.error_at(place, f"{option.name} does not name columns", expected=option.expected)
    found = tuple(token.text for token in names)
    if len({name.lower() for name in found}) < len(found):
        raise cursor.error_at(place, f"{option.name} names a column twice", expected=option.expected)
    return found


def _quoted(token: Token) -> bool:
    return token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) and bool(token.text)


def _age_us(cursor: Cursor, name: str, tokens: list[Token], place: Span) -> int:
    trouble = "it is nothing"
    try:
        if (age_us := interval_us(parse_expression(cursor.source, tokens, place.stop))) > 0:
            return age_us
    except NotAnInterval as error:
        trouble = str(error)
    raise cursor.error_at(
        place,
        f"{name} cannot be this time: {trouble}",
        expected=SPELLINGS,
        hint=f"for example: {name} = INTERVAL '7 days'",
    )


def _check_category(cursor: Cursor, name: str, place: Span) -> None:
    if not name or name.startswith(".") or not all(c.isalnum() or c in "_-." for c in name) or ".." in name:
        raise cursor.error_at(
            place,
            f"`{name[:60]}` cannot name a category",
            expected="letters, digits, `_`, `-` and single dots, not starting with a dot",
        )
