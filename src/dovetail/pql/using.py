"""`JOIN b USING (k)` is read as `ON a.k = b.k`, and `k` alone means the one column that both are.

    SELECT k, x FROM a LEFT JOIN b USING (k) ..    SELECT a.k, x FROM a LEFT JOIN b ON a.k = b.k ..
    SELECT * FROM a FULL JOIN b USING (k) ..       SELECT COALESCE(a.k, b.k) AS k, a.* EXCEPT (k), ..

The left one of an equality is that of the relation after FROM. As in SQL, `*` has the common columns first
and once.
"""

from __future__ import annotations

from sqlglot import exp

from dovetail.plan.dialect import call
from dovetail.plan.tree import all_of, column

Merged = dict[str, exp.Expr]
"""By the lower-case name of a common column: what it stands for."""


def without_using(query: exp.Query) -> None:
    for select in query.find_all(exp.Select):
        joins = select.args.get("joins") or []
        if any(join.args.get("using") for join in joins):
            _spell_out(select, joins)


def _spell_out(select: exp.Select, joins: list[exp.Join]) -> None:
    first = str(select.args["from_"].this.alias_or_name)
    merged: Merged = {}
    common: dict[str, list[str]] = {first: []}  # by relation: its columns that another one has, too
    hidden: set[str] = set()
    for join in joins:
        right = str(join.this.alias_or_name)
        if join.kind.upper() in ("SEMI", "ANTI"):
            hidden.add(right)
        equal: list[exp.Expr] = []
        for given in join.args.get("using") or []:
            left = merged.get(given.name.lower(), column(given.name, first))
            other = column(given.name, right)
            for made in (left, other):
                _place(made, given)
            equal.append(exp.EQ(this=left.copy(), expression=other))
            merged[given.name.lower()] = _common(join, left, other)
            common[first].append(given.name.lower())
            common.setdefault(right, []).append(given.name.lower())
        if equal:
            on = join.args.get("on")
            join.set("using", None)
            join.set("on", all_of([*equal, *([on] if on is not None else [])]))
    relations = [first, *(str(join.this.alias_or_name) for join in joins)]
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            items.extend(_starred(merged, common, [name for name in relations if name not in hidden]))
        else:
            items.append(_replaced(item, merged, named=True))
    select.set("expressions", items)
    for clause in ("where", "group", "having"):
        if select.args.get(clause) is not None:
            select.set(clause, _replaced(select.args[clause], merged))


def _common(join: exp.Join, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """What a common column is after a join: it is null only if it is null on both sides."""
    side = join.side.upper()
    if side == "FULL":
        return call("COALESCE", left.copy(), right.copy())
    return right if side == "RIGHT" else left


def _starred(merged: Merged, common: dict[str, list[str]], relations: list[str]) -> list[exp.Expr]:
    items = [_as(what.copy(), name) for name, what in merged.items()]
    for relation in relations:
        names = dict.fromkeys(common.get(relation, ()))
        star = exp.Star(except_=[exp.to_identifier(name, quoted=True) for name in names])
        items.append(exp.Column(this=star, table=exp.to_identifier(relation, quoted=True)))
    return items


def _replaced(node: exp.Expr, merged: Merged, *, named: bool = False) -> exp.Expr:
    """With what the common columns stand for, where they are named without a relation."""
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in merged:
        made = merged[node.name.lower()].copy()
        return _as(made, node.name) if named else made
    for found in list(node.find_all(exp.Column)):
        if found is not node and not found.table and found.name.lower() in merged:
            found.replace(merged[found.name.lower()].copy())
    return node


def _as(what: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=what, alias=exp.to_identifier(name, quoted=True))


def _place(made: exp.Expr, given: exp.Expr) -> None:
    if isinstance(made, exp.Column) and given._meta and "start" in given._meta:
        made.this.meta.update({"start": given._meta["start"], "end": given._meta["end"]})
