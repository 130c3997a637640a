"""`*`, `l.*` and `* EXCEPT (...)` become the columns they stand for, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.nearest import did_you_mean
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import FromItem, Schema, columns_of, is_simple, sides
from dovetail.plan.statements import CreateInput, Program, Statement


def expand_stars(program: Program) -> Program:
    schema: dict[str, tuple[str, ...]] = {}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        schema[statement.name.lower()] = columns_of(statement)  # what readers see if expanding fails
        if not isinstance(statement, CreateInput):
            statement = replace(statement, query=_expand(program, statement.query, schema))
            schema[statement.name.lower()] = columns_of(statement)
        yield statement

    return each_statement(program, rewrite)


def _expand(program: Program, query: exp.Query, schema: Schema) -> exp.Query:
    stars = [star for select in query.find_all(exp.Select) for star in select.expressions if _is_star(star)]
    if not stars:
        return query
    if not is_simple(query) or not isinstance(query, exp.Select):
        raise program.error(
            "`*` cannot be expanded in a query of this shape", stars[0], hint="name the columns one by one"
        )
    made = query.copy()
    visible = [side for side in sides(made, schema) if not side.hidden]
    items: list[exp.Expr] = []
    for item in made.expressions:
        items.extend(_columns(program, item, visible) if _is_star(item) else [item])
    made.set("expressions", items)
    return made


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _columns(program: Program, star: exp.Expr, visible: list[FromItem]) -> Iterator[exp.Expr]:
    bare = star.this if isinstance(star, exp.Column) else star
    if any(bare.args.get(key) for key in ("replace", "rename")):
        raise program.error("`*` can only have EXCEPT", star, hint="name the columns one by one")
    chosen = visible
    if isinstance(star, exp.Column) and star.table:
        chosen = [side for side in visible if side.alias.lower() == star.table.lower()]
        if not chosen:
            hint = did_you_mean(star.table, [side.alias for side in visible])
            raise program.error(f"there is no relation `{star.table}` in this query", star, hint=hint)
    left_out = {node.name.lower(): node for node in bare.args.get("except_") or []}
    for side in chosen:
        for column in side.columns:
            if left_out.pop(column.lower(), None) is not None:
                continue
            made = exp.column(column, table=side.alias, quoted=True)
            if bare._meta:
                made.this.meta.update(bare._meta)
            yield made
    for name, node in left_out.items():
        known = [column for side in chosen for column in side.columns]
        raise program.error(
            f"EXCEPT names a column that does not exist, `{name}`", node, hint=did_you_mean(name, known)
        )
