"""Options of sources, tables and sinks: `name = value, ...` read by the table of what each takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.connectors.options import Option, Value
from dovetail.plan.interval_literal import SPELLINGS, NotAnInterval, interval_us
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.source import Span
from dovetail.pql.secrets import refuse_password, secret_value
from dovetail.pql.select import parse_expression
from dovetail.pql.tokens import Cursor, span


def arguments(
    cursor: Cursor, kind: str, options: Sequence[Option], first: str | None = None
) -> dict[str, list[Token]]:
    """The tokens of each option between brackets, `name = value, ...`. The value of `first` may come first,
    without its name. Empty brackets may be left out."""
    given: dict[str, list[Token]] = {}
    if not cursor.accept("(") or cursor.accept(")"):
        return given
    known = [option.name for option in options]
    while True:
        token = cursor.token
        if first is not None and not given and token is not None and token.token_type is TokenType.STRING:
            given[first] = cursor.argument()
        else:
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


def values(
    cursor: Cursor, kind: str, options: Sequence[Option], given: Mapping[str, list[Token]], place: Span
) -> tuple[tuple[str, Value | exp.Expr], ...]:
    """The options that were given, each in its type. `kind` as the query calls it, `place`: where."""
    for option in options:
        if option.required and option.name not in given:
            raise cursor.error_at(
                place,
                f"{kind} needs its {option.name}",
                expected=f'{kind}({option.name} = "...")',
            )
    known = [option for option in options if option.name in given]
    return tuple((option.name, option_value(cursor, option, given[option.name])) for option in known)


def option_value(cursor: Cursor, option: Option, tokens: list[Token]) -> Value | exp.Expr:
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
    refuse_password(cursor, option, one.text, place)
    if option.kind == "category":
        check_category(cursor, one.text, place)
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


def check_category(cursor: Cursor, name: str, place: Span) -> None:
    if not name or name.startswith(".") or not all(c.isalnum() or c in "_-." for c in name) or ".." in name:
        raise cursor.error_at(
            place,
            f"`{name[:60]}` cannot name a category",
            expected="letters, digits, `_`, `-` and single dots, not starting with a dot",
        )
