"""The SELECT inside a statement: our code reads the tokens first, then sqlglot parses them.

sqlglot gets tokens, not text, so every node keeps its place in the whole file. Three things are fixed on the
way: names that are keywords (`FROM left AS l LEFT OUTER JOIN right AS r`), a missing comma in the select list
(as printed in the paper's Figure 3), and a join's `WITH (...)`, which Spark does not have.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import DovetailError, PqlError
from dovetail.plan.dialect import DEEPEST, deep_trees, parse_tokens, too_deep
from dovetail.plan.source import PqlText, Span
from dovetail.pql.mistakes import found_in, near_word
from dovetail.pql.tokens import OPENING, depths, retyped, span, word

_DEEPEST = 100
"""The most brackets inside each other. sqlglot's parser recurses, and nobody writes a query this deep."""

_AFTER_ITEM = {
    TokenType.COMMA,
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.SORT_BY,
    TokenType.CLUSTER_BY,
    TokenType.DISTRIBUTE_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
    TokenType.UNION,
    TokenType.EXCEPT,
    TokenType.INTERSECT,
    TokenType.LATERAL,
    TokenType.WINDOW,
    TokenType.QUALIFY,
}
_STARTS_ITEM = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.CASE,
    TokenType.NOT,
    TokenType.NULL,
    TokenType.TRUE,
    TokenType.FALSE,
    TokenType.INTERVAL,
}


def parse_query(
    source: PqlText, tokens: list[Token], declared: Collection[str], end: int
) -> tuple[exp.Query, list[str]]:
    """The query that the tokens make, and warnings."""
    if not tokens:
        raise PqlError(
            "the query is missing", where=source.show(Span(end, end + 1)), expected="SELECT ... FROM ..."
        )
    if near_word(tokens[0].text, ("SELECT", "WITH")):
        raise PqlError(
            f"`{tokens[0].text[:40]}` is not expected here",
            where=source.show(span(tokens[0])),
            expected="SELECT ... FROM ...",
            hint=f"did you mean `{near_word(tokens[0].text, ('SELECT', 'WITH'))}`?",
        )
    tokens, warnings = with_missing_commas(source, names_as_names(tokens, declared))
    tree = _parse(source, tokens, end)
    if not isinstance(tree, exp.Query) or isinstance(tree, exp.Subquery):
        raise PqlError(
            "this is not a query", where=source.show(span(tokens[0])), expected="SELECT ... FROM ..."
        )
    if any(not select.expressions for select in tree.find_all(exp.Select)):
        raise PqlError(
            "a SELECT has no columns", where=source.show(span(tokens[0])), expected="SELECT a, b FROM ..."
        )
    return tree, warnings


def parse_expression(
    source: PqlText, tokens: list[Token], end: int, declared: Collection[str] = ()
) -> exp.Expr:
    """One expression, such as the value of an option. `declared`: names that may be keywords."""
    if not tokens:
        raise PqlError("a value is missing", where=source.show(Span(end, end + 1)), expected="an expression")
    first = tokens[0]
    select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start, [])
    tree = _parse(source, [select, *names_as_names(tokens, declared)], end)
    items = tree.expressions if isinstance(tree, exp.Select) else []
    if len(items) != 1 or tree.args.get("from_") is not None:
        place = source.show(span(first, tokens[-1]))
        raise PqlError("this is not one expression", where=place, expected="an expression")
    item: exp.Expr = items[0]
    return item


def names_as_names(tokens: list[Token], declared: Collection[str]) -> list[Token]:
    """Keywords in the place of a name become names; `window(...)` is Spark's function, not a clause."""
    names = {name.lower() for name in declared}
    out = list(tokens)
    for i, token in enumerate(tokens):
        if (
            token.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
            or not word(token).isidentifier()
        ):
            continue
        before = tokens[i - 1].token_type if i else None
        after = tokens[i + 1].token_type if i + 1 < len(tokens) else None
        if token.token_type is TokenType.WINDOW and after in (TokenType.L_PAREN, TokenType.DOT):
            out[i] = retyped(token, TokenType.VAR)
        elif token.text.lower() in names and (
            before in (TokenType.FROM, TokenType.JOIN)
            or (after is TokenType.DOT and before is not TokenType.DOT)
        ):
            out[i] = retyped(token, TokenType.IDENTIFIER)
    return out


