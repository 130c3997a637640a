"""Two joins that slice one relation in the same way share one slicer and its category.

    v_left_rows: SELECT k AS _key_0, t AS _time, x AS x FROM a        -> category app.v.left
    w_left_rows: SELECT k AS _key_0, t AS _time, y AS _r_y FROM a     -> category app.w.left

    v_left_rows: SELECT k AS _key_0, t AS _time, x AS x, y AS _r_y FROM a    -> category app.v.left

The input table `w_left` then reads `app.v.left`. The same way means: the same keys in the same types, time
and filter, the same number of buckets and compression, and joins that believe the same event times. The
payload is that of both. Both sides of a self join may share, too. A view that only passes its columns on is
looked through: that is how the second use of a relation gets a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from dovetail.model.compression import Compression
from dovetail.model.validity import Validity
from dovetail.plan.dialect import pql_sql
from dovetail.plan.joins.options import resolve
from dovetail.plan.physical import ScribeSource
from dovetail.plan.scope import tables
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Statement,
    is_join,
    reads,
)
from dovetail.plan.tree import column, fresh_name, passed_on, select


@dataclass
class _Side:
    """One side of a split join. `payload`: column -> expression over the relation that is sliced."""

    rows: CreateView
    slicer: CreateTable
    input: CreateInput
    slicing: tuple[object, ...]
    payload: dict[str, exp.Expr]
    compression: Compression | None

    @property
    def category(self) -> str:
        assert isinstance(self.input.origin, ScribeSource)
        return self.input.origin.category


def share_sides(program: Program, group_of: Callable[[str], str] = lambda category: "") -> Program:
    """`group_of`: only sides whose own categories are of one group are shared, in the category that the group
    is called by, if one of them has that. Sides of a group with a name are shared already: other compression
    does not part them. The category is compressed as the first of them says that says anything."""
    kept: dict[tuple[object, ...], _Side] = {}
    made: dict[str, Statement | None] = {}
    sides = [(side, group_of(side.category)) for side in _sides(program)]
    for side, group in sorted(sides, key=lambda one: one[0].category != one[1]):
        way = (group, *side.slicing, None if group else side.compression)
        first = kept.setdefault(way, side)
        if first is not side:
            made |= _merged(program, first, side, made)
            first = kept[way] = _as_made(first, made)
    found = [made.get(statement.name, statement) for statement in program]
    return program.with_statements([statement for statement in found if statement is not None])


def _sides(program: Program) -> list[_Side]:
    """Those that could be shared, in the order of the joins."""
    found = []
    for join in filter(is_join, program):
        assert isinstance(join.query, exp.Select)
        found += [_side(program, join, table.name) for table in tables(join.query)]
    return [side for side in found if side is not None]


def _as_made(side: _Side, made: dict[str, Statement | None]) -> _Side:
    rows, slicer, table = (made.get(s.name, s) for s in (side.rows, side.slicer, side.input))
    assert isinstance(rows, CreateView)
    assert isinstance(slicer, CreateTable)
    assert isinstance(table, CreateInput)
    packed = slicer.storage.get("compression")
    return replace(side, rows=rows, slicer=slicer, input=table, compression=packed)


def _side(program: Program, join: CreateView, name: str) -> _Side | None:
    """A side that could be shared: it has keys, whose types are known."""
    table = program.get(name)
    if not isinstance(table, CreateInput) or not isinstance(table.origin, ScribeSource):
        return None
    category = table.origin.category
    slicer = next((s for s in program if isinstance(s, CreateTable) and s.storage.category == category), None)
    rows = program.get(reads(slicer)[0]) if slicer is not None else None
    if slicer is None or not isinstance(rows, CreateView):
        return None
    types = {c.name: c.type for c in table.columns if c.name.startswith("_key_")}
    if not types or None in types.values():
        return None
    relation, items, where = _looked_through(program, rows)
    slicing = (
        relation.lower(),
        tuple((name, types.get(name), pql_sql(items[name])) for name in (*types, "_time")),
        None if where is None else pql_sql(where),
        slicer.storage.get("buckets"),
        _believes(join),
    )
    payload = {name: node for name, node in items.items() if name not in (*types, "_time")}
    return _Side(rows, slicer, table, slicing, payload, slicer.storage.get("compression"))


def _believes(join: CreateView) -> Validity:
    return resolve(join.options).settings.validity


def _looked_through(program: Program, rows: CreateView) -> tuple[str, dict[str, exp.Expr], exp.Expr | None]:
    """What a view reads, its items and its condition, over the relation below views that only pass on."""
    query = rows.query
    relation = reads(rows)[0]
    names = {relation}
    while isinstance(below := program.get(relation), CreateView) and _passes_on(below):
        relation = reads(below)[0]
        names.add(relation)
    where = query.args.get("where")

    def rename(node: exp.Expr) -> exp.Expr:
        renamed = isinstance(node, exp.Column) and node.table in names
        return column(node.name, relation) if renamed else node

    items = {item.output_name: item.unalias().copy().transform(rename) for item in query.selects}
    return relation, items, None if where is None else where.this.copy().transform(rename)


def _passes_on(view: CreateView) -> bool:
    """Its columns are those of one relation, under their names."""
    query = view.query
    parts = {name for name, value in query.args.items() if value}
    return (
        isinstance(query, exp.Select)
        and parts <= {"expressions", "from_"}
        and all(
            isinstance(item.unalias(), exp.Column) and item.unalias().name == item.output_name
            for item in query.expressions
        )
    )


def _merged(
    program: Program, first: _Side, second: _Side, made: dict[str, Statement | None]
) -> dict[str, Statement | None]:
    """The statements that change, by name; None for those that go."""
    taken = {name.lower() for name in first.payload}
    known = {pql_sql(node): name for name, node in first.payload.items()}
    types = {c.name: c.type for c in second.input.columns}
    names: dict[str, str] = {}
    added: list[ColumnDef] = []
    below = reads(first.rows)[0]
    query = first.rows.query.copy()
    for name, node in second.payload.items():
        text = pql_sql(node)
        if text not in known:
            known[text] = fresh_name(name, taken)
            first.payload[known[text]] = node
            added.append(ColumnDef(known[text], types.get(name)))
            item = node.copy().transform(_over(below))
            alias = exp.to_identifier(known[text], quoted=True)
            query.set("expressions", [*query.expressions, exp.Alias(this=item, alias=alias)])
        names[name] = known[text]
    storage = first.slicer.storage
    if first.compression is None and second.compression is not None:
        storage = replace(storage, options=(*storage.options, ("compression", second.compression)))
    columns = (*first.input.columns, *added)
    passed = passed_on([item.alias for item in query.expressions], first.rows.name)
    own = tuple(replace(c, name=names.get(c.name, c.name)) for c in second.input.columns)
    changed: dict[str, Statement | None] = {
        first.rows.name: replace(first.rows, query=query),
        first.slicer.name: replace(first.slicer, query=select(passed, first.rows.name), storage=storage),
        first.input.name: replace(first.input, columns=columns),
        second.rows.name: None,
        second.slicer.name: None,
        second.input.name: replace(second.input, columns=own, origin=first.input.origin),
    }
    for statement in program:
        current = made.get(statement.name, statement)
        if isinstance(current, CreateView) and second.input.name in reads(current):
            changed[current.name] = replace(current, query=_renamed(current.query, second.input.name, names))
    return changed


def _over(relation: str) -> Callable[[exp.Expr], exp.Expr]:
    def rename(node: exp.Expr) -> exp.Expr:
        return column(node.name, relation) if isinstance(node, exp.Column) else node

    return rename


def _renamed(query: exp.Query, table: str, names: dict[str, str]) -> exp.Query:
    """The query with columns of a table renamed; its own columns keep their names."""
    made = query.copy()
    for node in made.find_all(exp.Column):
        if node.table == table and node.name in names:
            node.this.set("this", names[node.name])
    return made
