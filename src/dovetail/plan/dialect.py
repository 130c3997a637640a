"""Spark's SQL as sqlglot reads and writes it here.

Law: a function call is rendered as it was written. sqlglot rewrites many functions between dialects
(`timestamp_seconds(x)` becomes a cast of `from_unixtime(x)`, which loses the fraction). So all functions
except those with a syntax of their own (`CAST`, `EXTRACT`, `TRIM`, ...) are read as anonymous calls, and
every function that Spark has, now or later, passes through. All identifiers are marked as quoted, so that two
texts that differ only in quotes give the same tree, and `left` or `order` can be a name anywhere.

sqlglot and the rules walk trees by recursion, which Python limits. `deep_trees` raises the limit while a text
is compiled, and the parser refuses trees deeper than `DEEPEST`, so no later walk can reach the limit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.model.python_function import as_called
from dovetail.plan.source import UNTIL

E = TypeVar("E", bound=exp.Expr)

_WITH_SYNTAX = (
    "CAST",
    "TRY_CAST",
    "EXTRACT",
    "TRIM",
    "OVERLAY",
    "POSITION",
    "SUBSTRING",
    "SUBSTR",
    "LISTAGG",
)
_UNIT_FIRST = {"datediff", "date_diff", "dateadd", "date_add", "timestampadd", "timestampdiff"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class PqlSpark(Spark):
    """Spark's dialect with functions left alone, and `$$ .. $$` around code."""

    class Tokenizer(Spark.Tokenizer):
        HEREDOC_STRINGS: ClassVar = ["$"]
        HEREDOC_TAG_IS_IDENTIFIER: ClassVar = True

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
        ARRAY_CONSTRUCTORS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _WITH_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in ("CASE", "IF")
        }

        def expression(self, instance: E, token: Token | None = None, comments: list[str] | None = None) -> E:
            """Every node knows the last character that was read for it (`source.span_of`): an interval or a
            call ends behind the last name in it."""
            made = super().expression(instance, token, comments)
            if self._prev and "start" not in made.meta:
                made.meta[UNTIL] = self._prev.end
            return made

        def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Add | exp.Interval | None:
            first = self._curr
            made = super()._parse_interval(*args, **kwargs)
            if isinstance(made, exp.Interval) and first and self._prev:
                made.meta.update({"start": first.start, "end": self._prev.end})
            return made

    class Generator(SparkGenerator):
        """Queries are written as they are, also QUALIFY: `qualified.py` spells it out for Spark."""

        TRANSFORMS: ClassVar = {
            kind: write for kind, write in SparkGenerator.TRANSFORMS.items() if kind is not exp.Select
        }


def tokenize(text: str) -> list[Token]:
    return PqlSpark().tokenize(text)


def parse_tokens(tokens: list[Token], text: str) -> list[exp.Expr | None]:
    """Trees of the statements in `tokens`, in canonical form; positions are those of `text`."""
    trees = PqlSpark().parser().parse(tokens, text)
    return [None if tree is None else canonical(tree) for tree in trees]


def canonical(tree: exp.Expr) -> exp.Expr:
    """The form in which a tree equals the tree of its own rendering."""
    tree = tree.transform(_canonical_node, copy=False)
    for node in tree.walk():
        node.comments = None
        if isinstance(node, exp.Identifier):
            node.set("quoted", True)
    return tree


def _canonical_node(node: exp.Expr) -> exp.Expr:
    made: exp.Expr | None = None
    if type(node) is exp.Cast:
        made = exp.TryCast(**{**node.args, "safe": False})
    elif isinstance(node, exp.StrPosition):
        made = call("locate", node.args["substr"], node.this)
    elif isinstance(node, exp.Concat):
        made = call("concat", *node.expressions)
    elif isinstance(node, exp.RawString):
        made = exp.Literal.string(node.this)
    elif isinstance(node, (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentUser)):
        made = call(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).lower())
    elif (
        isinstance(node, exp.Anonymous)
        and str(node.this).lower() in _UNIT_FIRST
        and len(node.expressions) == 3
    ):
        unit = node.expressions[0]
        if isinstance(unit, exp.Column) and not unit.table:
            unit.replace(exp.Var(this=unit.name.upper()))
    if made is None:
        return node
    if node._meta:
        made.meta.update(node._meta)
    return made


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def spark_sql(tree: exp.Expr) -> str:
    """SQL for Spark: one line, every identifier between backquotes."""
    return tree.sql(dialect=PqlSpark, identify=True, normalize_functions=False, comments=False)


def pql_sql(tree: exp.Expr, *, pretty: bool = False) -> str:
    """SQL for people: backquotes only where a name needs them."""

    def bare(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Identifier):
            node.set("quoted", needs_quotes(node.name))
        return node

    return (
        tree.copy()
        .transform(bare, copy=False)
        .sql(dialect=PqlSpark, normalize_functions=False, comments=False, pretty=pretty, max_text_width=90)
    )


@lru_cache(4096)
def needs_quotes(name: str) -> bool:
    if not _PLAIN_NAME.match(name):
        return True
    tokens = tokenize(name)
    return len(tokens) != 1 or tokens[0].token_type is not TokenType.VAR


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`" if needs_quotes(name) else name


def cast_to(node: exp.Expr, type_: str) -> exp.Expr:
    """`CAST(node AS type)`, as the parser would make it."""
    text = f"SELECT CAST(NULL AS {type_})"
    tree = parse_tokens(tokenize(text), text)[0]
    assert isinstance(tree, exp.Select)
    made: exp.Expr = tree.expressions[0]
    made.set("this", node.copy())
    return made


DEEPEST = 400
FRAMES = 6_000


@contextmanager
def deep_trees() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def too_deep(tree: exp.Expr) -> exp.Expr | None:
    """A node at the allowed depth that still has children, if there is one."""
    layer = [tree]
    for _ in range(DEEPEST):
        layer = [child for node in layer for child in node.iter_expressions()]
        if not layer:
            return None
    return layer[0]


def readable(sql: str) -> str:
    """A piece of Spark SQL for people: without the backquotes that its names do not need."""
    bare = re.sub(r"`([^`]+)`", lambda found: found[0] if needs_quotes(found[1]) else found[1], sql)
    return as_called(bare)