def with_missing_commas(source: PqlText, tokens: list[Token]) -> tuple[list[Token], list[str]]:
    """`a AS x b AS y` can only mean `a AS x, b AS y`. Read it like that, with a warning."""
    out: list[Token] = []
    warnings: list[str] = []
    level = depths(tokens)
    in_list = False
    for i, token in enumerate(tokens):
        out.append(token)
        if level[i] != 0:
            continue
        if token.token_type is TokenType.SELECT:
            in_list = True
        elif token.token_type in _AFTER_ITEM and token.token_type is not TokenType.COMMA:
            in_list = False
        follows = tokens[i + 1] if i + 1 < len(tokens) else None
        if (
            in_list
            and i > 0
            and tokens[i - 1].token_type is TokenType.ALIAS
            and follows is not None
            and follows.token_type not in _AFTER_ITEM
            and (
                follows.token_type in _STARTS_ITEM
                or follows.token_type in OPENING[:1]
                or _is_call(tokens, i + 1)
            )
        ):
            line, column = source.place(Span(token.end + 1, token.end + 1))
            warnings.append(
                f"{source.name}:{line}:{column}: a comma is missing after `AS {token.text}`; "
                "the query is read as if it were there"
            )
            out.append(Token(TokenType.COMMA, ",", token.line, token.col, token.end + 1, token.end + 1, []))
    return out, warnings


def _is_call(tokens: list[Token], i: int) -> bool:
    return (
        i + 1 < len(tokens)
        and word(tokens[i]).isidentifier()
        and tokens[i + 1].token_type is TokenType.L_PAREN
    )


def _parse(source: PqlText, tokens: list[Token], end: int) -> exp.Expr:
    if max(depths(tokens), default=0) > _DEEPEST:
        deepest = tokens[depths(tokens).index(_DEEPEST)]
        raise _too_deep(source, span(deepest))
    try:
        with deep_trees():
            trees = parse_tokens(tokens, source.text)
    except ParseError as error:
        raise _for_people(source, tokens, end, error) from None
    except RecursionError:
        raise _too_deep(source, span(tokens[0], tokens[-1])) from None
    except DovetailError:
        raise
    except Exception as error:  # sqlglot raises many kinds of errors for malformed text
        raise PqlError(
            "this cannot be read as SQL",
            where=source.show(span(tokens[0], tokens[-1])),
            expected="a query or expression of Spark SQL",
            hint=f"{type(error).__name__}: {str(error)[:120]}" if str(error) else None,
        ) from None
    found = [tree for tree in trees if tree is not None]
    if len(found) != 1:
        raise PqlError(
            "this is not one query", where=source.show(span(tokens[0], tokens[-1])), expected="SELECT ..."
        )
    if too_deep(found[0]):
        raise _too_deep(source, span(tokens[0], tokens[-1]))
    return found[0]


def _too_deep(source: PqlText, place: Span) -> PqlError:
    return PqlError(
        "the query is nested too deeply",
        where=source.show(place),
        expected=f"at most {DEEPEST} operators and {_DEEPEST} brackets inside each other",
        hint="split it over several views",
    )


def _for_people(source: PqlText, tokens: list[Token], end: int, error: ParseError) -> PqlError:
    first = error.errors[0] if error.errors else {}
    at = next((t for t in tokens if (t.line, t.col) == (first.get("line"), first.get("col"))), None)
    mistake = found_in(source, tokens, at)
    if mistake is not None:
        return mistake
    last = at is tokens[-1]
    text = re.sub(r"\s*\(.*\)$", "", str(first.get("description") or "")).rstrip(".")
    expected = "an expression of Spark SQL"
    if text.startswith("Required keyword"):
        what = "an expression is missing after this" if last else "an expression is missing here"
    elif text.startswith("Expecting"):
        what, expected = (
            "a part of the query is missing or out of place",
            text.replace("Expecting", "").strip(),
        )
    elif at is not None:
        what = f"`{at.text[:40]}` is not expected here"
    else:
        what = "the query cannot be read"
    keyword = at is not None and at.token_type is not TokenType.VAR and word(at).isidentifier()
    hint = f"if `{at.text}` is a name, put it in backquotes" if at is not None and keyword else None
    place = span(at) if at is not None else Span(end, end + 1)
    return PqlError(what, where=source.show(place), expected=expected, hint=hint)
