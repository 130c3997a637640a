"""A query with several joins becomes a chain of views with one join each, as SQL nests them: to the left.

    v: SELECT .. FROM a JOIN b ON .. LEFT JOIN c ON .. WHERE ..

    v_with_b: SELECT columns of a and b that are read later FROM a JOIN b ON ..
    v: SELECT .. FROM v_with_b LEFT JOIN c ON .. WHERE ..

A carried column is called `<relation>_<column>`, so columns of one name do not meet. WHERE conditions move to
the first view that has all their columns, unless a later join may add nulls or needs every row.

An outer join adds relations that may be missing from a row. Where a later join drops such rows anyway, they
are not made: LEFT becomes INNER. Where it does not, but takes its time from them, a row without the relation
has no time. It matches nothing, as in SQL, but should not count as one with a faulty time: it gets a NULL
key, or ON gets `b.t IS NOT NULL` if the join drops unmatched rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from dovetail.model.interval import JoinType
from dovetail.plan.dialect import call
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.joins.condition import JOIN_TYPES, take_apart
from dovetail.plan.joins.filters import WHERE_BEFORE
from dovetail.plan.joins.options import resolve
from dovetail.plan.joins.windows import BOUNDS, is_window
from dovetail.plan.lookups import is_lookup
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import tables
from dovetail.plan.statements import CreateView, Program, Statement, is_join
from dovetail.plan.tree import (
    WRITTEN,
    all_of,
    column,
    comparisons,
    conjuncts,
    fresh_name,
    name_part,
    named,
    table,
    table_as_written,
    terms_of,
)

KEEPS_LEFT, KEEPS_RIGHT = ("left", "full", "anti"), ("right", "full")
_KEPT: dict[tuple[bool, bool], JoinType] = {
    (True, True): "full",
    (True, False): "left",
    (False, True): "right",
    (False, False): "inner",
}
Place = tuple[int, str]
"""A relation's number in the query and its column; a bound of a window is a column of number -1."""


def chain_joins(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        if is_join(statement) and len(statement.query.args["joins"]) > 1:
            yield from _Chain(program, statement, taken).views()
        else:
            yield statement

    return each_statement(program, rewrite)


@dataclass
class _Link:
    """One join of the chain. `on` speaks of the view before it."""

    number: int
    how: JoinType
    join: exp.Join
    before: str  # the relation on its left
    on: list[exp.Expr] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)

    @property
    def right(self) -> str:
        return str(self.join.this.name)


