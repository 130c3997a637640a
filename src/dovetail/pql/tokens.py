"""The tokens of a PQL text, with their places, and a cursor over them that reports what it expected."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import PqlError
from dovetail.plan.dialect import tokenize
from dovetail.plan.source import PqlText, Span

OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
QUOTED = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING)


_DOLLARS = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
_OPENED = {"/": "a comment", "$": "code"}


def scan(source: PqlText) -> list[Token]:
    """All tokens of the text. An unclosed quote or comment is an error at the place where it opens."""
    try:
        return tokenize(source.text)
    except (TokenError, ValueError, IndexError, RecursionError) as error:
        opened = _unclosed(source.text)
        if opened is None:
            raise PqlError("the text cannot be read", where=source.name, hint=str(error)[:200]) from None
        at, mark = opened
        raise PqlError(
            f"{_OPENED.get(mark[0], 'a quote')} opens here and is never closed",
            where=source.show(Span(at, at + len(mark))),
            expected=f"a closing {'*/' if mark == '/*' else mark}",
            hint="inside a string, write a quote of the same kind as \\' or \\\"" if mark in "'\"" else None,
        ) from None


def _unclosed(text: str) -> tuple[int, str] | None:
    """Where a quote or comment opens that is not closed. A quote that is forgotten is closed by the next one,
    which turns all later ones around. So the first text over several lines is the one that was forgotten."""
    at = 0
    long: tuple[int, str] | None = None
    while at < len(text):
        if text.startswith("--", at):
            stop = text.find("\n", at)
            at = len(text) if stop < 0 else stop
        elif text.startswith("/*", at):
            stop = text.find("*/", at + 2)
            if stop < 0:
                return at, "/*"
            at = stop + 2
        elif code := _DOLLARS.match(text, at):
            stop = text.find(code[0], code.end())
            if stop < 0:
                return at, code[0]
            at = stop + len(code[0])
        elif text[at] in "'\"`":
            mark, opened = text[at], at
            at += 1
            while at < len(text) and text[at] != mark:
                at += 2 if text[at] == "\\" and mark != "`" else 1
            if long is None and "\n" in text[opened:at]:
                long = opened, mark
            if at >= len(text):
                return long or (opened, mark)
            at += 1
        else:
            at += 1
    return None


DECLARED = ("APPLICATION", "INPUT", "LOOKUP", "VIEW", "TABLE", "FUNCTION", "MODULE")
"""What CREATE makes. No query has both words side by side, so there a statement begins."""


def split_statements(tokens: Sequence[Token]) -> tuple[list[list[Token]], list[Token]]:
    """The statements between semicolons, without empty ones, and the last tokens of those that end without
    one before another begins."""
    statements: list[list[Token]] = [[]]
    unended: list[Token] = []
    for i, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON:
            statements.append([])
            continue
        creates = word(token) == "CREATE" and i + 1 < len(tokens) and word(tokens[i + 1]) in DECLARED
        if creates and statements[-1]:
            unended.append(statements[-1][-1])
            statements.append([])
        statements[-1].append(token)
    return [statement for statement in statements if statement], unended


def word(token: Token | None) -> str:
    """The upper-case word of an unquoted token, '' for strings, quoted names and the end."""
    return "" if token is None or token.token_type in QUOTED else token.text.upper()


def span(first: Token, last: Token | None = None) -> Span:
    return Span(first.start, (last or first).end + 1)


def depths(tokens: Sequence[Token]) -> list[int]:
    """How many brackets are open before each token (a closing one counts as outside)."""
    found, depth = [], 0
    for token in tokens:
        if token.token_type in CLOSING:
            depth -= 1
        found.append(depth)
        if token.token_type in OPENING:
            depth += 1
    return found


JOIN_WORDS = ("NATURAL", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI")
"""What may precede JOIN. `LEFT` may also be a relation or a function, so only what leads to JOIN counts."""


def starts_join(tokens: Sequence[Token], i: int) -> bool:
    """Whether a join's words begin here, as in `LEFT OUTER JOIN`."""
    while i < len(tokens) and word(tokens[i]) in JOIN_WORDS:
        i += 1
    return i < len(tokens) and tokens[i].token_type is TokenType.JOIN


def join_numbers(tokens: Sequence[Token]) -> list[int]:
    """The number, from 0, of the last join outside brackets whose JOIN precedes each token; -1 before all."""
    found, number = [], -1
    for token, level in zip(tokens, depths(tokens), strict=True):
        found.append(number)
        if level == 0 and token.token_type is TokenType.JOIN:
            number += 1
    return found


def retyped(token: Token, kind: TokenType) -> Token:
    """The same word at the same place, as another kind of token."""
    return Token(kind, token.text, token.line, token.col, token.start, token.end, [])


class Cursor:
    """Reads the tokens of one statement from left to right."""

    def __init__(self, source: PqlText, tokens: Sequence[Token], end: int | None = None) -> None:
        self.source = source
        self.tokens = list(tokens)
        self.at = 0
        self.end = end if end is not None else (self.tokens[-1].end + 1 if self.tokens else 0)

    @property
    def token(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def rest(self) -> list[Token]:
        return self.tokens[self.at :]

    def error(self, what: str, *, expected: str | None = None, hint: str | None = None) -> PqlError:
        place = span(self.token) if self.token else Span(self.end, self.end + 1)
        return self.error_at(place, what, expected=expected, hint=hint)

    def error_at(
        self, place: Span, what: str, *, expected: str | None = None, hint: str | None = None
    ) -> PqlError:
        return PqlError(what, where=self.source.show(place), expected=expected, hint=hint)

    def unexpected(self, expected: str, hint: str | None = None) -> PqlError:
        token = self.token
        return self.error(
            f"`{token.text[:40]}` is not expected here" if token else "the statement ends too early",
            expected=expected,
            hint=hint,
        )

    def accept(self, *words: str) -> bool:
        """Steps over the words if they are next."""
        ahead = [word(token) for token in self.tokens[self.at : self.at + len(words)]]
        if ahead != list(words):
            return False
        self.at += len(words)
        return True

    def expect(self, text: str, hint: str | None = None) -> None:
        if not self.accept(text):
            raise self.unexpected(f"`{text}`", hint)

    def name(self, what: str) -> tuple[str, Span]:
        """An identifier. Any unquoted word will do, even a keyword."""
        token = self.token
        is_word = token is not None and (token.text[:1].isalpha() or token.text[:1] == "_")
        if token is None or not (
            (token.token_type is TokenType.IDENTIFIER and token.text)
            or (
                is_word
                and token.token_type not in (TokenType.STRING, TokenType.NUMBER)
                and " " not in token.text
            )
        ):
            raise self.unexpected(what)
        self.at += 1
        return token.text, span(token)

    def string(self, what: str) -> tuple[str, Span]:
        token = self.token
        if token is None or token.token_type is not TokenType.STRING:
            raise self.unexpected(what, "put it in quotes")
        self.at += 1
        return token.text, span(token)

    def argument(self) -> list[Token]:
        """Tokens up to the next comma or closing bracket that belongs to an enclosing pair."""
        depth, start = 0, self.at
        while (token := self.token) is not None:
            if depth == 0 and (token.token_type is TokenType.COMMA or token.token_type in CLOSING):
                break
            depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
            self.at += 1
        return self.tokens[start : self.at]

    def finish(self) -> None:
        if self.token is not None:
            raise self.unexpected("the end of the statement, `;`")
