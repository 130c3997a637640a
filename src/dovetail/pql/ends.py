"""Both ends of an application: what an input table reads (`FROM`), and where a table goes (`STORAGE`)."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.model.compression import COMPRESSIONS
from dovetail.plan.interval_literal import SPELLINGS, NotAnInterval, interval_us
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import FilesSource, ScribeSource, Source
from dovetail.plan.source import Span
from dovetail.plan.statements import ColumnDef, Storage
from dovetail.pql.kafka_end import parse_kafka
from dovetail.pql.select import parse_expression
from dovetail.pql.tokens import Cursor, span

FORMATS = ("parquet", "json", "csv")
ARGUMENTS = {
    "SCRIBE": ("category", "shard", "buckets", "compression", "keep", "keep_bytes"),
    "PARQUET": ("path",),
    "JSON": ("path",),
    "CONSOLE": (),
    "NOOP": (),
}
"""The kinds of storage and their arguments. The first one is required."""

MOST_BUCKETS = 4096
WHOLE = {"buckets": MOST_BUCKETS, "keep_bytes": 10**18}
"""Arguments that are whole numbers, and the most that each may be."""


def parse_origin(cursor: Cursor, columns: Sequence[ColumnDef]) -> Source:
    """What follows FROM in CREATE INPUT TABLE."""
    if cursor.accept("SCRIBE"):
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
    kind, place = cursor.name(" | ".join(ARGUMENTS))
    kind = kind.upper()
    if kind not in ARGUMENTS:
        raise cursor.error_at(
            place,
            f"unknown storage `{kind}`",
            expected=" | ".join(ARGUMENTS),
            hint=did_you_mean(kind, ARGUMENTS, listed=True),
        )
    given = _arguments(cursor, kind)
    known = ARGUMENTS[kind]
    if known and known[0] not in given:
        raise cursor.error_at(
            place,
            f"STORAGE {kind} needs its {known[0]}",
            expected=f'STORAGE {kind}({known[0]} = "...")',
        )
    values = {name: _argument(cursor, name, tokens) for name, tokens in given.items()}
    return Storage(kind, **values)  # type: ignore[arg-type]


def _arguments(cursor: Cursor, kind: str) -> dict[str, list[Token]]:
    given: dict[str, list[Token]] = {}
    if not cursor.accept("(") or cursor.accept(")"):
        return given
    while True:
        name, at = cursor.name(f"an argument of {kind}")
        name = name.lower()
        if name not in ARGUMENTS[kind] or name in given:
            known = ARGUMENTS[kind]
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


def _argument(cursor: Cursor, name: str, tokens: list[Token]) -> str | int | exp.Expr:
    place = span(tokens[0], tokens[-1])
    if name == "shard":
        return parse_expression(cursor.source, tokens, place.stop)
    if name == "keep":
        return _age_us(cursor, tokens, place)
    one = tokens[0] if len(tokens) == 1 else None
    if name in WHOLE:
        most = WHOLE[name]
        if one is not None and one.text.isdigit() and len(one.text) < 19 and 1 <= int(one.text) <= most:
            return int(one.text)
        raise cursor.error_at(place, f"{name} is out of range", expected=f"a whole number from 1 to {most}")
    if one is None or one.token_type is not TokenType.STRING or not one.text:
        raise cursor.error_at(
            place, f"{name} is not text", expected=f'{name} = "..."', hint="put it in quotes"
        )
    if name == "category":
        _check_category(cursor, one.text, place)
    if name == "compression" and one.text not in COMPRESSIONS:
        raise cursor.error_at(
            place,
            f"unknown compression `{one.text[:40]}`",
            expected=" | ".join(f'"{choice}"' for choice in COMPRESSIONS),
            hint=did_you_mean(one.text, COMPRESSIONS, listed=True),
        )
    return one.text


def _age_us(cursor: Cursor, tokens: list[Token], place: Span) -> int:
    """How long rows stay."""
    trouble = "it is nothing"
    try:
        if (age_us := interval_us(parse_expression(cursor.source, tokens, place.stop))) > 0:
            return age_us
    except NotAnInterval as error:
        trouble = str(error)
    raise cursor.error_at(
        place,
        f"rows cannot be kept for this time: {trouble}",
        expected=SPELLINGS,
        hint="for example: keep = INTERVAL '7 days'",
    )


def _check_category(cursor: Cursor, name: str, place: Span) -> None:
    if not name or name.startswith(".") or not all(c.isalnum() or c in "_-." for c in name) or ".." in name:
        raise cursor.error_at(
            place,
            f"`{name[:60]}` cannot name a category",
            expected="letters, digits, `_`, `-` and single dots, not starting with a dot",
        )