class _Chain:
    def __init__(self, program: Program, view: CreateView, taken: set[str]) -> None:
        self.program, self.view = program, view
        query = view.query.copy()
        assert isinstance(query, exp.Select)
        self.query = query
        self.relations = tables(query)
        self.numbers = {relation.name.lower(): number for number, relation in enumerate(self.relations)}
        aliases = [name_part(table_as_written(relation)) for relation in self.relations]
        self.names = [fresh_name(f"{view.name}_with_{alias}", taken) for alias in aliases[1:-1]] + [view.name]
        self.carried = self._carried(aliases)
        self.places = {name: place for place, name in self.carried.items()}
        joins: list[exp.Join] = query.args["joins"]
        self.links = [
            _Link(number, _type_of(join), join, self.names[number - 1] if number else self.relations[0].name)
            for number, join in enumerate(joins)
        ]

    def views(self) -> list[CreateView]:
        self._drop_nulls_early()
        for link in self.links:
            link.on = [self._seen_by(link, node) for node in conjuncts(link.join.args["on"])]
        where = self.query.args.get("where")
        for node in conjuncts(where.this) if where is not None else ():
            link = self._where(node)
            link.where.append(self._seen_by(link, node))
        self._mark_missing()
        return [self._view(link) for link in self.links]

    def _carried(self, aliases: Sequence[str]) -> dict[Place, str]:
        """A name for each column that the query reads."""
        names: set[str] = set()
        made: dict[Place, str] = {}
        for node in self.query.walk():
            place = self._place(node)
            if place is not None and place not in made:
                number, name = place
                # The planner's own columns begin with an underscore.
                wanted = f"{aliases[number]}_{name}".lstrip("_") if number >= 0 else name
                made[place] = fresh_name(wanted or "column", names)
        return made

    def _place(self, node: exp.Expr) -> Place | None:
        if isinstance(node, exp.Column):
            return self.numbers[node.table.lower()], node.name
        return (-1, str(function_name(node))) if function_name(node) in BOUNDS else None

    @cached_property
    def _windowed(self) -> int:
        """The number of the join that has windows: only one does where the query reads their bounds."""
        return next((n for n, link in enumerate(self.links) if _window_in(link.join) is not None), -1)

    def _since(self, place: Place) -> int:
        """The first link whose result has this column."""
        return self._windowed if place[0] < 0 else max(place[0] - 1, 0)

    def _seen_by(self, link: _Link, node: exp.Expr) -> exp.Expr:
        """An expression of the text over the two relations of a link."""

        def rename(part: exp.Expr) -> exp.Expr:
            place = self._place(part)
            if place is None or link.number == 0 or self._since(place) >= link.number:
                return part
            made = column(self.carried[place], link.before)
            origin = part.this if isinstance(part, exp.Column) else part
            if origin._meta:
                made.this.meta.update(origin._meta)
            return made

        return node.copy().transform(rename, copy=False)

    def _where(self, node: exp.Expr) -> _Link:
        """The first link after which a condition of WHERE gives the same as at the end."""
        places = [place for place in map(self._place, node.walk()) if place is not None]
        at = max(map(self._since, places)) if places else len(self.links) - 1
        while not all(
            link.how in WHERE_BEFORE["left"] and not self._needs_all_rows(link)
            for link in self.links[at + 1 :]
        ):
            at += 1
        return self.links[at]

    def _needs_all_rows(self, link: _Link) -> bool:
        """Whether a row that could be dropped before a link decides which others meet there."""
        window = _window_in(link.join)
        in_session = window is not None and function_name(window) == "within_session"
        return self._counted(link) or in_session

    def _counted(self, link: _Link) -> bool:
        options = tuple(option for option in self.view.options if option.join == link.number)
        return resolve(options).rows is not None

    def _drop_nulls_early(self) -> None:
        """An outer join whose rows with nulls cannot pass a later join need not make them."""
        for link in self.links:
            if link.how not in ("left", "right", "full"):
                continue
            rejected: set[int] = set()
            for later in self.links[link.number + 1 :]:
                if self._needs_all_rows(later):
                    break
                if later.how not in KEEPS_LEFT:
                    rejected |= self._rejects(later)
            kept = (
                link.how != "right" and link.number + 1 not in rejected,
                link.how != "left" and not any(number <= link.number for number in rejected),
            )
            link.how = _KEPT[kept]

    def _rejects(self, link: _Link) -> set[int]:
        """The relations whose nulls make a link's condition false: a comparison with NULL is not true."""
        found: set[int] = set()
        for node in conjuncts(link.join.args["on"]):
            terms = [term for big, small, _ in comparisons(node, equal=True) for term in (big, small)]
            terms = [part for term in terms for _, part in terms_of(term)]
            if is_window(node):
                terms = arguments(node)
            found |= {self.numbers[term.table.lower()] for term in terms if isinstance(term, exp.Column)}
        return found

    def _mark_missing(self) -> None:
        """Rows whose left time is missing have no key either, or are dropped where the join drops them."""
        missing: set[int] = set()
        for link in self.links:
            if missing and not is_lookup(self.program, link.join):
                self._mark(link, missing)
            if link.how in KEEPS_RIGHT:
                missing |= set(range(link.number + 1))
            if link.how in ("left", "full"):
                missing.add(link.number + 1)

    def _mark(self, link: _Link, missing: set[int]) -> None:
        on = all_of(link.on)
        condition = take_apart(self.program, on, link.before, link.right, counted=self._counted(link))
        time, keys = condition.left_time, condition.left_keys
        if time is None or not self._read(time) & missing or condition.is_theta:
            return
        if isinstance(time, exp.Column) and any(
            isinstance(key, exp.Column) and self._read(key) == self._read(time) for key in keys
        ):
            return
        there = exp.Not(this=exp.Is(this=time.copy(), expression=exp.Null()))
        if link.how not in KEEPS_LEFT:
            link.on.append(there)
            return
        keys[0].replace(exp.Case(ifs=[exp.If(this=there, true=keys[0].copy())]))
        link.on = conjuncts(on)

    def _read(self, node: exp.Expr) -> set[int]:
        """The numbers of the relations that an expression over carried columns reads."""
        return {self.places[part.name][0] for part in node.find_all(exp.Column)}

    def _view(self, link: _Link) -> CreateView:
        last = link is self.links[-1]
        join = link.join.copy()
        if link.how != _type_of(join):
            join.set("side", None if link.how == "inner" else link.how.upper())
            join.set("kind", None)
        join.set("on", all_of(link.on))
        first = table(link.before) if link.number else self.relations[0].copy()
        items = [self._item(link, item) for item in self.query.expressions] if last else self._passed_on(link)
        query = exp.Select(expressions=items, from_=exp.From(this=first), joins=[join])
        if link.where:
            query.set("where", exp.Where(this=all_of(link.where)))
        options = tuple(replace(option, join=0) for option in self.view.options if option.join == link.number)
        if last:
            return replace(self.view, query=query, options=options)
        part_of = self.view.part_of or self.view.name
        return CreateView(self.names[link.number], query, options, self.view.span, part_of)

    def _item(self, link: _Link, item: exp.Expr) -> exp.Expr:
        made = item.copy()
        made.set("this", self._seen_by(link, item.this))
        return made

    def _passed_on(self, link: _Link) -> list[exp.Alias]:
        """What later links read, in the order of the relations."""
        nodes = [node for later in self.links[link.number + 1 :] for node in (*later.on, *later.where)]
        nodes += [self._seen_by(self.links[-1], item) for item in self.query.expressions]
        views = {later.before for later in self.links[link.number + 1 :]}
        names = {part.name for node in nodes for part in node.find_all(exp.Column) if part.table in views}
        places = [p for p, name in self.carried.items() if name in names and self._since(p) <= link.number]
        if not places:  # a row must still be a row
            places = [place for place in self.carried if 0 <= place[0] <= link.number + 1][:1]
        return [self._carry(link, place) for place in sorted(places, key=lambda place: place[0])]

    def _carry(self, link: _Link, place: Place) -> exp.Alias:
        number, name = place
        origin: exp.Expr = column(name, self.relations[number].name) if number >= 0 else call(name)
        if number >= 0:
            origin.this.meta[WRITTEN] = (table_as_written(self.relations[number]), name)
        return named(self._seen_by(link, origin), self.carried[place])


def _type_of(join: exp.Join) -> JoinType:
    return JOIN_TYPES[" ".join(filter(None, (join.side, join.kind))).upper()]


def _window_in(join: exp.Join) -> exp.Expr | None:
    return next((node for node in conjuncts(join.args["on"]) if is_window(node)), None)
