"""What users write by mistake or know from other systems, and what to write instead.

sqlglot stops at the first token that it cannot use, which is often one or two behind the mistake: in
`SELECT a FORM t` it takes `FORM` for a name of `a` and stops at `t`. These functions look at the tokens
around that place. They are asked only about text that cannot be read, so they never refuse a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import PqlError
from dovetail.plan.source import PqlText, Span
from dovetail.pql.tokens import CLOSING, depths, span, word

QUERY_WORDS: tuple[str, ...] = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "OUTER",
)
QUERY_WORDS += ("SEMI", "ANTI", "WITHIN", "BETWEEN", "AND", "INTERVAL", "UNION", "WITH", "STORAGE", "USING")
"""Of two letters, too many words are near to some name."""
OF_OTHERS = {"TUMBLE": "TUMBLING", "HOP": "HOPPING", "CUMULATE": "TUMBLING", "SESSION": "SESSION"}
"""Windows as Flink SQL calls them, and the nearest that WITHIN has."""
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_BEGINS_ITEM = (*_NAMES, TokenType.STRING, TokenType.NUMBER, TokenType.CASE, TokenType.NULL)


def near_word(text: str, words: Sequence[str]) -> str | None:
    """The keyword that a misspelled one was meant to be."""
    found = get_close_matches(text.upper(), words, n=1, cutoff=0.7)
    return found[0] if found and found[0] != text.upper() else None


def found_in(source: PqlText, tokens: Sequence[Token], at: Token | None) -> PqlError | None:
    """The mistake in a query that cannot be read; None: it is none of these. `at`: where sqlglot stopped."""
    place = next((i for i, token in enumerate(tokens) if token is at), len(tokens) - 1)
    return (
        _of_another_system(source, tokens)
        or _misspelled(source, tokens, place)
        or (_missing_comma(source, tokens, place) if at is not None else None)
    )


def _of_another_system(source: PqlText, tokens: Sequence[Token]) -> PqlError | None:
    words = [word(token) for token in tokens]
    for i, token in enumerate(tokens):
        following = words[i + 1] if i + 1 < len(words) else ""
        if words[i] in OF_OTHERS and following == "(" and "TABLE" in words[i + 2 : i + 3]:
            return flink_window(source, token)
        if words[i] == "WINDOW" and following in ("TUMBLING", "HOPPING", "SESSION"):
            return PqlError(
                f"WINDOW {following} is not how PQL writes windows",
                where=source.show(span(token, tokens[i + 1])),
                expected="GROUP BY window(eventtime, '1 hour'), ...",
                hint="hopping windows: window(eventtime, '1 hour', '10 minutes'); sessions: "
                "session_window(eventtime, '5 minutes')",
            )
        if words[i] == "EMIT" and following in ("CHANGES", "FINAL"):
            return PqlError(
                f"EMIT {following} is not PQL",
                where=source.show(span(token, tokens[i + 1])),
                hint="leave it out: every table is a stream, and a window's groups come out when it closes",
            )
    return None


def flink_window(source: PqlText, token: Token) -> PqlError:
    name = word(token)
    return PqlError(
        f"{name}(TABLE ...) is not available",
        where=source.show(span(token)),
        expected="GROUP BY window(eventtime, '1 minute'), or a join WITHIN "
        + f"{OF_OTHERS[name]} '1 minute'"
        + (" EVERY '10 seconds'" if name == "HOP" else ""),
        hint="window.start and window.end are the bounds of an aggregate's window",
    )


def _misspelled(source: PqlText, tokens: Sequence[Token], place: int) -> PqlError | None:
    """A word at the place, or up to two before it, that is nearly a keyword."""
    for i in range(place, max(-1, place - 3), -1):
        token = tokens[i]
        meant = near_word(token.text, QUERY_WORDS) if token.token_type is TokenType.VAR else None
        if meant is not None and (i == 0 or tokens[i - 1].token_type is not TokenType.DOT):
            return PqlError(
                f"`{token.text[:40]}` is not expected here",
                where=source.show(span(token)),
                expected=meant if i else "SELECT ... FROM ...",
                hint=f"did you mean `{meant}`?",
            )
    return None


def _missing_comma(source: PqlText, tokens: Sequence[Token], place: int) -> PqlError | None:
    """Two items of a select list, or two arguments, with nothing between them."""
    kind = tokens[place].token_type
    begins = place - 1 if kind in (TokenType.DOT, TokenType.L_PAREN) else place
    if begins < 2 or tokens[begins].token_type not in (*_BEGINS_ITEM, TokenType.L_PAREN):
        return None
    before = tokens[begins - 1]
    if before.token_type not in (*_BEGINS_ITEM, *CLOSING):
        return None
    level = depths(tokens)
    opened = [
        i for i in range(begins) if level[i] <= level[begins] and tokens[i].token_type is TokenType.SELECT
    ]
    ended = opened and any(
        tokens[i].token_type is TokenType.FROM and level[i] == level[opened[-1]]
        for i in range(opened[-1], begins)
    )
    if not opened or (ended and level[begins] == level[opened[-1]]):
        return None
    return PqlError(
        f"a comma is missing between `{before.text[:40]}` and `{tokens[begins].text[:40]}`",
        where=source.show(Span(before.end + 1, before.end + 2)),
        expected="`,` between two columns",
    )
