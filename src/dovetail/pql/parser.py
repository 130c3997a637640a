"""PQL text -> `Program`.

    application := CREATE APPLICATION name
    input       := CREATE INPUT TABLE name [( column [type], ... )] FROM origin
    origin      := SCRIBE("category") | FILES("path", format = "..", ...)
    lookup      := CREATE LOOKUP TABLE name ( column type, ... ) FROM kind ( argument = value, ... )
    view        := CREATE VIEW name AS query
    table       := CREATE TABLE name AS query STORAGE kind [( argument = value, ... )] [PARTITIONED BY ( .. )]
    function    := CREATE FUNCTION ..., in `functions.py`

Each join of a query may end in WITHIN .. and in WITH (option = value, ...). Statements end in `;`. An error
in one statement does not stop the others from being read, so that all errors are reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.connectors.kinds import STORAGES
from dovetail.errors import DovetailError, PlanError, PqlError
from dovetail.plan.aggregates import OPTIONS as AGGREGATE_OPTIONS
from dovetail.plan.aggregates import time_windows
from dovetail.plan.dialect import call, pql_sql
from dovetail.plan.interval_literal import SPELLINGS, NotAnInterval, interval_us, text_us
from dovetail.plan.joins.options import BY_NAME, checked, conflicts, find
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.problems import Problems
from dovetail.plan.source import PqlText, Span, span_of
from dovetail.plan.statements import (
    UTC,
    ColumnDef,
    CreateFunction,
    CreateInput,
    CreateTable,
    CreateView,
    JoinOption,
    Program,
    Statement,
    Storage,
)
from dovetail.plan.types import SIMPLE, spark_type
from dovetail.pql.as_of import cut_as_of
from dovetail.pql.distinct_on import without_distinct_on
from dovetail.pql.ends import parse_origin, parse_storage
from dovetail.pql.functions import Declared, Module, linked, parse_function, parse_module
from dovetail.pql.lookup_end import parse_table
from dovetail.pql.mistakes import near_word
from dovetail.pql.picks import pick_by_value
from dovetail.pql.select import parse_expression, parse_query
from dovetail.pql.time_zone import parse_time_zone
from dovetail.pql.tokens import DECLARED, Cursor, depths, join_numbers, scan, span, split_statements, word
from dovetail.pql.using import without_using
from dovetail.pql.within import cut_within, with_condition

_DECIMAL = re.compile(r"\d{1,9}\.\d{1,9}")

STATEMENTS = (
    "CREATE APPLICATION | CREATE INPUT TABLE | CREATE LOOKUP TABLE | CREATE VIEW | CREATE TABLE | "
    "CREATE FUNCTION"
)
LONGEST_NAME = 100


@dataclass(frozen=True)
class Parsed:
    """What could be read, what could not, and the names of the statements that could not."""

    program: Program
    problems: Problems
    broken: frozenset[str]


def parse(text: str, *, name: str = "<string>") -> Program:
    """The program of a text, or every error in it."""
    parsed = parse_all(text, name=name)
    parsed.problems.done()
    return parsed.program


def parse_all(text: str, *, name: str = "<string>") -> Parsed:
    source = PqlText(name, text)
    problems = Problems()
    statements: list[Statement] = []
    applications: list[tuple[str, Span]] = []
    warnings: list[str] = []
    groups: list[list[Token]] = []
    with problems.of(None):
        groups, unended = split_statements(scan(source))
        for token in unended:
            problems.add(
                None,
                PqlError(
                    "a `;` is missing here",
                    where=source.show(Span(token.end + 1, token.end + 2)),
                    expected="`;` at the end of each statement",
                ),
            )
    broken: set[str] = set()
    functions, groups = _functions(source, groups, problems, broken)
    zones, groups = _time_zones(source, groups, problems)
    declared = [found for group in groups if (found := _declares(group))]
    for group in groups:
        try:
            made = _statement(source, group, declared, warnings)
        except DovetailError as error:
            problems.add(_declares(group), error)
            broken.add((_declares(group) or "").lower())
            continue
        if isinstance(made, tuple):
            applications.append(made)
            continue
        if any(made.name.lower() == other.name.lower() for other in statements):
            problems.add(
                made.name,
                PqlError(
                    f"`{made.name}` is declared twice",
                    where=source.show(made.span),
                    expected="one name for each input table, view and table",
                    hint="upper and lower case do not make different names",
                ),
            )
            continue
        statements.append(made)
    if groups or not problems.found:
        with problems.of(None):
            _one_application(source, applications)
    application, application_span = applications[0] if applications else ("", None)
    zone, zone_span = zones[-1] if zones else (UTC, None)
    program = Program(
        application,
        tuple(statements),
        source,
        tuple(warnings),
        functions,
        zone,
        application_span,
        zone_span,
    )
    return Parsed(program, problems, frozenset(broken))


def _functions(
    source: PqlText, groups: list[list[Token]], problems: Problems, broken: set[str]
) -> tuple[tuple[CreateFunction, ...], list[list[Token]]]:
    """The functions with their code, and the other statements. A module may follow what names it."""
    declared: list[Declared] = []
    modules: dict[str, Module] = {}
    others: list[list[Token]] = []
    for group in groups:
        cursor = Cursor(source, group)
        if [word(token) for token in group[:2]] == ["CREATE", "FUNCTION"]:
            broken.update(token.text.lower() for token in group[2:3])
        with problems.of(None):
            if cursor.accept("CREATE", "MODULE"):
                module = parse_module(cursor)
                modules[module.name] = module
            elif cursor.accept("CREATE", "FUNCTION"):
                declared.append(parse_function(cursor))
            else:
                others.append(group)
    found: dict[str, CreateFunction] = {}
    for one in declared:
        with problems.of(None):
            if one.function.name.lower() in found:
                raise PqlError(
                    f"function `{one.function.name}` is declared twice", where=source.show(one.span)
                )
            found[one.function.name.lower()] = linked(source, one, modules)
            broken.discard(one.function.name.lower())
    return tuple(found.values()), others


def _time_zones(
    source: PqlText, groups: list[list[Token]], problems: Problems
) -> tuple[list[tuple[str, Span]], list[list[Token]]]:
    """The time zone, if one is set, and the other statements."""
    found: list[tuple[str, Span]] = []
    others: list[list[Token]] = []
    for group in groups:
        cursor = Cursor(source, group)
        if not cursor.accept("SET"):
            others.append(group)
            continue
        with problems.of(None):
            for expected in ("TIME", "ZONE"):
                cursor.expect(expected, "only the time zone can be set: SET TIME ZONE 'Europe/Berlin'")
            if found:
                raise cursor.error("the time zone is set twice", expected="one SET TIME ZONE")
            found.append((parse_time_zone(cursor), span(group[0], group[-1])))
    return found, others


def _one_application(source: PqlText, applications: list[tuple[str, Span]]) -> None:
    if not applications:
        raise PqlError(
            "there is no CREATE APPLICATION",
            where=source.name,
            expected="one `CREATE APPLICATION name;`",
            hint="put `CREATE APPLICATION my_app;` on top of the file",
        )
    if len(applications) > 1:
        raise PqlError(
            f"there are {len(applications)} applications in one text; the second is `{applications[1][0]}`",
            where=source.show(applications[1][1]),
            expected="one CREATE APPLICATION",
            hint="put the second application into a file of its own",
        )


def _declares(tokens: list[Token]) -> str | None:
    """The name that a statement declares, without reading the rest of it."""
    for head in (("INPUT", "TABLE"), ("LOOKUP", "TABLE"), ("VIEW",), ("TABLE",)):
        after = 1 + len(head)  # CREATE, in any spelling
        if [word(t) for t in tokens[1:after]] == list(head) and len(tokens) > after:
            return tokens[after].text
    return None


def _statement(
    source: PqlText, tokens: list[Token], declared: Collection[str], warnings: list[str]
) -> Statement | tuple[str, Span]:
    cursor = Cursor(source, tokens)
    if cursor.accept("CREATE", "APPLICATION"):
        made = _declared_name(cursor, "the application's name")
        cursor.finish()
        return made
    if cursor.accept("CREATE", "INPUT", "TABLE"):
        return _input(cursor)
    if cursor.accept("CREATE", "LOOKUP", "TABLE"):
        return _lookup(cursor)
    if cursor.accept("CREATE", "VIEW"):
        return _view(cursor, declared, warnings)
    if cursor.accept("CREATE", "TABLE"):
        return _table(cursor, declared, warnings)
    start = cursor.token
    cursor.accept("CREATE")
    at = cursor.token
    hint = "statements are separated by `;`"
    if start is not None and word(start) == "SELECT":
        hint = "put the query into a statement: CREATE VIEW name AS SELECT ..."
    elif at is not None and (meant := near_word(at.text, ("CREATE", *DECLARED))):
        hint = f"did you mean `{meant}`?"
    elif word(at) == "STREAM":
        hint = "CREATE INPUT TABLE reads a stream, CREATE VIEW transforms one, and CREATE TABLE writes one"
    raise cursor.unexpected(STATEMENTS, hint)


def _declared_name(cursor: Cursor, what: str) -> tuple[str, Span]:
    """Names of applications and relations become parts of the names of categories and of Spark views."""
    name, place = cursor.name(what)
    if not all(c.isalnum() or c == "_" for c in name) or len(name) > LONGEST_NAME:
        raise cursor.error_at(
            place,
            f"`{name[:60]}` cannot be {what}",
            expected=f"letters, digits and `_`, at most {LONGEST_NAME} of them",
        )
    return name, place


def _input(cursor: Cursor) -> CreateInput:
    name, place = _declared_name(cursor, "the input table's name")
    # Without a list, the source says which columns there are.
    columns = _columns(cursor, name, "INPUT") if word(cursor.token) != "FROM" else []
    cursor.expect(
        "FROM",
        'an input table says where it reads: FROM SCRIBE("category"), FILES("path", ...) '
        'or KAFKA("topic", ...)',
    )
    origin = parse_origin(cursor, columns)
    cursor.finish()
    return CreateInput(name, tuple(columns), origin, place)


def _lookup(cursor: Cursor) -> CreateInput:
    name, place = _declared_name(cursor, "the lookup table's name")
    columns = _columns(cursor, name, "LOOKUP")
    cursor.expect("FROM", 'a lookup table says where it is: FROM PARQUET("path"), DELTA("path"), ...')
    origin = parse_table(cursor, columns)
    cursor.finish()
    return CreateInput(name, tuple(columns), origin, place)


def _columns(cursor: Cursor, name: str, kind: str) -> list[ColumnDef]:
    columns: list[ColumnDef] = []
    cursor.expect("(", f"columns are in brackets: CREATE {kind} TABLE t (a INT, b STRING) FROM ...")
    while True:
        column = _column(cursor)
        if any(column.name.lower() == other.name.lower() for other in columns):
            raise PqlError(
                f"column `{column.name}` is declared twice in `{name}`", where=cursor.source.show(column.span)
            )
        columns.append(column)
        if cursor.accept(")"):
            return columns
        if not cursor.accept(","):
            raise cursor.unexpected("`,` or `)`")


def _column(cursor: Cursor) -> ColumnDef:
    if cursor.accept("WATERMARK", "FOR"):
        raise _watermark(cursor)
    name, place = cursor.name("a column name")
    start, angle, depth = cursor.at, 0, 0
    while (token := cursor.token) is not None:
        if depth == 0 and angle == 0 and token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            break
        angle += token.text.count("<") - token.text.count(">")
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        cursor.at += 1
    tokens = cursor.tokens[start : cursor.at]
    if not tokens:
        return ColumnDef(name, None, place)
    text = cursor.source.text[tokens[0].start : tokens[-1].end + 1]
    type_ = spark_type(text)
    if type_ is None:
        raise _no_type(cursor, name, tokens, text)
    return ColumnDef(name, type_, place)


def _no_type(cursor: Cursor, name: str, tokens: list[Token], text: str) -> PqlError:
    for count in range(len(tokens) - 1, 0, -1):
        typed = cursor.source.text[tokens[0].start : tokens[count - 1].end + 1]
        if spark_type(typed) is not None:
            return cursor.error_at(
                Span(tokens[count - 1].end + 1, tokens[count - 1].end + 2),
                f"a comma is missing between `{name} {typed}` and `{tokens[count].text[:40]}`",
                expected="`,` between two columns",
            )
    hint = did_you_mean(text[:60], SIMPLE, listed=True)
    if hint is None and word(tokens[0]).isidentifier():
        hint = f"if `{tokens[0].text[:40]}` is a column, put a comma before it"
    return cursor.error_at(
        span(tokens[0], tokens[-1]),
        f"Spark has no type `{text[:60]}`",
        expected=", ".join(SIMPLE) + ", ARRAY<..>, MAP<.., ..>, STRUCT<..>",
        hint=hint,
    )


def _watermark(cursor: Cursor) -> PqlError:
    first = cursor.tokens[cursor.at - 2]
    return cursor.error_at(
        span(first, cursor.tokens[cursor.at - 1]),
        "WATERMARK FOR is not available: how late rows may be is said where it counts",
        expected="after a join's ON condition: WITH (max_delay = INTERVAL '5 seconds')",
        hint="leave it out here; an aggregate waits for the joins below it, or for 2 minutes",
    )


def _view(cursor: Cursor, declared: Collection[str], warnings: list[str]) -> CreateView:
    name, place = _declared_name(cursor, "the view's name")
    cursor.expect("AS")
    query, options = _query(cursor.source, cursor.rest(), cursor.end, declared, warnings)
    return CreateView(name, query, options, place)


def _table(cursor: Cursor, declared: Collection[str], warnings: list[str]) -> CreateTable:
    name, place = _declared_name(cursor, "the table's name")
    cursor.expect("AS")
    tokens = cursor.rest()
    level = depths(tokens)
    at = next((i for i in range(len(tokens) - 1, -1, -1) if level[i] == 0 and _is_storage(tokens, i)), None)
    if at is None:
        meant = [t for t in tokens if t.token_type is TokenType.VAR and near_word(t.text, ("STORAGE",))]
        if meant:
            raise cursor.error_at(
                span(meant[-1]),
                f"`{meant[-1].text[:40]}` is not expected here",
                hint="did you mean `STORAGE`?",
            )
        cursor.at = len(cursor.tokens)
        raise cursor.unexpected(
            f"STORAGE {' | '.join(STORAGES)}",
            "a table ends in STORAGE, which says where its rows go",
        )
    query, options = _query(cursor.source, tokens[:at], tokens[at].start, declared, warnings)
    cursor.at += at + 1
    storage: Storage = parse_storage(cursor)
    cursor.finish()
    return CreateTable(name, query, storage, place, options)


def _query(
    source: PqlText, tokens: list[Token], end: int, declared: Collection[str], warnings: list[str]
) -> tuple[exp.Query, tuple[JoinOption, ...]]:
    """A query, and the options of its joins. WITHIN and picks by value become conditions of a join's ON."""
    tokens, options, picked_by = _cut_options(source, tokens, end, declared)
    tokens, as_of = cut_as_of(source, tokens)
    tokens, within = cut_within(source, tokens)
    query, warned = parse_query(source, tokens, declared, end)
    warnings.extend(warned)
    without_using(query)
    without_distinct_on(query)
    joins = query.args.get("joins") or [] if isinstance(query, exp.Select) else []
    conditioned = {number for number, join in enumerate(joins) if join.args.get("on") is not None}
    first = next(iter(within.values()), None)
    clause, place = ("WITH (...)", options[0].span) if options else ("WITHIN", span_of(first))
    if options and time_windows(query):
        _for_aggregate(source, options, joined=bool(joins))
    elif (options and not joins) or not within.keys() <= conditioned:
        raise PqlError(
            f"{clause} belongs to a join or an aggregate, and this query has none",
            where=source.show(place),
            hint="put it after the join's ON condition, or leave it out",
        )
    for conditions in (within, picked_by, as_of):
        for number in conditions.keys() & conditioned:
            with_condition(query, number, conditions[number])
    return query, options


