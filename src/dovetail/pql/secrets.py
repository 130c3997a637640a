"""`SECRET("name")` in a text."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dovetail.connectors.options import Option
from dovetail.connectors.secret import Secret, has_password, is_name
from dovetail.plan.source import Span
from dovetail.pql.tokens import Cursor, word


def secret_value(cursor: Cursor, option: Option, tokens: Sequence[Token], place: Span) -> Secret | None:
    """The secret that is given for an option; None if the value is another one."""
    if word(tokens[0]) == "SECRET":
        return _secret(cursor, option, tokens, place)
    if option.kind == "secret":
        raise cursor.error_at(
            place,
            f"{option.name} is a secret and must not stand in the text",
            expected=option.expected,
            hint="it is read from the environment or a file when the application runs",
        )
    return None


def refuse_password(cursor: Cursor, option: Option, text: str, place: Span) -> None:
    """In an address that is given as text."""
    if not (option.secret or option.password) or not has_password(text):
        return
    raise cursor.error_at(
        place,
        f"{option.name} has a password in it, which must not stand in the text",
        expected=f'{option.password or option.name} = SECRET("...")',
        hint=("the secret is the password alone; " if option.password else "the secret is the whole of it; ")
        + "it is read from the environment or a file when the application runs",
    )


def _secret(cursor: Cursor, option: Option, tokens: Sequence[Token], place: Span) -> Secret:
    """`SECRET("name")`."""
    shape = [token.token_type for token in tokens[1:]]
    if shape != [TokenType.L_PAREN, TokenType.STRING, TokenType.R_PAREN] or not is_name(tokens[2].text):
        raise cursor.error_at(
            place,
            "this does not name a secret",
            expected='SECRET("name")',
            hint="the name of an environment variable, or of a file in the folder DOVETAIL_SECRETS",
        )
    if not option.secret:
        raise cursor.error_at(place, f"{option.name} cannot be a secret", expected=option.expected)
    return Secret(tokens[2].text)
