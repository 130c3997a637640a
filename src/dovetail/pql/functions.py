"""Functions of a query that are written in Python.

    function := CREATE FUNCTION name ( parameter type, ... ) RETURNS type LANGUAGE PYTHON
                [PARAMETER STYLE SCALAR | ARROW | PANDAS] [HANDLER "name"] code
    code     := AS $$ ... $$ | FROM "module.py"
    module   := CREATE MODULE "module.py" AS $$ ... $$

As in Databricks, code without a handler is the body of a function, and code with one defines it. A file is
always a module; its function has the name of the PQL function unless HANDLER says otherwise. When a PQL file
is read, the modules that it names are appended (`modules.py`), so a stored text is complete.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import PqlError
from dovetail.model.python_function import STYLES, PythonFunction, Style
from dovetail.plan.source import PqlText, Span
from dovetail.plan.spark_functions import spark_functions
from dovetail.plan.statements import CreateFunction
from dovetail.plan.types import SIMPLE, spark_type
from dovetail.pql.tokens import Cursor, span, word
from dovetail.slicing.python_calls import NoFunction, checked

EXAMPLE = "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$ return 2 * x $$"
_NAME = re.compile(r"[A-Za-z_]\w{0,60}")


@dataclass(frozen=True)
class Module:
    name: str
    code: str
    span: Span
    inside: int


@dataclass(frozen=True)
class Declared:
    """A function as it is written; its code may be in a module of this name."""

    function: PythonFunction
    span: Span
    module: str | None = None
    module_span: Span | None = None
    inside: int | None = None  # where its own code begins in the text


def parse_function(cursor: Cursor) -> Declared:
    name, place = cursor.name("the function's name")
    if not _NAME.fullmatch(name) or "__" in name:
        raise cursor.error_at(place, f"`{name[:60]}` cannot be the name of a function", expected="a name")
    if name.lower() in spark_functions().functions:
        raise cursor.error_at(
            place, f"Spark has a function `{name}` already", hint=f"choose another name: my_{name}"
        )
    parameters = _parameters(cursor)
    cursor.expect("RETURNS", f"a function says what it returns: {EXAMPLE}")
    returns = _type(cursor, ("LANGUAGE", "AS", "FROM", "PARAMETER", "HANDLER"))
    cursor.expect("LANGUAGE", "functions are written in Python: LANGUAGE PYTHON")
    cursor.expect("PYTHON", "functions are written in Python: LANGUAGE PYTHON")
    style: Style = "scalar"
    if cursor.accept("PARAMETER"):
        cursor.expect("STYLE")
        found = word(cursor.token).lower()
        if found not in STYLES:
            raise cursor.unexpected("SCALAR, ARROW or PANDAS")
        style = next(one for one in STYLES if one == found)
        cursor.at += 1
    handler = cursor.string("the function in the code to call")[0] if cursor.accept("HANDLER") else None
    function = PythonFunction(name, parameters, returns, "", handler, style)
    if cursor.accept("FROM"):
        module, module_place = cursor.string("the name of a file beside this one")
        cursor.finish()
        return Declared(replace(function, handler=handler or name), place, module, module_place)
    cursor.expect("AS", f"the code follows: {EXAMPLE}")
    code, inside = _code(cursor)
    cursor.finish()
    return Declared(replace(function, code=code), place, inside=inside)


def parse_module(cursor: Cursor) -> Module:
    name, place = cursor.string("the module's name, as functions have it in FROM")
    cursor.expect("AS")
    code, inside = _code(cursor)
    cursor.finish()
    return Module(name, code, place, inside)


def _parameters(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    cursor.expect("(", f"parameters are in brackets: {EXAMPLE}")
    found: dict[str, str] = {}
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        name, place = cursor.name("the name of a parameter")
        if not name.isidentifier() or keyword.iskeyword(name):
            raise cursor.error_at(place, f"`{name}` cannot be a parameter in Python")
        if name in found:
            raise cursor.error_at(place, f"two parameters are called `{name}`")
        found[name] = _type(cursor, ())
    if not found:
        raise cursor.error_at(
            span(cursor.tokens[cursor.at - 1]),
            "the function has no parameters",
            expected="at least one: a function is called for the rows of a batch",
        )
    return tuple(found.items())


def _type(cursor: Cursor, until: Sequence[str]) -> str:
    """A type, up to one of the words, or to the end of a parameter."""
    start, angle, depth = cursor.at, 0, 0
    while (token := cursor.token) is not None:
        ends = token.token_type in (TokenType.COMMA, TokenType.R_PAREN)
        if depth == 0 and angle == 0 and (ends or word(token) in until):
            break
        angle += token.text.count("<") - token.text.count(">")
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        cursor.at += 1
    tokens = cursor.tokens[start : cursor.at]
    if not tokens:
        raise cursor.unexpected("a type of Spark")
    text = cursor.source.text[tokens[0].start : tokens[-1].end + 1]
    made = spark_type(text)
    if made is None:
        raise cursor.error_at(
            span(tokens[0], tokens[-1]), f"Spark has no type `{text[:60]}`", expected=", ".join(SIMPLE)
        )
    return made


def _code(cursor: Cursor) -> tuple[str, int]:
    """The code, and where in the text it begins."""
    token: Token | None = cursor.token
    if token is None or token.token_type not in (TokenType.HEREDOC_STRING, TokenType.STRING):
        raise cursor.unexpected("$$ code $$")
    cursor.at += 1
    written = cursor.source.text[token.start : token.end + 1]
    opening = written[: written.index("$", 1) + 1] if token.token_type is TokenType.HEREDOC_STRING else '"'
    return token.text, token.start + len(opening)


def linked(source: PqlText, declared: Declared, modules: Mapping[str, Module]) -> CreateFunction:
    """The function with its code, which Python can read."""
    function, inside = declared.function, declared.inside
    if declared.module is not None:
        module = modules.get(declared.module)
        if module is None:
            raise PqlError(
                f'module "{declared.module}" is not there',
                where=source.show(declared.module_span),
                expected="a file beside the PQL file",
                hint=f'or in the text itself: CREATE MODULE "{declared.module}" AS $$ ... $$;',
            )
        function, inside = replace(function, code=module.code), module.inside
    try:
        checked(function)
    except NoFunction as error:
        assert inside is not None
        raise PqlError(
            f"function {function.name}: {error}",
            where=source.show(_line(source, inside, error.line)),
            expected="code in Python" + (f", as the body of {function.name}" if not function.handler else ""),
        ) from None
    return CreateFunction(function, declared.span, declared.module)


def _line(source: PqlText, inside: int, line: int) -> Span:
    """The first words of a line of code."""
    start = inside
    for _ in range(line - 1):
        start = source.text.find("\n", start) + 1
    stop = source.text.find("\n", start)
    stop = len(source.text) if stop < 0 else stop
    text = source.text[start:stop].partition("$")[0]
    indented = len(text) - len(text.lstrip())
    return Span(start + indented, start + max(len(text.rstrip()), indented + 1))