def _for_aggregate(source: PqlText, options: tuple[JoinOption, ...], *, joined: bool) -> None:
    for option in options:
        if option.name not in AGGREGATE_OPTIONS and not joined:
            raise PqlError(
                f"`{option.name}` applies only to {BY_NAME[option.name].joins.words}",
                where=source.show(option.span),
                expected=f"options of an aggregate: {', '.join(AGGREGATE_OPTIONS)}",
            )
        if option.name == "early" and not option.value:
            raise PqlError("`early` cannot be 0", where=source.show(option.span), expected="an interval")


def _is_storage(tokens: list[Token], i: int) -> bool:
    if word(tokens[i]) != "STORAGE":
        return False
    follows = tokens[i + 2].token_type if i + 2 < len(tokens) else None
    return follows in (None, TokenType.L_PAREN, TokenType.PARTITION_BY)


def _cut_options(
    source: PqlText, tokens: list[Token], end: int, declared: Collection[str]
) -> tuple[list[Token], tuple[JoinOption, ...], dict[int, exp.Expr]]:
    """The query's tokens without `WITH (...)`, the options in each, and what a pick by value compares, as a
    condition of its join."""
    level, numbers = depths(tokens), join_numbers(tokens)
    kept: list[Token] = []
    found: dict[int, tuple[JoinOption, ...]] = {}
    picked_by: dict[int, exp.Expr] = {}
    problems = Problems()
    i = 0
    while i < len(tokens):
        opens = i + 1 < len(tokens) and tokens[i + 1].token_type is TokenType.L_PAREN
        if i == 0 or level[i] != 0 or tokens[i].token_type is not TokenType.WITH or not opens:
            kept.append(tokens[i])
            i += 1
            continue
        number = max(numbers[i], 0)
        if number in found:
            raise PqlError("the join has two WITH (...)", where=source.show(span(tokens[i])), expected="one")
        inner = Cursor(source, tokens, end)
        inner.at = i + 2
        found[number] = ()
        with problems.of(None):
            options, by = _options(inner, declared)
            found[number] = tuple(replace(option, join=number) for option in options)
            if by is not None:
                picked_by[number] = by
        i = max(inner.at, i + 2)
    problems.done()
    return kept, tuple(option for options in found.values() for option in options), picked_by


