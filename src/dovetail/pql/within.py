"""`WITHIN TUMBLING '10 seconds'` after a join's ON: cut out of the tokens and put into ON as a condition.

within  := WITHIN shape length [EVERY length] [OF time, time]
shape   := TUMBLING | HOPPING | SESSION
length  := '10 seconds' | INTERVAL 10 SECONDS | ...
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import PqlError
from dovetail.model.window_join import WindowShape
from dovetail.plan.interval_literal import SPELLINGS, NotAnInterval, interval_us, text_us
from dovetail.plan.joins.windows import EXAMPLES, SHAPES, window_call
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.source import PqlText, Span
from dovetail.plan.tree import all_of
from dovetail.pql.select import parse_expression
from dovetail.pql.tokens import Cursor, depths, join_numbers, span, starts_join, word

_CONDITIONS = (TokenType.ON, TokenType.USING)
_ENDS = ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")


def cut_within(source: PqlText, tokens: list[Token]) -> tuple[list[Token], dict[int, exp.Expr]]:
    """The query's tokens without the clauses, and each clause as a condition, by the number of its join."""
    level, numbers = depths(tokens), join_numbers(tokens)
    kept: list[Token] = []
    found: dict[int, exp.Expr] = {}
    i = 0
    while i < len(tokens):
        token = tokens[i]
        after = word(tokens[i + 1]) if i + 1 < len(tokens) else ""
        if i == 0 or level[i] != 0 or word(token) != "WITHIN" or after.startswith("GROUP"):
            kept.append(token)
            i += 1
            continue
        stop = next(
            (
                n
                for n in range(i + 1, len(tokens))
                if level[n] == 0 and (word(tokens[n]) in _ENDS or starts_join(tokens, n))
            ),
            len(tokens),
        )
        if not any(level[n] == 0 and tokens[n].token_type in _CONDITIONS for n in range(i)):
            raise PqlError(
                "WITHIN belongs after a join's ON condition",
                where=source.show(span(token)),
                expected=f"JOIN ... ON l.key = r.key {EXAMPLES['tumbling']}",
                hint="for a window around each left row, bound the times in ON: "
                "r.time BETWEEN l.time - INTERVAL '5 minutes' AND l.time + INTERVAL '5 minutes'",
            )
        inner = Cursor(source, tokens[i + 1 : stop], tokens[stop - 1].end + 1)
        node = _clause(inner)
        node.meta.update({"start": token.start, "end": tokens[stop - 1].end})
        found[max(numbers[i], 0)] = node
        i = stop
    return kept, found


def with_condition(query: exp.Query, number: int, node: exp.Expr) -> None:
    """Add the condition to the ON clause of one of the query's joins."""
    join = query.args["joins"][number]
    join.set("on", all_of([join.args["on"], node]))


def _clause(cursor: Cursor) -> exp.Expr:
    shape = _shape(cursor)
    length_us = _length(cursor, shape)
    every_us = None
    if cursor.accept("EVERY"):
        if shape != "hopping":
            raise cursor.error(
                f"EVERY belongs to HOPPING windows, and these are {shape.upper()}",
                expected=EXAMPLES[shape],
                hint=f"write {EXAMPLES['hopping']}, or leave EVERY out",
            )
        every_us = _length(cursor, shape)
    elif shape == "hopping":
        raise cursor.unexpected("EVERY and a length", f"for example: {EXAMPLES['hopping']}")
    times: list[exp.Expr] = []
    if cursor.accept("OF"):
        while True:
            tokens = cursor.argument()
            times.append(parse_expression(cursor.source, tokens, cursor.end))
            if not cursor.accept(","):
                break
        if len(times) != 2:
            raise cursor.error(
                f"OF names {len(times)} time{'' if len(times) == 1 else 's'}",
                expected="the event times of both sides: OF l.time, r.time",
            )
    if cursor.token is not None:
        raise cursor.unexpected("EVERY, OF, WITH, WHERE or the end of the statement")
    return window_call(shape, times, length_us, every_us)


def _shape(cursor: Cursor) -> WindowShape:
    known = [shape.upper() for shape in SHAPES]
    at = cursor.token
    for shape in SHAPES:
        if cursor.accept(shape.upper()):
            return shape
    said = at.text[:40] if at is not None else ""
    raise cursor.unexpected(" | ".join(known), did_you_mean(said.upper(), known) if said else None)


def _length(cursor: Cursor, shape: str) -> int:
    start = cursor.at
    while (token := cursor.token) is not None and word(token) not in ("EVERY", "OF"):
        cursor.at += 1
    tokens = cursor.tokens[start : cursor.at]
    if not tokens:
        raise cursor.unexpected("a length, such as '10 seconds'", f"for example: {EXAMPLES[shape]}")
    place = Span(tokens[0].start, tokens[-1].end + 1)
    try:
        if len(tokens) == 1 and tokens[0].token_type is TokenType.STRING:
            return text_us(tokens[0].text)
        return interval_us(parse_expression(cursor.source, tokens, cursor.end))
    except NotAnInterval as error:
        raise PqlError(
            f"the window cannot have this length: {error}",
            where=cursor.source.show(place),
            expected=f"'10 seconds', or {SPELLINGS}",
            hint=f"for example: {EXAMPLES[shape]}",
        ) from None
