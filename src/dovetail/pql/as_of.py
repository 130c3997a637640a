"""`JOIN TABLE users FOR SYSTEM_TIME AS OF s.t AS u ON ..`: cut out of the tokens, so that SQL's parser sees a
plain join, and put into ON as a condition.

    TABLE is optional: a lookup table is known by its declaration
    SYSTEM_TIME_AS_OF(s.t) stands for the clause in a program that is shown
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import PqlError
from dovetail.plan.dialect import call
from dovetail.plan.functions import function_name
from dovetail.plan.lookups import AS_OF, NOW
from dovetail.plan.source import PqlText, Span
from dovetail.pql.select import parse_expression
from dovetail.pql.tokens import depths, join_numbers, span, word

_CLAUSE = ("FOR", "SYSTEM_TIME", "AS", "OF")
_EXAMPLE = "JOIN TABLE users FOR SYSTEM_TIME AS OF s.eventtime AS u ON s.user = u.id"


def cut_as_of(source: PqlText, tokens: list[Token]) -> tuple[list[Token], dict[int, exp.Expr]]:
    """The query's tokens without the clauses, and each clause as a condition, by the number of its join."""
    level, numbers = depths(tokens), join_numbers(tokens)
    kept: list[Token] = []
    found: dict[int, exp.Expr] = {}
    i = 0
    while i < len(tokens):
        if level[i] == 0 and i and word(tokens[i]) == "TABLE" and tokens[i - 1].token_type is TokenType.JOIN:
            i += 1
            continue
        stop = _clause_end(tokens, level, i)
        if stop is None:
            kept.append(tokens[i])
            i += 1
            continue
        node = _time(source, tokens, i, stop)
        if numbers[i] < 0:
            raise PqlError(
                "FOR SYSTEM_TIME belongs to a joined table",
                where=source.show(span(tokens[i], tokens[stop - 1])),
                expected=_EXAMPLE,
            )
        if function_name(node) not in NOW:
            made = call(AS_OF, node)
            made.meta.update({"start": tokens[i].start, "end": tokens[stop - 1].end})
            found[numbers[i]] = made
        i = stop
    return kept, found


def _clause_end(tokens: list[Token], level: list[int], i: int) -> int | None:
    """Where the clause that begins here ends: before an alias, ON or USING."""
    said = " ".join(word(token) for token in tokens[i : i + 4])  # the scanner may join words to one token
    if level[i] != 0 or not said.startswith("FOR SYSTEM_TIME"):
        return None
    at, words = i, " ".join(_CLAUSE)
    taken = ""
    while at < len(tokens) and len(taken) < len(words):
        taken = f"{taken} {word(tokens[at])}".strip()
        at += 1
    if taken != words:
        return min(at, len(tokens))
    while at < len(tokens) and not (level[at] == 0 and _ends(tokens, at)):
        at += 1
    return at


def _ends(tokens: list[Token], at: int) -> bool:
    if tokens[at].token_type in (TokenType.ON, TokenType.USING, TokenType.ALIAS):
        return True
    # An alias without AS: a name where the expression before it is over.
    follows = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    before = tokens[at - 1].token_type
    is_name = tokens[at].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    over = before in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN)
    return is_name and over and follows in (TokenType.ON, TokenType.USING)


def _time(source: PqlText, tokens: list[Token], i: int, stop: int) -> exp.Expr:
    inner = tokens[i:stop]
    skipped, at = "", 0
    while at < len(inner) and len(skipped) < len(" ".join(_CLAUSE)):
        skipped = f"{skipped} {word(inner[at])}".strip()
        at += 1
    if skipped != " ".join(_CLAUSE) or at == len(inner):
        end = tokens[stop - 1].end + 1
        raise PqlError(
            "FOR SYSTEM_TIME does not say as of when",
            where=source.show(Span(tokens[i].start, end)),
            expected=_EXAMPLE,
        )
    return parse_expression(source, inner[at:], inner[-1].end + 1)