def _options(cursor: Cursor, declared: Collection[str]) -> tuple[tuple[JoinOption, ...], exp.Expr | None]:
    """All options up to the closing bracket, or all errors in them."""
    options: dict[str, JoinOption] = {}
    picked_by: exp.Expr | None = None
    problems = Problems()
    while True:
        name, place = cursor.name("the name of a join option")
        cursor.expect("=")
        tokens = cursor.argument()
        place = replace(place, stop=tokens[-1].end + 1 if tokens else place.stop)
        with problems.of(None):
            option, by = _option(cursor.source, name, tokens, place, declared)
            picked_by = picked_by or by
            if option.name in options:
                raise PqlError(f"join option `{option.name}` is given twice", where=cursor.source.show(place))
            options[option.name] = option
        if cursor.accept(")"):
            break
        if not cursor.accept(","):
            raise cursor.unexpected("`,` or `)`")
    if not problems.found:  # an option that was not read could be the one that others need
        for option, error in conflicts(options.values()):
            error.where = cursor.source.show(option.span)
            problems.add(None, error)
    problems.done()
    return tuple(options.values()), picked_by


def _option(
    source: PqlText, name: str, tokens: list[Token], place: Span, declared: Collection[str]
) -> tuple[JoinOption, exp.Expr | None]:
    """An option, and what it compares if it is a pick by value."""
    try:
        option = find(name)
        if option.kind == "rows":
            return JoinOption(option.name, checked(option, _rows(tokens)), place), None
        node = parse_expression(source, tokens, place.stop, declared)
        if option.kind == "pick" and (found := pick_by_value(node)):
            return JoinOption(option.name, found[0], place), call("pick_by", found[1])
        timed = node.find(exp.Interval) is not None
        if timed != (option.kind == "interval"):
            what = f"join option `{option.name}` cannot be {pql_sql(node)[:40]}"
            raise PlanError(what, expected=option.expected, hint=None if timed else _as_interval(name, node))
        return JoinOption(option.name, checked(option, _value(node)), place), None
    except NotAnInterval as error:
        raise PlanError(
            f"join option `{name}`: {error}", where=source.show(place), expected=SPELLINGS
        ) from None
    except PlanError as error:
        error.where = error.where or source.show(place)
        raise


def _as_interval(name: str, node: exp.Expr) -> str:
    """How to write a length of time that was given as a text or a number."""
    if isinstance(node, exp.Literal) and node.is_string:
        with suppress(NotAnInterval):
            text_us(str(node.this))
            return f"write {name} = INTERVAL '{node.this}'"
    return "add a unit"


def _rows(tokens: list[Token]) -> object:
    """`ROWS 1000`."""
    if (
        len(tokens) == 2
        and word(tokens[0]) == "ROWS"
        and tokens[1].text.isdigit()
        and len(tokens[1].text) < 19
    ):
        return int(tokens[1].text)
    return " ".join(token.text for token in tokens)[:40]


def _value(node: exp.Expr) -> object:
    if node.find(exp.Interval):
        return interval_us(node)
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and len(str(node.this)) < 19:
        return int(node.this)
    if isinstance(node, exp.Literal) and _DECIMAL.fullmatch(str(node.this)):
        return float(node.this)
    if isinstance(node, exp.Column) and not node.table:
        return node.name
    return node.sql()[:40]
