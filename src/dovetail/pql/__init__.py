"""PQL, the query language: text -> program -> plan."""

from dovetail.pql.compile import compile_pql, trace
from dovetail.pql.parser import parse
from dovetail.pql.render import render

__all__ = ["compile_pql", "parse", "render", "trace"]
